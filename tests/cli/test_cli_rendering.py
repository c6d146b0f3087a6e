import io
import re
from contextlib import redirect_stderr

import pytest

from oneclaw_core import TokenUsage, ToolResult
from oneclaw_core.cli.rendering import TurnView
from oneclaw_core.types.events import (
    GroupLoadedEvent,
    ReasoningEvent,
    RetryEvent,
    TextEvent,
    ToolCallEvent,
    ToolProgressEvent,
    ToolResultEvent,
    TurnFinishedEvent,
    UsageEvent,
)
from oneclaw_core.types.messages import StopReason

pytestmark = pytest.mark.lowest_versions

ERASE = "\r\x1b[K"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def streams():
    """Stdout and stderr of a program that no one watches."""
    return io.StringIO(), io.StringIO()


@pytest.fixture
def terminal(monkeypatch):
    """A terminal without colours."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    return Terminal()


def show(streams, *events, is_verbose=False):
    stdout, stderr = streams
    with redirect_stderr(stderr):
        view = TurnView(stdout)
        view.is_verbose = is_verbose
        for event in events:
            view.show(event)
    return view


def call(number, name="work", **arguments):
    return ToolCallEvent(f"call_{number}", name, arguments)


def result(number, value="done", name="work", duration_ms=12.4):
    return ToolResultEvent(f"call_{number}", name, ToolResult.success(value), duration_ms)


def test_what_the_model_thinks_ends_its_line_once_before_all_else(streams):
    # Both go to one terminal.
    both = io.StringIO()
    show(
        (both, both),
        ReasoningEvent("Let me "),
        ReasoningEvent("think."),
        TextEvent("Well: "),
        ReasoningEvent("Hm.\n"),
        ToolCallEvent("call_1", "work", {}),
        result(1),
        ReasoningEvent("So"),
        TurnFinishedEvent("s", "Done."),
        is_verbose=True,
    )
    lines = re.sub(r"\d+ ms", "12 ms", both.getvalue()).splitlines()
    assert lines[:5] == ["Let me think.", "Well: ", "Hm.", "• work", "    {}"]
    assert lines[-2:] == ["So", "Done."]
    assert both.getvalue().endswith("Done.\n")


def test_a_thought_that_the_user_stops_ends_its_line(streams):
    _, stderr = streams
    view = show(streams, ReasoningEvent("Let me"), is_verbose=True)
    with redirect_stderr(stderr):
        view.finish()
        view.finish()
    assert stderr.getvalue() == "Let me\n"


def test_text_is_written_as_it_comes_and_ends_its_line_once(streams):
    stdout, stderr = streams
    show(
        streams,
        TextEvent("One "),
        TextEvent("two."),
        UsageEvent("x/y", TokenUsage()),
        TurnFinishedEvent("s", "One two."),
    )
    assert (stdout.getvalue(), stderr.getvalue()) == ("One two.\n", "")


def test_a_final_text_that_was_not_streamed_is_shown(streams):
    stdout, _ = streams
    show(streams, TextEvent("First."), call(1), result(1), TurnFinishedEvent("s", "Last."))
    assert stdout.getvalue() == "First.\nLast.\n"


def test_a_call_is_one_short_line(streams):
    _, stderr = streams
    long = "x" * 1000
    show(
        streams,
        call(1, path="a.pdf", pages=[1, 2], note=long),
        result(1, {"text": long}),
        GroupLoadedEvent("g", ("a",)),
    )
    (line,) = stderr.getvalue().splitlines()
    assert line.startswith("• work a.pdf [1, 2] xxx")
    assert line.endswith("… 12 ms")
    assert len(line) < 150


@pytest.mark.parametrize(
    ("value", "duration_ms", "end"),
    [("", 0.2, "… done <1 ms"), ("two\nlines", 999.4, "… two lines 999 ms"), (7, 61_000, "… 7 61.0 s")],
)
def test_a_result_is_summed_up_with_its_duration(streams, value, duration_ms, end):
    _, stderr = streams
    show(streams, call(1), result(1, value, duration_ms=duration_ms))
    assert stderr.getvalue() == f"• work {end}\n"


def test_an_error_says_its_type_and_message(streams):
    _, stderr = streams
    failed = ToolResultEvent("call_1", "work", ToolResult.error("not_found", "There is no\nsuch file."), 3)
    show(streams, ToolCallEvent("call_1", "work", "no json"), failed)
    assert stderr.getvalue() == "• work no json … not_found: There is no such file. 3 ms\n"


def test_waiting_for_another_try_is_told(streams):
    _, stderr = streams
    show(streams, RetryEvent("the service is overloaded", 2))
    assert stderr.getvalue() == "the service is overloaded; trying again in 2.0 s\n"
    show(streams, RetryEvent("the service takes no images", 0))
    assert stderr.getvalue().endswith("the service takes no images; trying again\n")


def test_verbose_shows_the_whole_of_a_result_within_reason(streams):
    _, stderr = streams
    show(streams, call(1, a=1), result(1, "line\n" * 10_000), is_verbose=True)
    lines = stderr.getvalue().splitlines()
    assert lines[:5] == ["• work", "    {", '      "a": 1', "    }", "• work … success 12 ms"]
    assert lines[5] == "    line"
    assert lines[-1] == "    … 40,000 characters more"


def test_on_a_terminal_a_running_tool_is_a_line_that_gives_way(terminal):
    show(
        (terminal, terminal),
        TextEvent("Let me see."),
        call(1, path="a"),
        ToolProgressEvent("call_1", "work", "page 3", 0.5),
        result(1),
        TextEvent("Done."),
    )
    assert terminal.getvalue() == (
        f"Let me see.\n{ERASE}• work a …{ERASE}• work a … page 3 50%{ERASE}• work a … done 12 ms\nDone."
    )


def test_on_a_terminal_tools_that_run_side_by_side_share_the_line(terminal):
    show((terminal, terminal), call(1, "one"), call(2, "two"), result(2, name="two"), result(1, name="one"))
    shown = [line for line in terminal.getvalue().replace("\n", ERASE).split(ERASE) if line]
    assert shown == [
        "• one …",
        "• 2 tools are running: one, two",
        "• two … done 12 ms",
        "• one …",
        "• one … done 12 ms",
    ]
    assert terminal.getvalue().endswith("• one … done 12 ms\n")


def test_the_line_never_fills_the_terminal(terminal):
    show((terminal, terminal), call(1, "tool", text="日本語" * 30))
    (line,) = (line for line in terminal.getvalue().split(ERASE) if line)
    assert len(line) < 60


def test_a_turn_that_is_cut_short_leaves_no_line_behind(terminal):
    view = show((terminal, terminal), call(1))
    with redirect_stderr(terminal):
        view.finish()
        view.show(TextEvent("next"))
    assert terminal.getvalue() == f"{ERASE}• work …{ERASE}next"


def test_an_answer_that_is_cut_off_is_followed_by_a_notice(streams):
    stdout, stderr = streams
    show(streams, TextEvent("Half of"), TurnFinishedEvent("s", "Half of", StopReason.LENGTH_LIMIT))
    assert stdout.getvalue() == "Half of\n"
    [notice] = stderr.getvalue().splitlines()
    assert notice.startswith("the answer is cut off")


SCRIPT = (
    ToolCallEvent("call_1", "js_eval", {"code": "await tools.look({})", "purpose": "Sum the orders"}),
    ToolCallEvent("call_1.a.0", "look", {"id": 7}, parent_id="call_1"),
    ToolResultEvent("call_1.a.0", "look", ToolResult.success("found"), 3.0, parent_id="call_1"),
    ToolCallEvent("call_1.b.0", "put", {"id": 8}, parent_id="call_1"),
    ToolResultEvent("call_1.b.0", "put", ToolResult.error("not_found", "No such."), 3.0, parent_id="call_1"),
    ToolResultEvent("call_1", "js_eval", ToolResult.success("42"), 12.4),
)


def test_a_script_is_one_line_with_its_purpose(streams):
    _, stderr = streams
    show(streams, *SCRIPT)
    assert stderr.getvalue() == "• js_eval Sum the orders (2 calls) … 42 12 ms\n"


def test_a_script_unfolds_to_its_calls_where_everything_is_shown(streams):
    _, stderr = streams
    show(streams, *SCRIPT, is_verbose=True)
    lines = stderr.getvalue().splitlines()
    assert [each for each in lines if each.startswith("    •")] == [
        "    • look 7",
        "    • look … found 3 ms",
        "    • put 8",
        "    • put … not_found: No such. 3 ms",
    ]
