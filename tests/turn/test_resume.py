"""Resuming a turn that was killed: what can be repeated runs again, everything else is answered as interrupted."""

import asyncio
import contextlib

import pytest
from histories import assistant, call, success, user
from model_server import ModelServer, calls, chunk, hang_up_after, silence, sse, status, text

from oneclaw_core import (
    GroupLoadedEvent,
    MessageType,
    NotFoundError,
    OneClaw,
    ProviderError,
    SessionBusyError,
    TextEvent,
    ToolCallEvent,
    ToolContext,
    ToolResultEvent,
    TurnFinishedEvent,
    UsageError,
    tool,
)

MODEL = "openai_compatible/test"


class Workbench:
    """Tools that note when they run and with which key."""

    def __init__(self):
        self.runs = []

        @tool(read_only=True)
        def look(place: str, context: ToolContext) -> str:
            """Look."""
            self.runs.append(("look", context.idempotency_key))
            return f"nothing in {place}"

        @tool(idempotent=True)
        def put(place: str, context: ToolContext) -> str:
            """Put."""
            self.runs.append(("put", context.idempotency_key))
            return f"put into {place}"

        @tool
        def send(place: str, context: ToolContext) -> str:
            """Send."""
            self.runs.append(("send", context.idempotency_key))
            return f"sent to {place}"

        @tool(read_only=True, required_permissions=["diary.read"])
        def read_diary() -> str:
            """Read the diary."""
            self.runs.append(("read_diary", None))
            return "Dear diary"

        self.tools = (look, put, send, read_diary)


@contextlib.asynccontextmanager
async def home_with(tmp_path, server, *history, bench=None, plugins=("openai",), allow=()):
    """Open a home with a session in which a turn was killed."""
    environ = {"OPENAI_BASE_URL": server.url, "ONECLAW_SESSION_WAIT_SECONDS": "30"}
    async with OneClaw.open(tmp_path, environ=environ, plugins=["builtin", *plugins], allow=allow) as claw:
        claw.add_tools(*(bench or Workbench()).tools)
        session = await claw.begin_session("story", model=MODEL)
        if history:
            await claw.store.append(session.id, history)
        yield claw, session


async def resumed(claw, session="story", **options):
    return [event async for event in claw.resume(session, **options)]


def test_open_calls_run_again_if_that_does_no_harm(tmp_path):
    bench = Workbench()
    place = '{"place": "drawer"}'
    history = (
        user("tidy up"),
        assistant(""),
        *(call(f"c{number}", name, place) for number, name in enumerate(("send", "put", "look", "look", "gone"))),
        success("c3", "nothing in drawer", "look"),
    )

    async def run(server):
        async with home_with(tmp_path, server, *history, bench=bench) as (claw, session):
            events = await resumed(claw)
            first = list(bench.runs)
            rows = await claw.store.messages(session.id)
            await claw.store.append(session.id, [user("again"), assistant(""), call("c7", "put", place)])
            await resumed(claw)
            return events, first, rows

    with ModelServer([text("Tidied."), text("Tidied again.")]) as server:
        events, runs, rows = asyncio.run(run(server))
    assert sorted(name for name, _ in runs) == ["look", "put"]
    assert len({key for _, key in bench.runs}) == 3, "each call has a separate key"
    kinds = [type(event) for event in events if isinstance(event, ToolCallEvent | ToolResultEvent)]
    assert kinds.count(ToolCallEvent) == kinds.count(ToolResultEvent) == 4
    assert events[-1].text == "Tidied."
    assert [row.content for row in rows if row.type is MessageType.USER] == ["tidy up"]
    results = {row.tool_call_id: row for row in rows if row.type is MessageType.TOOL_RESULT}
    assert {name: row.error_type for name, row in results.items()} == {
        "c0": "interrupted",
        "c1": None,
        "c2": None,
        "c3": None,
        "c4": "interrupted",
    }
    sent, later = (body["messages"] for body in server.bodies)
    assert [each["tool_call_id"] for each in sent if each["role"] == "tool"] == ["c0", "c1", "c2", "c3", "c4"]
    assert later[: len(sent)] == sent, "a later turn begins with what the resumed one sent"


@pytest.mark.long
def test_a_call_has_the_same_key_when_it_runs_again(tmp_path):
    bench = Workbench()

    async def run(server):
        async with home_with(tmp_path, server, bench=bench) as (claw, _):
            async with contextlib.aclosing(claw.send_message("put it away", session="story")) as events:
                async for event in events:
                    if isinstance(event, ToolResultEvent):
                        break
            await asyncio.to_thread(forget_results, tmp_path / "oneclaw.db")
            await resumed(claw)

    with ModelServer([calls(("put", {"place": "drawer"})), text("Done.")]) as server:
        asyncio.run(run(server))
    assert len(bench.runs) == 2
    assert len(set(bench.runs)) == 1


def forget_results(path):
    """Leave a database as a process does that is killed before it stores a result."""
    import sqlite3

    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM messages WHERE type = 'tool_result'")
        connection.execute("UPDATE messages SET tool_status = 'pending' WHERE type = 'tool_call'")


def test_permissions_count_for_calls_that_run_again(tmp_path):
    bench = Workbench()

    async def run(server):
        async with home_with(tmp_path, server, user(), call("c0", "read_diary"), bench=bench) as (claw, _):
            return await resumed(claw)

    with ModelServer([text("I may not.")]) as server:
        events = asyncio.run(run(server))
    (result,) = [event.result for event in events if isinstance(event, ToolResultEvent)]
    assert result.error_type == "permission_denied"
    assert bench.runs == []


def test_a_group_that_was_being_loaded_is_loaded(tmp_path):
    async def run(server):
        history = (user(), call("c0", "load_tool_group", '{"group_name": "pdf"}'))
        async with home_with(tmp_path, server, *history, plugins=("openai", "pdf")) as (claw, _):
            return await resumed(claw)

    with ModelServer([text("Loaded.")]) as server:
        events = asyncio.run(run(server))
    assert [event.group for event in events if isinstance(event, GroupLoadedEvent)] == ["pdf"]
    assert "pdf_info" in str(server.bodies[0]["tools"])


def test_a_turn_that_has_no_answer_yet_is_asked_again_without_a_new_message(tmp_path):
    async def run(server):
        async with home_with(tmp_path, server) as (claw, session):
            with pytest.raises(ProviderError):
                _ = [event async for event in claw.send_message("hello", session="story")]
            events = await resumed(claw, None)
            return events, [(row.type, row.content) for row in await claw.store.messages(session.id)]

    with ModelServer([status(401), text("Hello yourself.")]) as server:
        events, rows = asyncio.run(run(server))
    assert events[-1] == TurnFinishedEvent("story", "Hello yourself.")
    assert rows == [(MessageType.USER, "hello"), (MessageType.ASSISTANT, "Hello yourself.")]


def test_a_turn_that_has_its_answer_gives_it_again(tmp_path):
    async def run(server):
        async with home_with(tmp_path, server, user(), assistant("All done.")) as (claw, session):
            return await resumed(claw), await claw.store.count_messages(session.id)

    with ModelServer([]) as server:
        events, count = asyncio.run(run(server))
    assert events == [TurnFinishedEvent("story", "All done.")]
    assert (count, server.bodies) == (2, [])


BEGINNING = sse([chunk({"content": "The ans"})], done=False)


def test_an_answer_that_a_broken_stream_cut_is_asked_for_again(tmp_path):
    async def run(server):
        async with home_with(tmp_path, server) as (claw, session):
            with pytest.raises(ProviderError, match="broke off"):
                _ = [event async for event in claw.send_message("hello", session="story")]
            (broken,) = [each for each in await claw.store.messages(session.id) if each.is_incomplete]
            shown, _ = await claw.next_request(session="story")
            events = await resumed(claw)
            again = await resumed(claw)
            _ = [event async for event in claw.send_message("thanks", session="story")]
            return broken, shown, events, again

    with ModelServer([hang_up_after(BEGINNING), text("The answer."), text("Welcome.")]) as server:
        broken, shown, events, again = asyncio.run(run(server))
    assert broken.content == "The ans"
    assert [each.content for each in shown.messages] == ["hello", "The ans"], "a message would follow"
    assert events[-1] == again[0] == TurnFinishedEvent("story", "The answer.")
    first, second, third = ([each["role"] for each in body["messages"]] for body in server.bodies)
    assert first == second == ["system", "user"]
    assert third == ["system", "user", "assistant", "user"], "the prompt cache holds"


def test_an_answer_that_was_stopped_is_asked_for_again(tmp_path):
    async def run(server):
        async with home_with(tmp_path, server) as (claw, _):
            async with contextlib.aclosing(claw.send_message("hello", session="story")) as events:
                async for event in events:
                    if isinstance(event, TextEvent):
                        break
            return await resumed(claw)

    with ModelServer([silence(BEGINNING), text("The answer.")]) as server:
        events = asyncio.run(run(server))
    assert events[-1].text == "The answer."


def test_a_message_after_a_broken_answer_shows_it_to_the_model(tmp_path):
    async def run(server):
        async with home_with(tmp_path, server) as (claw, _):
            with pytest.raises(ProviderError, match="broke off"):
                _ = [event async for event in claw.send_message("hello", session="story")]
            _ = [event async for event in claw.send_message("go on", session="story")]

    with ModelServer([hang_up_after(BEGINNING), text("wer.")]) as server:
        asyncio.run(run(server))
    assert [each["content"] for each in server.bodies[1]["messages"][1:]] == ["hello", "The ans", "go on"]


def test_what_cannot_be_resumed_is_said(tmp_path):
    async def run(server):
        async with home_with(tmp_path, server) as (claw, _):
            with pytest.raises(UsageError, match="session 'story' has no turn to resume: send it a message"):
                await resumed(claw)
            with pytest.raises(NotFoundError, match="there is no session 'other'"):
                await resumed(claw, "other", model=MODEL)
            assert len(await claw.store.list_sessions()) == 1

    with ModelServer([]) as server:
        asyncio.run(run(server))


def test_a_turn_that_still_runs_is_not_resumed(tmp_path):
    async def run(server):
        async with (
            home_with(tmp_path, server) as (claw, session),
            claw.store.session_lock(session.id, 0),
            home_with(tmp_path, server) as (other, _),
        ):
            await claw.store.append(session.id, [user(), call("c0", "look")])
            with pytest.raises(SessionBusyError, match="'story' is busy"):
                await resumed(other)
            return await claw.store.count_messages(session.id)

    with ModelServer([]) as server:
        assert asyncio.run(run(server)) == 2
