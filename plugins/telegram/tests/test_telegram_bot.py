"""The bot against a Bot API server on loopback that checks each call."""

import asyncio
import json
import logging
import os
import subprocess
import sys
from contextlib import asynccontextmanager

import pytest
from bot_api_server import GROUP, OWNER, STRANGER, TOKEN, BotApiServer
from oneclaw_channels import Pairing
from oneclaw_telegram import pace, service
from oneclaw_telegram.bot_api import BotApi
from oneclaw_telegram.channel import TelegramChannel
from oneclaw_telegram.formatting import fixed_width, formatted, utf16_length
from oneclaw_telegram.service import take_webhook, webhook_secret
from oneclaw_telegram.updates import Bot, Tap, albums, read_album, read_update

from oneclaw_core import OneClawError, ToolContext, ToolResult, hookimpl, tool
from oneclaw_core.channels import InboundFile, RetryLaterError, UndeliverableError
from oneclaw_core.plugins import OutMessage, WebRequest

PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 20
SERVICE = "register_services"


@tool(required_permissions=["network.private"])
def ring(context: ToolContext) -> str:
    """Ring the bell."""
    return "ding"


@tool
def draw(context: ToolContext) -> ToolResult:
    """Draw a picture."""
    from oneclaw_core import Attachment

    return ToolResult.success("drawn", (Attachment("house.png", "image/png", PNG),))


class Tools:
    @hookimpl
    def register_tools(self, register):
        register(ring)
        register(draw)


@pytest.fixture
def telegram(monkeypatch):
    monkeypatch.setattr(pace, "PRIVATE_SECONDS", 0.01)
    monkeypatch.setattr(pace, "GROUP_SECONDS", 0.01)
    monkeypatch.setattr(service, "ALBUM_SECONDS", 0.05)
    server = BotApiServer()
    yield server
    server.close()


@pytest.fixture
def home(oneclaw_factory, telegram):
    environ = {
        "ONECLAW_MODEL": "scripted/model",
        "ONECLAW_TELEGRAM_TOKEN": TOKEN,
        "ONECLAW_TELEGRAM_API_ROOT": telegram.root,
        "ONECLAW_TELEGRAM_GROUPS": "-100",
    }
    return oneclaw_factory(["telegram", Tools()], environ=environ)


@asynccontextmanager
async def serving(home, *, paired=(OWNER,)):
    from oneclaw_core.services.manager import ServiceManager

    async with home.opened() as claw:
        pairing = await Pairing.open(claw, "telegram")
        for each in paired:
            await pairing.add(str(each["id"]), each["first_name"])
        services = [each for each in claw.plugins.registrations(SERVICE) if each.plugin == "telegram"]
        async with ServiceManager(claw, services, "serve", print).running():
            yield claw


def play(home, scene, **options):
    async def work():
        async with serving(home, **options) as claw:
            return await asyncio.to_thread(scene, claw)

    return asyncio.run(work())


def texts(telegram):
    return [each["text"] for each in telegram.sent()]


@pytest.mark.long
@pytest.mark.every_python
def test_a_paired_person_talks_and_a_stranger_is_not_heard(home, telegram):
    home.model.says("Hello **Anna**.")
    telegram.writes("Let me in", sender=STRANGER)
    telegram.writes("/start ABCDEFGH", sender=STRANGER)
    telegram.writes("Hi")

    def scene(claw):
        telegram.until(telegram.sent)
        telegram.until(lambda: telegram.max_offset > 1003)

    play(home, scene)
    (only,) = telegram.sent()
    assert (only["chat_id"], only["text"]) == (7, "Hello Anna.")
    assert only["entities"] == [{"type": "bold", "offset": 6, "length": 4}]
    assert only["link_preview_options"] == {"is_disabled": True}


def test_the_code_of_the_terminal_pairs(home, telegram):
    async def work():
        async with serving(home, paired=()) as claw:
            code = await (await Pairing.open(claw, "telegram")).new_code()
            telegram.writes(f"/start {code}", sender=STRANGER)
            await asyncio.to_thread(telegram.until, telegram.sent)

    asyncio.run(work())
    assert [(each["chat_id"], "paired" in each["text"]) for each in telegram.sent()] == [(666, True)]


def test_another_person_cannot_press_the_button(home, telegram):
    home.model.calls("ring").says("It rang.")
    telegram.writes("@claw_bot ring", chat=GROUP)

    def scene(claw):
        telegram.until(telegram.sent)
        (question,) = telegram.sent()
        data = question["reply_markup"]["inline_keyboard"][0][0]["callback_data"]
        telegram.taps(data, sender=STRANGER)
        telegram.until(lambda: telegram.sent("answerCallbackQuery"))
        assert len(telegram.sent()) == 1
        telegram.taps(data)
        telegram.until(lambda: len(telegram.sent()) == 2)
        telegram.taps(data)
        telegram.until(lambda: len(telegram.sent("answerCallbackQuery")) == 3)
        return question

    question = play(home, scene)
    assert question["chat_id"] == OWNER["id"]  # and not the group
    assert "network.private" in question["text"]
    assert [each["text"] for each in telegram.sent("answerCallbackQuery")] == [
        "Only the person who was asked can answer.",
        "Your answer: Allow once",
        "This question is closed.",
    ]
    (outcome,) = [each for each in telegram.sent("editMessageText") if "Answer: Allow once" in each["text"]]
    assert "reply_markup" not in outcome
    answer = telegram.sent()[1]
    assert answer["chat_id"] == GROUP["id"]
    assert answer["text"].endswith("It rang.")
    assert "reply_parameters" in answer


@pytest.mark.every_python
def test_files_go_both_ways(home, telegram):
    home.model.calls("draw").says("Here.")
    telegram.files = {"p2": PNG, "v": b"OggS"}
    telegram.writes(caption="Draw", photo=[{"file_id": "p1"}, {"file_id": "p2"}], voice={"file_id": "v"})

    def scene(claw):
        telegram.until(lambda: telegram.sent("sendPhoto"))
        return sorted(each.read_bytes() for each in (claw.home.path / "channels" / "telegram").iterdir())

    assert play(home, scene) == [b"OggS"]
    (photo,) = telegram.sent("sendPhoto")
    assert (photo["chat_id"], photo["photo"], photo["caption"]) == ("7", PNG, "house.png")


@pytest.mark.long
def test_an_album_is_one_message(home, telegram):
    home.model.says("Two pictures.").says("And a text.")
    telegram.files = {"a": PNG, "b": PNG}
    telegram.writes(media_group_id="9", photo=[{"file_id": "a"}])
    telegram.writes(media_group_id="9", photo=[{"file_id": "b"}], caption="Look")
    telegram.writes("Hi")
    play(home, lambda claw: telegram.until(lambda: len(telegram.sent()) == 2))
    assert texts(telegram) == ["Two pictures.", "And a text."]
    (first, _) = home.model.requests
    (asked,) = [each for each in first.messages if each.attachments]
    assert (asked.content, len(asked.attachments)) == ("Look", 2)


def test_large_files_go_as_documents_or_are_named(telegram):
    from oneclaw_core import Attachment

    async def work():
        api = BotApi(TOKEN, telegram.root)
        channel = TelegramChannel(api)
        for name, size in (("n" * 2000, 10_000_001), ("huge.png", 50_000_001)):
            picture = Attachment(name, "image/png", b"0" * size)
            await channel.send(OutMessage(to="-100:4", text="", attachments=(picture,)))
        telegram.refuse(400, "Bad Request: PHOTO_INVALID_DIMENSIONS", method="sendPhoto")
        await channel.send(OutMessage(to="7", text="", attachments=(Attachment("long.png", "image/png", PNG),)))
        await api.aclose()

    asyncio.run(work())
    document, refused = telegram.sent("sendDocument")
    assert (document["message_thread_id"], len(document["caption"])) == ("4", 1024)
    assert (refused["document"], refused["caption"]) == (PNG, "long.png")
    assert texts(telegram) == ["huge.png has 50 MB, too much for Telegram."]


@pytest.mark.long
@pytest.mark.every_python
def test_what_is_asked_to_wait_is_sent_once_later(home, telegram):
    home.model.says("Hello.")
    telegram.refuse(429, "Too Many Requests: retry after 1", retry_after=1)
    telegram.writes("Hi")
    play(home, lambda claw: telegram.until(telegram.sent))
    assert texts(telegram) == ["Hello."]


@pytest.mark.long
@pytest.mark.one_python
def test_a_message_that_telegram_did_not_forget_is_answered_once(home, telegram):
    """The program is killed after the message is stored, and before the offset moves."""
    home.model.says("Hello.")
    telegram.writes("Hi")
    code = f"""
import asyncio, os
from oneclaw_core import OneClaw
from oneclaw_channels import ChatRouter, Pairing
from oneclaw_core.services.manager import ServiceManager

accept = ChatRouter.accept
async def accept_and_die(self, inbound):
    await accept(self, inbound)
    os.kill(os.getpid(), 9)
ChatRouter.accept = accept_and_die

async def main():
    async with OneClaw.open() as claw:
        await (await Pairing.open(claw, "telegram")).add("7", "Anna")
        services = [each for each in claw.plugins.registrations({SERVICE!r}) if each.plugin == "telegram"]
        async with ServiceManager(claw, services, "serve", print).running():
            await asyncio.sleep(20)
asyncio.run(main())
"""
    environ = {**os.environ, **home._environ, "ONECLAW_HOME": str(home.home.path)}
    assert subprocess.run([sys.executable, "-c", code], env=environ, timeout=50, check=False).returncode == -9
    assert telegram.max_offset == 0
    play(home, lambda claw: telegram.until(lambda: telegram.sent() and telegram.max_offset > 1001))
    assert texts(telegram) == ["Hello."]


def test_the_token_is_in_no_log_and_no_error(telegram, caplog):
    caplog.set_level(logging.DEBUG)

    async def work():
        api = BotApi(TOKEN, telegram.root)
        await api.call("getMe")
        telegram.refuse(400, "Bad Request", method="getMe")
        with pytest.raises(OneClawError) as refused:
            await api.call("getMe")
        await api.aclose()
        closed = BotApi(TOKEN, "http://127.0.0.1:1")
        with pytest.raises(RetryLaterError) as unreached:
            await closed.call("getMe")
        await closed.aclose()
        return [str(refused.value), repr(unreached.value.__cause__), str(unreached.value)]

    shown = [*asyncio.run(work()), *(each.getMessage() for each in caplog.records)]
    assert any("HTTP Request" in each for each in shown)
    assert not [each for each in shown if TOKEN.partition(":")[2] in each]


@pytest.mark.every_python
def test_the_webhook_takes_what_carries_the_secret(home, telegram):
    home._environ["ONECLAW_TELEGRAM_WEBHOOK_URL"] = "https://claw.example/telegram/webhook"
    home.model.says("Hello.")
    chat = {"id": 7, "type": "private"}
    update = {"update_id": 1, "message": {"message_id": 1, "from": OWNER, "chat": chat, "text": "Hi"}}

    async def post(context, secret, body):
        headers = {"x-telegram-bot-api-secret-token": secret}
        return (await take_webhook(context, WebRequest(method="POST", headers=headers, body=body))).status

    async def work():
        async with serving(home) as claw:
            await asyncio.to_thread(telegram.until, lambda: telegram.sent("setWebhook"))
            context = await claw.plugins.context_of("telegram")
            body, secret = json.dumps(update).encode(), webhook_secret(TOKEN)
            found = [
                await post(context, *each) for each in (("", body), (secret, b"{"), (secret, body), (secret, body))
            ]
            await asyncio.to_thread(telegram.until, telegram.sent)
            return found

    assert asyncio.run(work()) == [403, 400, 200, 200]
    assert texts(telegram) == ["Hello."]


def test_the_webhook_puts_an_album_together(home, telegram):
    home._environ["ONECLAW_TELEGRAM_WEBHOOK_URL"] = "https://claw.example/telegram/webhook"
    home.model.says("Two.")
    telegram.files = {"a": PNG, "b": PNG}

    async def post(context, number):
        message = {"message_id": number, "from": OWNER, "chat": {"id": 7, "type": "private"}, "media_group_id": "9"}
        update = {"update_id": number, "message": message | {"photo": [{"file_id": "ab"[number]}]}}
        headers = {"x-telegram-bot-api-secret-token": webhook_secret(TOKEN)}
        return (await take_webhook(context, WebRequest(headers=headers, body=json.dumps(update).encode()))).status

    async def work():
        async with serving(home) as claw:
            await asyncio.to_thread(telegram.until, lambda: telegram.sent("setWebhook"))
            context = await claw.plugins.context_of("telegram")
            found = await asyncio.gather(post(context, 1), post(context, 0))
            await asyncio.to_thread(telegram.until, telegram.sent)
            return found

    assert asyncio.run(work()) == [200, 200]
    assert texts(telegram) == ["Two."]


def test_refusals_say_what_follows(telegram):
    async def work(code, description, **parameters):
        api = BotApi(TOKEN, telegram.root)
        channel = TelegramChannel(api)
        telegram.refuse(code, description, **parameters)
        try:
            return await channel.send(OutMessage(to="7", text="*Hi*"))
        finally:
            await api.aclose()

    with pytest.raises(UndeliverableError, match="bot was blocked"):
        asyncio.run(work(403, "Forbidden: bot was blocked by the user"))
    with pytest.raises(RetryLaterError) as later:
        asyncio.run(work(429, "Too Many Requests", retry_after=269))
    assert later.value.seconds == 269
    assert asyncio.run(work(400, "Bad Request: can't parse entities")) is not None
    assert "entities" not in telegram.sent()[-1]
    with pytest.raises(UndeliverableError, match="is no chat"):
        asyncio.run(TelegramChannel(BotApi(TOKEN, telegram.root)).send(OutMessage(to="anna", text="Hi")))


def test_a_huge_file_is_refused_before_and_while_it_comes(telegram):
    telegram.files["big"] = b"0" * 21_000_000

    async def work():
        api = BotApi(TOKEN, telegram.root)
        channel = TelegramChannel(api)
        for size in (3_000_000_000, None):
            with pytest.raises(OneClawError, match="20 MB"):
                await channel.fetch(InboundFile("big", "a.zip", size=size))
        await api.aclose()

    asyncio.run(work())


MARKDOWN = (
    "_ * [ ] ( ) ~ ` > # + - = | { } . !",
    "**a" * 3000,
    "```py\n" + "x = '😀'\n" * 900 + "```",
    "[a](javascript:b) " * 300,
    "| a | b |\n|---|---|\n| 1 | 2 |",
)


@pytest.mark.every_python
@pytest.mark.parametrize("markdown", MARKDOWN)
def test_markdown_of_any_kind_becomes_messages_that_fit(markdown):
    for text, entities in formatted(markdown):
        units = utf16_length(text)
        assert 1 <= units <= 4096
        assert len(entities) <= 100
        assert all(each["offset"] >= 0 and each["offset"] + each["length"] <= units for each in entities)
        assert not [each for each in entities if each.get("url", "http").startswith("javascript")]


def test_a_long_question_is_shown_whole():
    pieces = fixed_width("rm -rf " + "😀" * 9000)
    assert sum(text.count("😀") for text, _ in pieces) == 9000
    assert max(utf16_length(text) for text, _ in pieces) <= 4096


BOT = Bot("123456789", "claw_bot", ["-100"])


def read(**message):
    about = {"message_id": 1, "from": OWNER, "chat": {"id": 7, "type": "private"}}
    return read_update({"update_id": 5, "message": about | message}, BOT)


@pytest.mark.every_python
def test_updates_are_read_or_passed_over():
    assert read(text="/clear@claw_bot now").text == "/clear now"
    assert read(text="/clear@other_bot") is None
    assert read(text="Hi", chat=GROUP) is None  # not meant
    assert read(text="/usage", chat={"id": -5, "type": "group"}) is None  # not listed
    assert read(text="@Claw_Bot, hi", chat=GROUP).text == "hi"
    assert read(text="Yes", chat=GROUP, reply_to_message={"from": {"id": 123456789}}).text == "Yes"
    topic = read(text="/usage", chat=GROUP, message_thread_id=4, is_topic_message=True)
    assert (topic.chat, topic.is_private) == ("-100:4", False)
    forged = read(text="/start CODE", forward_origin={"type": "user", "sender_user": OWNER}, **{"from": STRANGER})
    assert (forged.person, forged.is_forwarded) == ("666", True)
    assert read(text="Hi", sender_chat=GROUP) is None
    assert read_update({"update_id": 1, "callback_query": {"id": "2", "from": OWNER, "data": "q:once"}}, BOT) == Tap(
        "2", "7", "q", "once"
    )
    for nonsense in (None, [], {}, {"message": 1}, {"message": {"chat": 1}}, {"callback_query": {"data": 5}}):
        assert read_update(nonsense, BOT) in (None, Tap("None", "", "5", ""))


@pytest.mark.parametrize(
    ("about", "is_quoting", "is_forwarded"),
    [
        ({}, False, False),
        ({"quote": {"text": "ignore all"}, "reply_to_message": {"from": STRANGER}}, True, False),
        ({"quote": {"text": "ignore all"}, "external_reply": {"origin": {"type": "user"}}}, True, False),
        ({"quote": {"text": "a page said"}, "reply_to_message": {"from": {"id": 123456789}}}, True, False),
        ({"quote": {"text": "mine"}, "reply_to_message": {"from": OWNER}}, False, False),
        ({"quote": {"text": "x"}, "reply_to_message": {"from": OWNER, "forward_origin": {}}}, True, False),
        ({"via_bot": {"id": 9}}, False, True),
        ({"is_automatic_forward": True}, False, True),
    ],
)
def test_what_a_message_quotes_is_not_the_word_of_its_sender(about, is_quoting, is_forwarded):
    found = read(text="What is this?", **about)
    assert (found.is_quoting, found.is_forwarded) == (is_quoting, is_forwarded)


def test_an_album_in_a_group_is_for_the_bot_if_its_caption_is():
    def part(number, sender=OWNER, **about):
        message = {"message_id": number, "from": sender, "chat": GROUP, "media_group_id": "9", **about}
        return {"update_id": number, "message": {**message, "photo": [{"file_id": str(number)}]}}

    other = {"update_id": 2, "message": {"message_id": 2, "from": OWNER, "chat": GROUP, "text": "Hi"}}
    found = albums([part(1), other, part(3, caption="@claw_bot look"), part(4, STRANGER)])
    assert [len(each) for each in found] == [2, 1, 1]
    album = read_album(found[0], BOT)
    assert ([each.id for each in album.files], album.text, album.id) == (["1", "3"], "look", "123456789:1-3")
    assert read_album(found[2], BOT) is None


def test_the_pace_keeps_the_published_limits():
    line, now, sent = pace.Pace(), 100.0, []
    for number in range(400):
        now += 0.01
        sent.append((line.take((7, -100, number)[number % 3], now), number % 3))
    for kind, seconds, most in ((0, 1, 1), (1, 60, 20)):
        times = [time for time, each in sent if each == kind]
        assert all(sum(begin <= time < begin + seconds - 1e-6 for time in times) <= most for begin in times)
    times = [time for time, _ in sent]
    assert all(sum(begin <= time < begin + 1 for time in times) <= 31 for begin in times)
    # The many other chats do not wait for the two that are at their limits.
    assert max(time for time, each in sent if each == 2) < 116
    line.block(7, 500.0)
    assert (line.blocked_seconds(7, 499.0), line.blocked_seconds(8, 499.0) <= 0) == (1.0, True)


@pytest.mark.parametrize(
    "markdown",
    [
        "[bank.example][1]\n\n[1]: https://evil.example/x",
        "[bank.example]\n\n[bank.example]: https://evil.example/x",
        "[bank\nexample](https://evil.example)",
        "[a [b]](https://evil.example)",
        "[bank.example](https:evil.example)",
        "[bank.example](https://evil.example/a(b)c)",
        "[bank.example](mailto:me@evil.example)",
        "![bank.example](https://evil.example)",
        "[\U0001f600](https://evil.example) **b** [x](https://bank.example@evil.example/) _c_",
    ],
)
def test_links_of_every_form_show_where_they_lead(markdown):
    ((text, entities),) = formatted(markdown)
    units = text.encode("utf-16-le")
    for each in (each for each in entities if "url" in each):
        end = 2 * (each["offset"] + each["length"])
        assert units[end:].decode("utf-16-le").startswith((" (evil.example)", " (me@evil.example)", " (https:evil"))
    for each in (each for each in entities if each["type"] in ("bold", "italic")):
        start = 2 * each["offset"]
        assert units[start : start + 2 * each["length"]].decode("utf-16-le") in ("b", "c")


def test_links_show_their_host_and_nothing_is_reordered():
    ((text, _),) = formatted("[bank.example](https://evil.example/x) and [good.example](https://good.example) a\u202eb")
    assert text.strip() == "bank.example (evil.example) and good.example a\\u202eb"
