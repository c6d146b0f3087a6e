"""`oneclaw sessions`."""

import asyncio
import io
import json
import os
import sqlite3
import stat
import sys
from contextlib import closing
from pathlib import Path

import pytest
from databases import backend_of
from how_long import some

from oneclaw_core import Message, MessageType, OneClaw, ToolCallStatus, ToolResultEvent
from oneclaw_core.scripts.journal import ScriptCall
from oneclaw_core.sessions.store import Store
from oneclaw_core.system.home import find_home
from oneclaw_core.testing import Cassette

LONG_RESULT = "\n".join(f"line {number} with ``` in it" for number in range(200))


def in_store(work):
    async def run():
        home = find_home()
        home.create()
        async with await Store.open(backend_of(home.database_url), lock_directory=home.locks) as store:
            return await work(store)

    return asyncio.run(run())


async def tell_story(store, name="story", title="About the weather"):
    session = await store.create_session(name, agent="General Assistant", model="offline/rules", title=title)
    await store.append(
        session.id,
        [
            Message(type=MessageType.USER, content="Wie ist das Wetter, 世界?"),
            Message(type=MessageType.ASSISTANT, content="", provider_data={"opaque": "wire"}),
            Message(
                type=MessageType.TOOL_CALL,
                tool_call_id="call_1",
                tool_name="look_at_sky",
                tool_input='{"where": "Köln"}',
                tool_status=ToolCallStatus.PENDING,
            ),
        ],
    )
    await store.finish_calls(
        session.id,
        [
            Message(
                type=MessageType.TOOL_RESULT,
                content=LONG_RESULT,
                tool_call_id="call_1",
                tool_name="look_at_sky",
                tool_status=ToolCallStatus.SUCCESS,
                duration_ms=12.4,
                shown_characters=100,
            )
        ],
    )
    await store.append(session.id, [Message(type=MessageType.ASSISTANT, content="Blau.")])
    return session


@pytest.fixture
def story(home):
    return in_store(tell_story)


@pytest.fixture
def typed(monkeypatch):
    """What the user types at a terminal."""

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    def type_in(text):
        monkeypatch.setattr(sys, "stdin", Terminal(text))

    return type_in


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))


def test_sessions_are_listed_with_the_one_used_last_first(ok, home):
    first = in_store(lambda store: tell_story(store, "first"))
    in_store(lambda store: tell_story(store, "second", "About\nnothing"))

    second, listed = ok("sessions", "list", "--json")

    assert second["name"] == "second"
    assert listed.pop("created_at").endswith("Z")
    assert listed.pop("updated_at").endswith("Z")
    assert listed == {
        "id": first.id,
        "name": "first",
        "title": "About the weather",
        "agent": "General Assistant",
        "model": "offline/rules",
        "parent_id": None,
        "message_count": 5,
    }
    assert "About nothing" in ok("sessions", "list")
    assert [each["name"] for each in ok("sessions", "list", "--limit", "1", "--json")] == ["second"]


def test_a_new_home_has_no_sessions(ok):
    assert ok("sessions", "list", "--json") == []


def test_a_session_is_shown_readably(ok, story):
    shown = ok("sessions", "show", "story")

    assert "You: Wie ist das Wetter, 世界?" in shown
    assert '-> look_at_sky {"where": "Köln"}' in shown
    assert "<- success, 12 ms: line 0 with" in shown
    assert "line 199" not in shown
    assert "OneClaw: Blau." in shown


@pytest.mark.parametrize("length", [32, 12])
def test_a_session_is_found_by_its_id_too(ok, story, length):
    assert ok("sessions", "show", story.id[:length], "--json")["name"] == "story"


def test_a_session_is_shown_in_full_as_json(ok, story):
    document = ok("sessions", "show", "story", "--json")

    assert document["id"] == story.id
    user, _, call, result, answer = document["messages"]
    assert user["content"] == "Wie ist das Wetter, 世界?"
    assert (call["tool_name"], call["tool_input"], call["tool_status"]) == (
        "look_at_sky",
        '{"where": "Köln"}',
        "success",
    )
    assert (result["content"], result["duration_ms"]) == (LONG_RESULT, 12.4)
    assert answer["type"] == "assistant"
    assert user["sequence"] < call["sequence"] < result["sequence"] < answer["sequence"]


@pytest.mark.parametrize("is_terminal", some([True, False], 2))
def test_escape_sequences_in_a_conversation_do_not_reach_a_terminal(ok, home, monkeypatch, tmp_path, is_terminal):
    async def hostile(store):
        session = await store.create_session("hostile", agent="General Assistant")
        await store.append(session.id, [Message(type=MessageType.USER, content="\x1b]0;gotcha\x07 \x9b31m\x7f")])

    in_store(hostile)
    if is_terminal:
        monkeypatch.setattr("oneclaw_core.cli.output.is_terminal", lambda stream: True)
        monkeypatch.setattr("oneclaw_database.export.is_terminal", lambda stream: True)

    export = ("export", "hostile")
    files = [tmp_path / "hostile.md", tmp_path / "hostile.json"]
    ok("sessions", *export, "--output", str(files[0]))
    ok("sessions", *export, "--format", "json", "--output", str(files[1]))
    shown = [ok("sessions", *each) for each in (("show", "hostile"), export, (*export, "--format", "json"))]
    for each in (*shown, *(file.read_text() for file in files)):
        assert "gotcha" in each
        assert not {"\x1b", "\x07", "\x7f", "\x9b"} & set(each)
    assert json.loads(shown[2]) == json.loads(files[1].read_text())


def test_an_export_as_json_is_what_is_shown_as_json(ok, story, tmp_path):
    shown = ok("sessions", "show", "story", "--json")
    file = tmp_path / "story.json"

    assert json.loads(ok("sessions", "export", "story", "--format", "json")) == shown
    assert ok("sessions", "export", "story", "--format", "json", "--output", str(file)) == ""
    assert json.loads(file.read_bytes()) == shown
    assert "世界" in file.read_text("utf-8")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.long
def test_an_export_over_a_file_that_others_can_read_closes_it(ok, story, tmp_path):
    file = tmp_path / "story.md"
    file.write_text("x" * 100_000)
    file.chmod(0o644)
    ok("sessions", "export", "story", "--output", str(file))
    assert file.read_text("utf-8") == ok("sessions", "export", "story")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_file_that_cannot_be_closed_to_others_is_left_as_it_is(oneclaw, story, tmp_path, monkeypatch):
    def refuse(descriptor, mode):
        raise PermissionError(1, "Operation not permitted")

    file = tmp_path / "story.md"
    file.write_text("mine")
    monkeypatch.setattr(os, "fchmod", refuse)
    outcome = oneclaw("sessions", "export", "story", "--output", str(file))
    assert outcome.status == 1
    assert "cannot be written: Operation not permitted" in outcome.stderr
    assert file.read_text() == "mine"


def test_an_export_can_go_to_what_is_no_file(ok, story):
    mode = stat.S_IMODE(Path(os.devnull).stat().st_mode)
    assert ok("sessions", "export", "story", "--output", os.devnull) == ""
    assert stat.S_IMODE(Path(os.devnull).stat().st_mode) == mode


@pytest.mark.parametrize(
    "name", some(["two\nlines", "a\ttab", "\x1b[31mred", "\x9b31m", "back\u202ewards", "a\u2028b", "\x7f"], 3)
)
def test_a_session_is_not_given_a_name_with_control_characters(oneclaw, ok, name):
    outcome = oneclaw("run", "--session", name, "Hello")
    assert (outcome.status, outcome.stdout) == (2, "")
    assert "must hold no line ends or other control characters" in outcome.stderr
    assert name not in outcome.stderr
    assert ok("sessions", "list", "--json") == []


@pytest.mark.long
def test_a_session_is_given_a_name_in_any_script(ok, oneclaw):
    name = "Wörk 世界 👩\u200d🔬 !"
    assert oneclaw("run", "--session", name, "Hello").status == 0
    assert [each["name"] for each in ok("sessions", "list", "--json")] == [name]
    assert name in ok("sessions", "list")


@pytest.mark.long
def test_a_name_with_control_characters_from_elsewhere_is_shown_escaped(ok, oneclaw, home, story):
    name = "two\nlines\t\x1b[31m\u202e"
    with closing(sqlite3.connect(home / "oneclaw.db")) as database, database:
        database.execute("UPDATE sessions SET name = ?, title = NULL", (name,))
    shown = r"two\nlines\t\x1b[31m\u202e"
    assert shown in ok("sessions", "list")
    assert ok("sessions", "show", name).startswith(f"{shown} (")
    assert ok("sessions", "list", "--json")[0]["name"] == name
    assert oneclaw("run", "--session", name, "Hello").status == 0
    assert shown in ok("usage", "--by", "session")
    assert ok("sessions", "delete", name, "--yes") == f"session {shown} is deleted\n"


def test_an_export_as_markdown_has_the_results_whole(ok, story):
    markdown = ok("sessions", "export", "story")

    assert markdown.startswith("# About the weather\n\n- Session: story (")
    assert "## User\n\nWie ist das Wetter, 世界?\n" in markdown
    assert '### Call of `look_at_sky`\n\n```json\n{"where": "Köln"}\n```\n' in markdown
    assert f"### Result of `look_at_sky` (success, 12 ms)\n\n````\n{LONG_RESULT}\n````\n" in markdown
    assert markdown.endswith("## Assistant\n\nBlau.\n")


def test_an_empty_session_is_exported_as_json(ok, home):
    in_store(lambda store: store.create_session("empty", agent="General Assistant"))

    assert json.loads(ok("sessions", "export", "empty", "--format", "json"))["messages"] == []


@pytest.mark.long
def test_a_history_of_several_pages_is_exported_whole(ok, home):
    async def talk(store):
        session = await store.create_session("long", agent="General Assistant")
        await store.append(session.id, [Message(type=MessageType.USER, content=str(number)) for number in range(1203)])

    in_store(talk)

    messages = json.loads(ok("sessions", "export", "long", "--format", "json"))["messages"]
    assert [message["content"] for message in messages] == [str(number) for number in range(1203)]


def test_an_export_to_where_nothing_can_be_written_says_so(oneclaw, story, tmp_path):
    outcome = oneclaw("sessions", "export", "story", "--output", str(tmp_path / "nowhere" / "story.md"))

    assert outcome.status == 1
    assert "cannot be written: No such file or directory" in outcome.stderr


@pytest.mark.parametrize("command", ["show", "export", "delete"])
def test_a_session_that_is_not_there_is_wrong_usage(oneclaw, command):
    outcome = oneclaw("sessions", command, "nobody")

    assert (outcome.status, outcome.stdout) == (2, "")
    assert "there is no session 'nobody'; list them with: oneclaw sessions list" in outcome.stderr


def test_without_a_terminal_nothing_is_deleted_unless_told(oneclaw, ok, story):
    outcome = oneclaw("sessions", "delete", "story")

    assert outcome.status == 2
    assert "add --yes" in outcome.stderr
    assert len(ok("sessions", "list", "--json")) == 1

    assert ok("sessions", "delete", "story", "--yes") == "session story is deleted\n"
    assert ok("sessions", "list", "--json") == []


def test_at_a_terminal_the_user_is_asked(oneclaw, ok, story, typed):
    typed("n\n")
    outcome = oneclaw("sessions", "delete", "story")
    assert outcome.status == 1
    assert "Delete session story with its 5 messages?" in outcome.stderr
    assert len(ok("sessions", "list", "--json")) == 1

    typed("y\n")
    assert oneclaw("sessions", "delete", "story").status == 0
    assert ok("sessions", "list", "--json") == []


def test_a_session_in_the_middle_of_a_turn_is_not_deleted(oneclaw, ok, story):
    from filelock import FileLock

    locks = find_home().locks
    with FileLock(locks / f"{story.id}.lock"):
        outcome = oneclaw("sessions", "delete", "story", "--yes")

    assert outcome.status == 1
    assert "is busy" in outcome.stderr
    assert len(ok("sessions", "list", "--json")) == 1


@pytest.mark.long
def test_a_session_is_exported_as_a_cassette_that_replays_it(ok, oneclaw, tmp_path):
    assert oneclaw("run", "--session", "clock", "What time is it?").status == 0
    file = tmp_path / "tests" / "cassettes" / "clock.json"

    assert ok("sessions", "export", "clock", "--cassette", str(file)) == f"wrote 2 answers to {file}\n"

    async def replay():
        async with OneClaw.open(tmp_path / "other", plugins=["builtin"], environ={}) as claw:
            cassette = Cassette(file)
            events = [each async for each in claw.send_message("What time is it?", model=cassette)]
            assert [each.name for each in events if isinstance(each, ToolResultEvent)] == ["get_current_time"]
            return events[-1].text, cassette.unused

    answer, unused = asyncio.run(replay())
    assert unused == ()
    assert answer in ok("sessions", "show", "clock")


def test_a_cassette_of_a_session_holds_no_stored_key(ok, oneclaw, monkeypatch, tmp_path):
    secret = "sk-stored-4711-abcdefgh"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(secret.encode())))
    assert oneclaw("keys", "set", "openai").status == 0
    assert oneclaw("run", "--session", "leak", f"Say {secret}").status == 0
    file = tmp_path / "leak.json"

    ok("sessions", "export", "leak", "--cassette", str(file))

    assert secret not in file.read_text()
    assert "Say [redacted]" in file.read_text()


def test_a_session_without_an_answer_is_no_cassette(oneclaw, home, tmp_path):
    in_store(lambda store: store.create_session("empty", agent="General Assistant", model=None, title=None))
    outcome = oneclaw("sessions", "export", "empty", "--cassette", str(tmp_path / "empty.json"))
    assert outcome.status == 1
    assert "the session has no answer of a model" in outcome.stderr


def test_the_calls_of_a_session_are_listed_with_those_of_scripts(ok, monkeypatch):
    monkeypatch.setenv("LAB_API_KEY", "lab-0123456789-0123456789")

    async def work(store):
        await tell_story(store)
        session = await store.find_session("story")
        await store.begin_script(session.id, "call_1", json.dumps({"code": "x", "purpose": "look around"}))
        common = {"call_id": "call_1", "occurrence": 0, "arguments": '{"where":"Bern"}'}
        done = ScriptCall(**common, key="a", number=1, tool="look", state="done", result='"sun"', duration_ms=2.0)
        begun = ScriptCall(**common, key="b", number=2, tool="send", state="started")
        secret = {**common, "arguments": '{"key":"lab-0123456789-0123456789"}'}
        failed = ScriptCall(**secret, key="c", number=3, tool="put", state="done", result="No.", error_type="refused")
        await store.note_script_calls(session.id, [done, begun, failed])

    in_store(work)
    assert ok("sessions", "show", "story", "--calls").splitlines() == [
        'look_at_sky {"where": "Köln"}: success, 12 ms',
        '    1. look {"where":"Bern"}: success, 2 ms',
        '    2. send {"where":"Bern"}: unknown',
        '    3. put {"key":"[redacted]"}: refused',
    ]
    [call] = ok("sessions", "show", "story", "--calls", "--json")
    assert [each["status"] for each in call["calls"]] == ["success", "unknown", "error"]
    exported = json.loads(ok("sessions", "export", "story", "--format", "json"))
    assert [(each["purpose"], len(each["calls"])) for each in exported["scripts"]] == [("look around", 3)]
