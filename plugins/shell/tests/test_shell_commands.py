"""Commands in the background, as a model uses them, on real processes."""

import asyncio
import re
import sys
from pathlib import Path

import pytest
from oneclaw_shell.output_file import OutputFile, read_output
from pytest_oneclaw import assert_tool_error

from oneclaw_core import MessageType, tool
from oneclaw_core.types.provenance import FileState

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
needs_bubblewrap = pytest.mark.needs("bubblewrap")
LOAD = ("load_tool_group", {"group_name": "background"})


@pytest.fixture
def oneclaw_plugins():
    return ["shell"]


@pytest.fixture
def home(oneclaw_factory):
    """A home without a sandbox, whose user lets everything run."""
    made = oneclaw_factory(("shell",), environ={"ONECLAW_SANDBOX": "off"})
    made.user.says("once")
    return made


def turn(home, *calls):
    """Have the model make calls, one after the other; return their results."""
    for name, arguments in calls:
        home.model.calls(name, arguments)
    home.model.then("Done.")
    return [each.result for each in home.send("Go on.").tool_calls]


def started(home, command, **arguments):
    """Start a command that runs for longer; return its id."""
    *_, result = turn(home, LOAD, ("start_command", {"command": command, **arguments}))
    assert "runs in" in result.text(), result
    return re.search(r"cmd-[0-9a-f]{8}", result.result)[0]


def gate(home):
    """A pipe that a command waits for, and the command that does."""
    path = home.home.workspace / "gate"
    return path, f"mkfifo {path}; echo first; read line < {path}; echo $line; exit 3"


async def ended(home):
    """Wait until nothing runs in the background any more."""
    while home.app.background.here():
        await asyncio.sleep(0.01)


def test_a_command_goes_on_after_the_turn_and_its_output_is_read_in_parts(home):
    path, command = gate(home)
    command_id = started(home, command)
    (read,) = turn(home, ("read_command_output", {"id": command_id}))
    assert re.fullmatch(rf"\[{command_id}: running for \d+ s\]\nfirst", read.result)

    path.write_text("second\n")
    again, listed, whole = turn(
        home,
        ("read_command_output", {"id": command_id, "wait_seconds": 20}),
        ("list_commands", {}),
        ("read_command_output", {"id": command_id, "all": True}),
    )

    assert re.fullmatch(rf"\[{command_id}: exit code 3 after \d+ s\]\nsecond", again.result)
    assert f"{command_id}: exit code 3 after" in listed.result
    assert "first\nsecond" in whole.result
    assert [(each.permission, each.tool_name) for each in home.user.asked] == [("shell.execute", "start_command")]


@pytest.mark.long
def test_the_model_is_told_of_the_end_with_the_next_message(home):
    path, command = gate(home)
    command_id = started(home, command)
    path.write_text("on\n")
    home.run(ended(home))
    home.model.then("I see.")
    home.send("And now?")
    news = f"Ended in the background:\n- command {command_id}: ended, exit code 3"
    assert home.model.requests[-1].messages[-1].content == (
        f'And now?\n\n<context plugin="oneclaw">\n{news}\n</context>'
    )


@pytest.mark.long
def test_the_model_is_told_of_the_end_behind_the_results_of_tools(home):
    path, command = gate(home)
    command_id = started(home, command)

    @tool
    async def open_gate() -> str:
        """Let the command go on, and wait for its end."""
        path.write_text("on\n")
        await ended(home)
        return "open"

    home.app.catalog.registry.register(open_gate)
    turn(home, ("open_gate", {}))

    result, news = home.model.requests[-1].messages[-2:]
    assert (result.type, news.type) == (MessageType.TOOL_RESULT, MessageType.USER)
    assert news.content.endswith(f"- command {command_id}: ended, exit code 3\n</context>")
    home.model.then("Nothing new.")
    home.send("And now?")
    assert home.model.requests[-1].messages[-1].content == "And now?"


def test_stopping_ends_all_that_it_has_started(home):
    word = "31.41592"
    command_id = started(home, f"sleep {word} & sleep {word}")
    stopped, read = turn(home, ("stop_command", {"id": command_id}), ("read_command_output", {"id": command_id}))
    assert stopped.result == f"Command {command_id} is stopped."
    assert "[no output]\n[stopped, with all that it had started]" in read.result
    assert not any(word.encode() in each.read_bytes() for each in Path("/proc").glob("[0-9]*/cmdline") if each.exists())


def test_the_end_of_the_program_ends_it_and_is_reported(home):
    word = "27.18281"
    command_id = started(home, f"echo hello; sleep {word}")
    home.reopen()
    (read,) = turn(home, ("read_command_output", {"id": command_id}))
    assert read.result == f"[{command_id}: interrupted]\nhello\n[ended with the program that had started it]"
    assert home.run(home.app.background.all_work()) == []


@tool(reads=["outside"])
async def read_page() -> str:
    """Read a page."""
    return "a page"


@pytest.mark.long
def test_files_that_it_writes_after_its_call_hold_what_the_conversation_holds(home):
    path, _ = gate(home)
    home.app.catalog.registry.register(read_page)
    turn(home, LOAD, ("read_page", {}), ("start_command", {"command": f"mkfifo {path}; cat {path} > made"}))
    path.write_text("of the page\n")
    home.run(ended(home))

    made = home.home.workspace / "made"
    times = made.stat()
    state = FileState(str(made), times.st_mtime_ns, times.st_ctime_ns)
    ((marks, _),) = home.run(home.app.store.file_marks([state]))
    assert "outside" in {str(each.kind) for each in marks}


def test_a_command_that_fails_at_once_and_one_that_is_none(home):
    *_, failed = turn(home, LOAD, ("start_command", {"command": "echo no >&2; exit 7"}))
    assert re.match(r"\[cmd-\w+: exit code 7 after 0 s\]\nno", failed.result)
    *_, late = turn(home, ("start_command", {"command": "sleep 20", "max_seconds": 1}))
    command_id = re.search(r"cmd-[0-9a-f]{8}", late.result)[0]
    unknown, over = turn(
        home,
        ("read_command_output", {"id": "cmd-none"}),
        ("read_command_output", {"id": command_id, "wait_seconds": 20}),
    )
    assert_tool_error(unknown, "not_found")
    assert "exit code -1, timed out after 1 s" in over.result
    assert_tool_error(home.call_tool("start_command", command="true"), "not_available")
    assert_tool_error(turn(home, ("start_command", {"command": "  "}))[0], "validation_error")


def test_a_denied_command_does_not_start(home):
    home.user.says("no")
    *_, denied = turn(home, LOAD, ("start_command", {"command": "echo hello"}))
    assert_tool_error(denied, "permission_denied")
    assert home.run(home.app.background.all_work()) == []


@pytest.mark.long
@needs_bubblewrap
def test_it_runs_in_the_sandbox_of_exec_without_a_question(oneclaw_factory):
    home = oneclaw_factory(("shell",))
    *_, result = turn(home, LOAD, ("start_command", {"command": "echo a > made; touch /etc/made-by-a-test"}))
    assert (home.home.workspace / "made").read_text() == "a\n"
    assert '"permission": ""' in result.result
    assert home.user.asked == []


def test_of_a_long_output_the_end_is_kept(tmp_path):
    output = OutputFile(tmp_path / "log", max_bytes=100)
    for number in range(50):
        output.feed(b"line %02d\n" % number)
    output.close()
    content, gone, end = read_output(tmp_path / "log", output.dropped, 10)
    assert len(content) <= 100
    assert content.endswith(b"line 48\nline 49\n")
    assert (gone + 10 + len(content), end) == (400, 400)
    assert read_output(tmp_path / "log", output.dropped, 400) == (b"", 0, 400)


@pytest.mark.long
def test_what_it_registers(definitions_snapshot):
    definitions_snapshot()
