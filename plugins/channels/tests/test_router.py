"""A channel from a person's message to the answer: pairing, sessions, commands, questions, and ends at any moment."""

import asyncio
import threading
from contextlib import asynccontextmanager

import pytest
from oneclaw_channels import ChatRouter, Pairing

from oneclaw_core import Attachment, ToolContext, ToolResult, hookimpl, tool
from oneclaw_core.channels import ChatChannel, Inbound, InboundFile, RetryLaterError, UndeliverableError
from oneclaw_core.plugins import Receipt

PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 20


@tool(required_permissions=["network.private"])
def ring(context: ToolContext) -> str:
    """Ring the bell."""
    return "ding"


@tool
def hand_over() -> ToolResult:
    """Send a file to the user."""
    return ToolResult.success("Sent.", (Attachment("sales.csv", "text/csv", b"a,b", is_for_user=True),))


@tool
async def wait_long() -> str:
    """Wait."""
    waiting.set()
    await asyncio.sleep(30)
    return "waited"


waiting = threading.Event()


class Plugin:
    @hookimpl
    def register_tools(self, register):
        register(ring)
        register(wait_long)
        register(hand_over)

    @hookimpl
    def register_chat_commands(self, register):
        register("diary", lambda context, rest: "Dear diary", is_private=True)


class Wire(ChatChannel):
    """Keeps what is sent, and asks as a person would see it."""

    name = "wire"
    max_characters = 200

    def __init__(self):
        self.sent = []
        self.asked = []
        self.settled = []
        self.failures = []
        self.files = {}
        self.news = asyncio.Event()

    async def send(self, message):
        if self.failures:
            raise self.failures.pop(0)
        self.sent.append((message.to, message.text or message.attachments))
        self.news.set()
        return Receipt(str(len(self.sent)))

    async def edit(self, chat, message_id, text):
        self.sent[int(message_id) - 1] = (chat, text)
        self.news.set()

    async def ask(self, chat, question):
        self.asked.append((chat, question))
        self.news.set()
        return Receipt("q")

    async def settle(self, chat, question, receipt, outcome):
        self.settled.append(outcome)

    async def fetch(self, file):
        return self.files[file.id]

    def private_chat(self, person):
        return f"private-{person}"

    async def until(self, true):
        async with asyncio.timeout(10):
            while not true():
                self.news.clear()
                await self.news.wait()


@pytest.fixture
def home(oneclaw_factory):
    return oneclaw_factory([Plugin()], environ={"ONECLAW_MODEL": "scripted/model"})


@pytest.fixture
def home_on_each_database(oneclaw_factory, database_environ):
    return oneclaw_factory([Plugin()], environ={"ONECLAW_MODEL": "scripted/model"} | database_environ)


@asynccontextmanager
async def open_router(claw, wire, **options):
    router = await ChatRouter.open(claw, wire, **options)
    await router.pairing.add("anna", "Anna")
    running = asyncio.create_task(router.run())
    try:
        yield router
    finally:
        running.cancel()
        await asyncio.wait([running])


def run(home, scene, **options):
    async def play():
        wire = Wire()
        async with home.opened() as claw, open_router(claw, wire, **options) as router:
            return await scene(claw, wire, router)

    return asyncio.run(play())


def message(number, text, **about):
    return Inbound(**{"id": str(number), "chat": "c", "person": "anna", "text": text} | about)


def test_a_message_is_answered_once_in_the_session_of_its_chat(home):
    home.model.says("Hello Anna.").says("Hello again.").says("Hello elsewhere.")

    async def scene(claw, wire, router):
        assert await router.accept(message(1, "Hi"))
        assert not await router.accept(message(1, "Hi"))  # the same one
        await wire.until(lambda: len(wire.sent) == 1)
        await router.accept(message(2, "Hi again"))
        await wire.until(lambda: len(wire.sent) == 2)
        await router.accept(message(3, "Hi", chat="other"))
        await wire.until(lambda: len(wire.sent) == 3)
        return wire.sent, len(await claw.services.sessions.list())

    sent, sessions = run(home, scene)
    assert sent == [("c", "Hello Anna."), ("c", "Hello again."), ("other", "Hello elsewhere.")]
    assert sessions == 2


def test_strangers_are_not_heard_until_they_send_the_code(home):
    async def scene(claw, wire, router):
        stranger = {"person": "eve", "chat": "eve"}
        assert not await router.accept(message(1, "Hi", **stranger))
        code = await (await Pairing.open(claw, "wire")).new_code()
        assert not await router.accept(message(2, f"/start {code}", **stranger, is_private=False))
        assert not await router.accept(message(3, f"/start {code}", **stranger, is_forwarded=True))
        assert not await router.accept(message(4, "/start WRONGONE", **stranger))
        assert await router.accept(message(5, f"/start {code.lower()}", **stranger))
        await wire.until(lambda: wire.sent)
        assert not await router.accept(message(6, f"/start {code}", person="mallory", chat="mallory"))
        return wire.sent, [each.id for each in await router.pairing.people()]

    sent, people = run(home, scene)
    assert [chat for chat, _ in sent] == ["eve"]
    assert people == ["anna", "eve"]


def test_a_code_is_void_after_five_wrong_ones(home):
    async def scene(claw, wire, router):
        code = await router.pairing.new_code()
        for _ in range(5):
            assert not await router.pairing.redeem("AAAAAAAA", "eve", "Eve")
        return await router.pairing.redeem(code, "eve", "Eve")

    assert run(home, scene) is False


def test_commands_are_done_and_forwarded_ones_are_text(home):
    home.model.says("One.").says("Two.")

    async def scene(claw, wire, router):
        await router.accept(message(1, "Hi"))
        await wire.until(lambda: len(wire.sent) == 1)
        await router.accept(message(2, "/clear", is_forwarded=True))
        await wire.until(lambda: len(wire.sent) == 2)
        (only,) = await claw.services.sessions.list()
        said = [each.content for each in await claw.services.sessions.messages(only.id) if each.type == "user"]
        await router.accept(message(3, "/clear"))
        await wire.until(lambda: len(wire.sent) == 3)
        await router.accept(message(4, "/usage"))  # may run beside what is being done
        await wire.until(lambda: len(wire.sent) == 4)
        return said, wire.sent[2:]

    said, sent = run(home, scene)
    assert said[1] == "[forwarded message, written by others]\n/clear"
    assert "new session" in sent[0][1]
    assert "0 requests" in sent[1][1]


def test_a_private_command_of_a_plugin_does_not_work_in_groups(home):
    async def scene(claw, wire, router):
        await router.accept(message(1, "/diary", chat="group", is_private=False))
        await router.accept(message(2, "/diary"))
        await wire.until(lambda: len(wire.sent) == 2)
        return dict(wire.sent)

    sent = run(home, scene)
    assert "/diary works in a private chat only" in sent.pop("group")
    assert list(sent.values()) == ["Dear diary"]


def test_only_the_person_who_was_asked_decides(home):
    home.model.calls("ring").says("It rang.")

    async def scene(claw, wire, router):
        await router.pairing.add("ben", "Ben")
        await router.accept(message(1, "Ring", chat="group", is_private=False, person_name="Anna"))
        await wire.until(lambda: wire.asked)
        chat, question = wire.asked[0]
        refused = await router.answer(question.id, "once", "ben")
        taken = await router.answer(question.id, "once", "anna")
        await wire.until(lambda: wire.sent)
        return chat, question, refused, taken, await router.answer(question.id, "no", "anna"), wire

    chat, question, refused, taken, again, wire = run(home, scene)
    assert chat == "private-anna"
    assert [value for value, _ in question.choices] == ["once", "session", "no"]
    assert "network.private" in question.text
    assert (refused, taken) == ("Only the person who was asked can answer.", "Your answer: Allow once")
    assert again == "This question is closed."
    assert wire.settled == ["Answer: Allow once"]
    assert wire.sent[0][1].endswith("It rang.")
    assert wire.sent[0][1].startswith("`ring` ")


def test_who_was_removed_decides_nothing(home):
    home.model.calls("ring").says("Denied.")

    async def scene(claw, wire, router):
        await router.accept(message(1, "Ring"))
        await wire.until(lambda: wire.asked)
        await router.pairing.remove("anna")
        answers = [await router.answer(wire.asked[0][1].id, "once", "anna")]
        await router.pairing.add("anna", "Anna")
        answers.append(await router.answer(wire.asked[0][1].id, "no", "anna"))
        await wire.until(lambda: wire.sent)
        return answers

    assert run(home, scene) == ["Only the person who was asked can answer.", "Your answer: Deny"]


def test_stop_passes_what_waits(home):
    home.model.calls("wait_long").says("Never mind.")

    async def scene(claw, wire, router):
        waiting.clear()
        await router.accept(message(1, "Think"))
        await _reached()
        await router.accept(message(2, "And then?"))
        await router.accept(message(3, "/stop"))
        await wire.until(lambda: len(wire.sent) == 2)
        return [text for _, text in wire.sent]

    stopped, answer = run(home, scene)
    assert stopped.endswith("(stopped; the session is kept)")
    assert answer == "Never mind."


def test_a_command_during_a_turn_leaves_its_message_alone(home):
    home.model.calls("wait_long")

    class Growing(Wire):
        edit_seconds = 0.01

    async def play():
        wire = Growing()
        async with home.opened() as claw, open_router(claw, wire) as router:
            waiting.clear()
            await router.accept(message(1, "Think"))
            await _reached()
            await wire.until(lambda: len(wire.sent) == 1)
            await router.accept(message(2, "/usage"))
            await wire.until(lambda: len(wire.sent) == 2)
            await router.accept(message(3, "/stop"))
            await wire.until(lambda: "stopped" in wire.sent[0][1])
            return [text for _, text in wire.sent]

    growing, usage = asyncio.run(play())
    assert growing == "`wait_long` stopped\n\n(stopped; the session is kept)"
    assert usage.startswith("model: ")


def test_files_go_to_the_model_or_into_the_home(home):
    home.model.says("Seen.")

    async def scene(claw, wire, router):
        wire.files = {"1": PNG, "2": b"OggS voice"}
        files = (InboundFile("1", "../../a.png"), InboundFile("2", "../voice.ogg", "audio/ogg"))
        await router.accept(message(1, "Look", files=files))
        await wire.until(lambda: wire.sent)
        (session,) = await claw.services.sessions.list()
        said = (await claw.services.sessions.messages(session.id))[0]
        (stored,) = (claw.home.path / "channels" / "wire").iterdir()
        return said, stored, stored.read_bytes(), stored.stat().st_mode & 0o777

    said, stored, data, mode = run(home, scene)
    assert [(each.name, each.media_type) for each in said.attachments] == [("a.png", "image/png")]
    assert f"stored as {stored}" in said.content
    assert (data, mode) == (b"OggS voice", 0o600)


def test_an_agent_that_is_not_of_the_channel_is_refused(home):
    async def scene(claw, wire, router):
        await claw.agents.create("Guest", "Be brief.")
        await router.accept(message(1, "/agent Guest"))
        await wire.until(lambda: wire.sent)
        return wire.sent[0][1]

    assert "this channel has the agents General Assistant only" in run(home, scene, agents=["General Assistant"])


def test_a_turn_that_was_cut_off_is_finished_after_a_restart(home_on_each_database):
    """The program ends at each step of a message; it is said once, and answered once."""
    home = home_on_each_database

    async def first(claw, wire, router, stop_at):
        mailbox = router._mailbox

        async def end(*_, **__):
            stopped.set()
            await asyncio.Event().wait()

        stopped = asyncio.Event()
        setattr(mailbox, stop_at, end)
        await router.accept(message(stop_at, f"Hi {stop_at}", chat=stop_at))
        await stopped.wait()

    async def second(claw, wire, router, stop_at):
        await wire.until(lambda: wire.sent)
        session = (await claw.services.sessions.list())[0]
        return wire.sent, [each.content for each in await claw.services.sessions.messages(session.id)]

    for stop_at in ("begin", "finish", "sending", "sent"):
        home.model.says("Answer.")
        run(home, lambda *about, at=stop_at: first(*about, at))
        sent, said = run(home, lambda *about, at=stop_at: second(*about, at))
        assert said == [f"Hi {stop_at}", "Answer."]
        marked = "(This may be there already.)\n\n" if stop_at == "sent" else ""
        assert sent == [(stop_at, f"{marked}Answer.")]


def test_a_turn_that_was_killed_during_a_call_goes_on(home):
    home.model.calls("wait_long").says("It was cut off.")

    async def first(claw, wire, router):
        waiting.clear()
        await router.accept(message(1, "Wait"))
        await _reached()

    async def second(claw, wire, router):
        await wire.until(lambda: wire.sent)
        (session,) = await claw.services.sessions.list()
        said = [each.content for each in await claw.services.sessions.messages(session.id) if each.type == "user"]
        return wire.sent, said

    run(home, first)
    assert run(home, second) == ([("c", "It was cut off.")], ["Wait"])


def test_a_file_for_the_user_is_sent_once_though_its_turn_was_killed_later(home):
    home.model.calls("hand_over").calls("wait_long").says("There.")

    async def first(claw, wire, router):
        waiting.clear()
        await router.accept(message(1, "Send it and wait"))
        await _reached()
        return wire.sent

    async def second(claw, wire, router):
        await wire.until(lambda: len(wire.sent) == 2)
        return wire.sent

    assert run(home, first) == []
    file = Attachment("sales.csv", "text/csv", b"a,b")
    assert run(home, second) == [("c", "There."), ("c", (file,))]
    (request,) = home.model.requests[-1:]
    assert not any(each.attachments for each in request.messages)


async def _reached():
    while not waiting.is_set():
        await asyncio.sleep(0.01)


def test_what_cannot_be_sent_now_is_sent_later_and_in_order(home):
    home.model.says("One. " * 60)

    async def scene(claw, wire, router):
        wire.failures = [RetryLaterError("slow down", 0.1), UndeliverableError("gone")]
        await router.accept(message(1, "Hi"))
        await router.accept(message(2, "/nonsense"))
        await wire.until(lambda: len(wire.sent) == 2)
        return wire.sent

    sent = run(home, scene)
    assert sent[0][1].startswith("One.")
    assert "there is no command /nonsense" in sent[1][1]
