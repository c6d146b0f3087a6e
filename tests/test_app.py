"""Embedding OneClaw: opening a home, sending messages, calling tools."""

import asyncio
import contextlib
import json
import stat
import threading
from pathlib import Path

import pytest
from how_long import IS_LONG, some
from model_server import ModelServer, calls, text
from oneclaw_offline.provider import OfflineProvider

import oneclaw_core
from oneclaw_core import (
    Attachment,
    GroupLoadedEvent,
    NotFoundError,
    OneClaw,
    OneClawError,
    PermissionAnswer,
    SessionBusyError,
    SettingsError,
    TextEvent,
    ToolCall,
    ToolResultEvent,
    TurnFinishedEvent,
    UsageError,
    tool,
)
from oneclaw_core.permissions import Decision, Grant
from oneclaw_core.providers import ModelResponse, TextDelta

pytestmark = pytest.mark.every_python

EXAMPLES = Path(__file__).parents[1] / "examples"


def opened(home, environ=None, **options):
    return OneClaw.open(home, environ=environ or {}, start_directory=EXAMPLES, **options)


async def events_of(claw, message, **options):
    return [event async for event in claw.send_message(message, **options)]


@pytest.mark.long
def test_a_message_runs_end_to_end_with_typed_events(tmp_path):
    async def run():
        async with opened(tmp_path) as claw:
            return await events_of(claw, "How many pages does quarterly-report.pdf have?", session="reports")

    events = asyncio.run(run())
    assert any(isinstance(event, GroupLoadedEvent) and event.group == "pdf" for event in events)
    assert [event.name for event in events if isinstance(event, ToolResultEvent)] == ["load_tool_group", "pdf_info"]
    finished = events[-1]
    assert isinstance(finished, TurnFinishedEvent)
    assert finished.session == "reports"
    assert "6 pages" in finished.text
    assert "".join(event.text for event in events if isinstance(event, TextEvent)).endswith(finished.text)


@pytest.mark.long
def test_the_synchronous_one_liner(tmp_path, monkeypatch):
    monkeypatch.setenv("ONECLAW_HOME", str(tmp_path))
    monkeypatch.delenv("ONECLAW_MODEL", raising=False)
    answer = oneclaw_core.ask("How many pages does quarterly-report.pdf have?", start_directory=EXAMPLES)
    assert "6 pages" in answer


def test_the_one_liner_inside_an_event_loop_says_what_to_use(tmp_path):
    async def run():
        oneclaw_core.ask("hello", home=tmp_path)

    with pytest.raises(UsageError, match=r"OneClaw\.open\(\)"):
        asyncio.run(run())


def test_a_home_is_made_for_its_owner_alone(tmp_path):
    home = tmp_path / "new" / "home"

    async def run():
        async with opened(home):
            pass

    asyncio.run(run())
    for path in (home, home / "workspace", home / "locks", home / "logs"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700, path
    assert stat.S_IMODE((home / "oneclaw.db").stat().st_mode) == 0o600


@pytest.mark.parametrize("message", ["", "   ", "\n"])
def test_an_empty_message_is_refused_and_begins_no_session(tmp_path, message):
    async def run():
        async with opened(tmp_path) as claw:
            with pytest.raises(UsageError, match="empty"):
                await events_of(claw, message)
            return await claw.store.list_sessions()

    assert asyncio.run(run()) == []


@pytest.mark.parametrize(
    "options",
    some([{"agent": "Nobody"}, {"model": "nobody/model"}, {"model": "offline"}, {"session": "s", "model": "x/y"}], 4),
)
def test_what_cannot_be_begins_no_session(tmp_path, options):
    async def run():
        async with opened(tmp_path) as claw:
            with pytest.raises(NotFoundError):
                await events_of(claw, "hello", **options)
            return await claw.store.list_sessions()

    assert asyncio.run(run()) == []


@pytest.mark.long
def test_the_model_is_chosen_by_the_message_the_session_the_environment_the_setting(tmp_path):
    async def run(server):
        environ = {"OPENAI_BASE_URL": server.url, "ONECLAW_MODEL": "openai_compatible/from-environment"}
        async with opened(tmp_path, environ) as claw:
            await claw.store.set_setting("model", "openai_compatible/from-setting")
            await events_of(claw, "1", session="chosen", model="openai_compatible/chosen")
            await events_of(claw, "2", session="chosen")
            await events_of(claw, "3", session="chosen", model="openai_compatible/other")
            await events_of(claw, "4")
        async with opened(tmp_path, {"OPENAI_BASE_URL": server.url}) as claw:
            await events_of(claw, "5")
            assert (await claw.configuration.models.default())[0] == "openai_compatible/from-setting"

    with ModelServer(lambda body: text("ok")) as server:
        asyncio.run(run(server))
    assert [body["model"] for body in server.bodies] == [
        "chosen",
        "chosen",
        "other",
        "from-environment",
        "from-setting",
    ]


@pytest.mark.long
def test_a_provider_whose_address_is_changed_is_asked_at_the_new_one(tmp_path):
    async def run(first, second):
        async with opened(tmp_path) as claw:
            for server in (first, second):
                setting = {"type": "openai_compatible", "base_url": server.url}
                await claw.store.set_setting("provider:box", setting)
                await events_of(claw, "hello", session="s", model="box/model")

    with ModelServer([text("first")]) as first, ModelServer([text("second")]) as second:
        asyncio.run(run(first, second))
    assert (len(first.bodies), len(second.bodies)) == (1, 1)


@pytest.mark.long
def test_a_second_turn_of_a_session_waits_or_fails_with_a_clear_message(tmp_path):
    async def run(server):
        environ = {"OPENAI_BASE_URL": server.url, "ONECLAW_SESSION_WAIT_SECONDS": "0.05"}
        async with opened(tmp_path, environ) as claw:
            options = {"session": "s", "model": "openai_compatible/test"}
            async with contextlib.aclosing(claw.send_message("first", **options)) as first:
                await anext(first)
                with pytest.raises(SessionBusyError, match="'s' is busy"):
                    await events_of(claw, "second", **options)
            await events_of(claw, "third", **options)
            session = await claw.store.find_session("s")
            return [message.content for message in await claw.store.messages(session.id)]

    with ModelServer(lambda body: text("Answer to " + body["messages"][-1]["content"])) as server:
        contents = asyncio.run(run(server))
    assert "second" not in contents
    assert contents[-2:] == ["third", "Answer to third"]


@pytest.mark.long
@pytest.mark.one_python
def test_many_sessions_wait_for_slow_answers_at_the_same_time(tmp_path):
    sessions = 150 if IS_LONG else 50
    all_asked = threading.Barrier(sessions, timeout=30)

    def reply(body):
        all_asked.wait()
        return text("Answer to " + body["messages"][-1]["content"])

    async def run(server):
        async with opened(tmp_path, {"OPENAI_BASE_URL": server.url}) as claw:
            turns = (events_of(claw, f"message {n}", model="openai_compatible/test") for n in range(sessions))
            return [events[-1].text for events in await asyncio.gather(*turns)]

    with ModelServer(reply) as server:
        answers = asyncio.run(run(server))
    assert answers == [f"Answer to message {n}" for n in range(sessions)]


@pytest.mark.long
def test_permissions_are_asked_of_the_embedder_and_remembered_in_the_home(tmp_path):
    questions = []

    async def always(request):
        questions.append((request.permission, request.tool_name, request.arguments["url"]))
        return PermissionAnswer.ALWAYS

    async def run(server, ask):
        arguments = json.dumps({"url": server.url + "/models"})
        async with opened(tmp_path, ask=ask) as claw:
            return (await claw.call_tool("http_request", arguments)).result

    with ModelServer([]) as server:
        assert asyncio.run(run(server, None)).error_type == "permission_denied"
        assert asyncio.run(run(server, always)).is_success
        assert asyncio.run(run(server, None)).is_success
    assert questions == [("network.private", "http_request", server.url + "/models")]


@pytest.mark.long
def test_what_is_denied_in_another_process_counts_at_the_next_turn(tmp_path):
    write = calls(("write_file", {"path": "a.txt", "content": "x"}))

    async def run(server):
        async with opened(tmp_path, {"OPENAI_BASE_URL": server.url}) as claw, opened(tmp_path) as other:
            options = {"session": "s", "model": "openai_compatible/test"}
            first = await events_of(claw, "write", **options)
            await other.store.set_grant(Grant("files.write", decision=Decision.DENY))
            await other.store.set_tool_enabled("group", "pdf", False)
            second = await events_of(claw, "write", **options)
        return [[e.result.error_type for e in events if isinstance(e, ToolResultEvent)] for events in (first, second)]

    with ModelServer([write, text("done"), write, text("denied")]) as server:
        assert asyncio.run(run(server)) == [[None], ["permission_denied"]]
    _, *rest = server.bodies[2]["messages"]
    assert "- pdf:" in server.bodies[0]["messages"][0]["content"]
    assert "No longer in Available Tool Groups: pdf" in [each["content"] for each in rest if each["role"] == "user"][-1]


@pytest.mark.long
def test_the_next_request_is_exactly_what_is_sent(tmp_path):
    async def run(server):
        async with opened(tmp_path, {"OPENAI_BASE_URL": server.url}) as claw:
            options = {"session": "s", "model": "openai_compatible/test"}
            await events_of(claw, "load it", **options)
            request, model = await claw.next_request(**options)
            await events_of(claw, "and now", **options)
            return request, model

    script = [calls(("load_tool_group", {"group_name": "pdf"})), text("Loaded."), text("Yes.")]
    with ModelServer(script) as server:
        request, model = asyncio.run(run(server))
    assert model == "openai_compatible/test"
    sent = server.bodies[2]
    assert sent["messages"][0]["content"] == request.system_prompt
    assert [tool["function"]["name"] for tool in sent["tools"]] == [definition.name for definition in request.tools]
    assert request.messages[-1].content == "Loaded."


def test_a_setting_that_does_not_fit_says_where_it_comes_from(tmp_path):
    async def run(environ):
        async with opened(tmp_path, environ) as claw:
            await events_of(claw, "hello")

    with pytest.raises(SettingsError, match="the environment variable ONECLAW_TURN_MAX_TOOL_ROUNDS"):
        asyncio.run(run({"ONECLAW_TURN_MAX_TOOL_ROUNDS": "many"}))


@pytest.mark.parametrize("home", ["~nosuchuser/home", "\x00"])
def test_a_home_that_cannot_be(home):
    async def run():
        async with opened(home):
            pass

    with pytest.raises(OneClawError, match=r"home|ONECLAW_HOME"):
        asyncio.run(run())


def test_a_current_directory_that_is_gone(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    async def run():
        async with OneClaw.open(tmp_path / "home", environ={}):
            pass

    with pytest.raises(UsageError, match="current directory is gone"):
        asyncio.run(run())


def test_an_embedder_chooses_the_plugins(tmp_path):
    async def run():
        async with opened(tmp_path, plugins=[]) as claw:
            return claw.catalog.registry.get_all_tool_names()

    assert asyncio.run(run()) == []


def test_a_tool_can_be_called_with_a_mapping_or_a_text(tmp_path):
    async def run():
        async with opened(tmp_path) as claw:
            outcomes = [
                await claw.call_tool("get_current_time", arguments)
                for arguments in ({"timezone": "UTC"}, '{"timezone": "UTC"}', {"timezone": 5}, None)
            ]
        return [outcome.result.error_type for outcome in outcomes]

    assert asyncio.run(run()) == [None, None, "validation_error", "validation_error"]


def test_a_registered_tool_can_be_executed_by_hand(tmp_path, monkeypatch):
    monkeypatch.setenv("ONECLAW_HOME", str(tmp_path))
    monkeypatch.chdir(EXAMPLES)

    async def run():
        async with opened(tmp_path) as claw:
            registry = claw.catalog.registry
            time = await registry.get_tool("get_current_time").execute({"timezone": "UTC"})
            info = await registry.get_tool("pdf_info").execute({"path": "quarterly-report.pdf"})
        return time, info

    time, info = asyncio.run(run())
    assert time.is_success
    assert "Pages: 6" in info.result


@pytest.mark.long
def test_two_homes_on_one_database_exclude_each_other(tmp_path):
    async def run(server):
        environ = {"ONECLAW_DATABASE_URL": f"sqlite:///{tmp_path / 'shared' / 'one.db'}", "OPENAI_BASE_URL": server.url}
        environ["ONECLAW_SESSION_WAIT_SECONDS"] = "0.05"
        options = {"session": "s", "model": "openai_compatible/test"}
        async with (
            opened(tmp_path / "a", environ) as first,
            opened(tmp_path / "b", environ) as second,
            contextlib.aclosing(first.send_message("first", **options)) as events,
        ):
            await anext(events)
            with pytest.raises(SessionBusyError):
                await events_of(second, "second", **options)

    with ModelServer(lambda body: text("ok")) as server:
        asyncio.run(run(server))


@pytest.mark.one_python
@pytest.mark.parametrize(
    "options",
    some(
        [
            {"session": 5},
            {"session": b"s"},
            {"agent": ["General Assistant"]},
            {"model": 7},
            {"attachments": 3},
            {"attachments": "a.png"},
            {"attachments": [b"bytes"]},
            {"attachments": [Attachment("a.png", "image/png", "no bytes")]},
            {"attachments": [Attachment(7, "image/png", b"")]},
        ],
        9,
    ),
)
def test_an_argument_of_another_type_is_refused_and_begins_no_session(tmp_path, options):
    async def run():
        async with opened(tmp_path) as claw:
            with pytest.raises(UsageError, match=next(iter(options))):
                await events_of(claw, "hello", **options)
            return await claw.store.list_sessions()

    assert asyncio.run(run()) == []


def test_other_requests_refuse_arguments_of_another_type_too(tmp_path):
    async def run():
        async with opened(tmp_path) as claw:
            for refused in (claw.compact(5), claw.next_request(session=5), claw.begin_session(5)):
                with pytest.raises(UsageError, match="must be a text"):
                    await refused

    asyncio.run(run())


def test_a_session_of_an_unknown_agent_is_not_begun(tmp_path):
    async def run():
        async with opened(tmp_path) as claw:
            with pytest.raises(NotFoundError, match="there is no agent 'Nobody'"):
                await claw.begin_session("story", agent="Nobody")
            return await claw.store.list_sessions()

    assert asyncio.run(run()) == []


class Answer:
    """An answer that can be iterated and not closed."""

    def __init__(self, *events):
        self.events = list(events)

    def __aiter__(self):
        return self

    async def __anext__(self):
        if not self.events:
            raise StopAsyncIteration
        return self.events.pop(0)


class Iterating:
    def stream(self, request):
        return Answer(TextDelta("Good day"), ModelResponse(text="Good day"))

    async def aclose(self):
        pass


def test_an_answer_that_cannot_be_closed_is_taken(tmp_path):
    async def run():
        async with opened(tmp_path) as claw:
            claw.catalog.provider_types["iterating"] = lambda config: Iterating()
            await claw.store.set_setting("provider:polite", {"type": "iterating"})
            return await events_of(claw, "Hello", model="polite/x")

    assert asyncio.run(run())[-1].text == "Good day"


class Slow:
    """A model that calls a tool which never ends, or never answers."""

    def __init__(self, config, closed):
        self.config, self.closed = config, closed

    async def stream(self, request):
        if self.closed:
            raise AssertionError("a closed provider was asked")
        if request.model == "silent":
            await asyncio.Event().wait()
        yield TextDelta("Waiting")
        yield ModelResponse(text="Waiting", tool_calls=(ToolCall("c", "wait", "{}"),))

    async def aclose(self):
        self.closed.append(self.config.base_url)


@contextlib.asynccontextmanager
async def slow_home(home, closed):
    async with opened(home) as claw:
        started = asyncio.Event()

        @tool
        async def wait() -> str:
            """Wait for ever."""
            started.set()
            await asyncio.Event().wait()
            return "never"

        claw.catalog.provider_types["slow"] = lambda config: Slow(config, closed)
        claw.catalog.registry.register(wait)
        await claw.store.set_setting("provider:slow", {"type": "slow", "base_url": "http://127.0.0.1:9/a"})
        claw.started = started
        yield claw


async def stored_of(home):
    async with opened(home) as claw:
        found = await claw.store.find_session("s")
        return [(each.content, each.error_type) for each in await claw.store.messages(found.id)]


@pytest.mark.long
@pytest.mark.parametrize("is_kept", [True, False])
def test_a_turn_that_no_one_listens_to_any_more_ends_with_the_home(tmp_path, is_kept):
    closed, kept = [], []

    async def run():
        async with slow_home(tmp_path, closed) as claw:
            events = claw.send_message("go", session="s", model="slow/model")
            if is_kept:
                kept.append(events)
            async for event in events:
                if isinstance(event, TextEvent):
                    break
            del events
        return await stored_of(tmp_path)

    # What was read of the answer is there: the turn ended before the database was closed.
    assert asyncio.run(run()) == [("go", None), ("Waiting", None)]
    assert len(closed) == 1


@pytest.mark.long
def test_a_turn_in_another_task_ends_with_the_home_and_its_calls_are_answered(tmp_path, caplog):
    closed = []

    async def run():
        async with slow_home(tmp_path, closed) as claw:
            turn = asyncio.create_task(events_of(claw, "go", session="s", model="slow/model"))
            await claw.started.wait()
        with pytest.raises(asyncio.CancelledError):
            await turn
        return await stored_of(tmp_path)

    assert [error_type for _, error_type in asyncio.run(run())] == [None, None, None, "interrupted"]
    assert closed != []
    assert "closed" not in caplog.text


def test_a_tool_called_in_another_task_ends_with_the_home(tmp_path):
    async def run():
        async with slow_home(tmp_path, []) as claw:
            call = asyncio.create_task(claw.call_tool("wait"))
            await claw.started.wait()
        return (await asyncio.gather(call, return_exceptions=True))[0]

    assert isinstance(asyncio.run(run()), asyncio.CancelledError)


def test_a_closed_home_says_so(tmp_path):
    async def run():
        async with opened(tmp_path) as claw:
            not_begun = claw.send_message("hello")
        for events in (not_begun, claw.send_message("hello")):
            with pytest.raises(UsageError, match="this home is closed"):
                await anext(events)

    asyncio.run(run())


@pytest.mark.long
def test_a_replaced_provider_is_closed_when_its_last_turn_has_ended(tmp_path):
    closed = []

    async def run():
        async with slow_home(tmp_path, closed) as claw:
            first = asyncio.create_task(events_of(claw, "go", session="s", model="slow/model"))
            await claw.started.wait()
            await claw.store.set_setting("provider:slow", {"type": "slow", "base_url": "http://127.0.0.1:9/b"})
            async with contextlib.aclosing(claw.send_message("go", session="t", model="slow/model")) as second:
                await anext(second)
            assert closed == []
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)
            assert closed == ["http://127.0.0.1:9/a"]

    asyncio.run(run())
    assert closed == ["http://127.0.0.1:9/a", "http://127.0.0.1:9/b"]


def test_a_provider_that_cannot_be_closed_is_logged_and_the_others_are_closed(tmp_path, monkeypatch, caplog):
    closed = []

    async def close(self):
        closed.append(self.config.name)
        raise RuntimeError("the socket is gone")

    monkeypatch.setattr(OfflineProvider, "aclose", close)

    async def run():
        async with opened(tmp_path) as claw:
            await claw.store.set_setting("provider:spare", {"type": "offline"})
            for name in ("offline", "spare"):
                await events_of(claw, "hello", model=f"{name}/rules")

    asyncio.run(run())
    assert closed == ["offline", "spare"]
    assert caplog.text.count("cannot be closed") == 2
