"""Events of a turn: for people (text on stdout, tool calls on stderr) and for programs (JSON lines on stdout)."""

from __future__ import annotations

import json
import os
import sys
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any, Protocol, TextIO, runtime_checkable

from oneclaw_core.cli.output import (
    coloured_changes,
    is_terminal,
    print_json,
    print_text,
    printable,
    printable_line,
    shown_on,
    terminal_size,
    write_stderr,
)
from oneclaw_core.secrets.redaction import redact
from oneclaw_core.types import events

if TYPE_CHECKING:
    from asyncio import TimerHandle
    from collections.abc import AsyncIterator, Iterator

    from oneclaw_core.types.events import TurnEvent
    from oneclaw_core.types.tools import ToolResult

_ARGUMENTS_CHARACTERS = 60
_RESULT_CHARACTERS = 60
_ERROR_CHARACTERS = 160
_VERBOSE_CHARACTERS = 10_000
# How long an answer pauses until text that may be withdrawn is written all the same.
_UNSURE_SECONDS = 2.0
_ERASE_LINE = "\r\x1b[K"


class TurnView:
    """Shows turns, one after the other.

    On a terminal, a line that is overwritten says which tools run just now.

    Args:
        answer: takes the text of answers; a stream gets it as it is.
        status: the line; by default at the end of the terminal, if it can be drawn there.
        is_plain: True to draw nothing anew, and to use words for symbols.

    Attributes:
        is_verbose: True to show arguments and results of tool calls whole.
    """

    def __init__(
        self, answer: TextIO | AnswerText, status: OverwrittenLine | None = None, *, is_plain: bool = False
    ) -> None:
        self.is_verbose = False
        self._bullet, self._dots = ("tool", ":") if is_plain else ("•", " …")
        self._answer = answer if isinstance(answer, AnswerText) else _PlainText(answer)
        self._running: dict[str, events.ToolCallEvent] = {}
        self._progress: dict[str, str] = {}
        self._inner_calls: dict[str, int] = {}
        self._is_thinking = False
        self._has_text = False
        self._is_for_people = isinstance(answer, AnswerText) or is_terminal(answer)
        self._unsure: list[str] = []  # text that may be withdrawn, as long as it is not written
        self._pause_timer: TimerHandle | None = None
        self._status = status or _StatusLine(is_plain=is_plain)
        # What happens while the terminal is somebody else's.
        self._held_back: list[TurnEvent | str] | None = None

    def show(self, event: TurnEvent) -> None:
        """Show an event, or keep it until the terminal is free."""
        if self._held_back is not None:
            self._held_back.append(event)
        elif isinstance(event, events.TextEvent):
            self._write_text(event.text, is_unsure=event.may_be_withdrawn)
        elif isinstance(event, events.TextWithdrawnEvent):
            self._withdraw(event.text)
        elif isinstance(event, events.ReasoningEvent):
            self._write_reasoning(event.text)
        elif isinstance(event, events.ToolCallEvent):
            self._begin_call(event)
        elif isinstance(event, events.ToolProgressEvent):
            share = "" if event.fraction is None else f" {event.fraction:.0%}"
            self._progress[event.id] = f"{event.message}{share}"
            self._draw_status()
        elif isinstance(event, events.ToolResultEvent):
            self._end_call(event)
        elif isinstance(event, events.RetryEvent):
            delay = f" in {event.delay_seconds:.1f} s" if event.delay_seconds else ""
            self._write_line(f"{printable_line(event.reason)}; trying again{delay}", dim=True)
        elif isinstance(event, events.SteeredEvent):
            self._write_line(f"> {printable(event.text)}", bold=True)
        elif isinstance(event, events.ModelSwitchedEvent | events.NoticeEvent | events.CompactedEvent):
            self._write_line(printable_line(event.notice), dim=True)
        elif isinstance(event, events.TurnFinishedEvent):
            if not self._has_text:
                self._write_text(event.text)
            self.finish()
            if event.notice is not None:
                self._write_line(event.notice, fg="yellow")

    @asynccontextmanager
    async def giving_way(self) -> AsyncIterator[None]:
        """Leave the terminal to a question while the block runs; what happens meanwhile is shown after it."""
        self._pause()
        self._held_back = []
        try:
            yield
        finally:
            held_back, self._held_back = self._held_back or [], None
            for each in held_back:
                if isinstance(each, str):
                    print_text(each)
                else:
                    self.show(each)
            self._draw_status()

    def tell(self, line: str) -> None:
        """Show a line that belongs to no turn, or keep it until the terminal is free."""
        if self._held_back is not None:
            self._held_back.append(line)
        else:
            print_text(line)

    def finish(self) -> None:
        """End the line that is being shown, whether or not the turn came to its end."""
        self._pause()
        self._running.clear()
        self._progress.clear()
        self._inner_calls.clear()
        self._has_text = False

    def _pause(self) -> None:
        self._write_unsure()
        self._status.erase()
        self._end_thought_line()
        self._answer.end()

    def _write_text(self, text: str, *, is_unsure: bool = False) -> None:
        if not text:
            return
        self._status.erase()
        self._end_thought_line()
        self._has_text = True
        if is_unsure and not self._is_for_people:  # a script cannot take back what it has read
            self._hold(text)
        else:
            self._write_unsure()
            self._answer.write(text)

    def _hold(self, text: str) -> None:
        """Keep text that may be withdrawn, until the answer pauses or ends."""
        import asyncio

        self._unsure.append(text)
        if self._pause_timer is not None:
            self._pause_timer.cancel()
        with suppress(RuntimeError):  # no loop runs
            self._pause_timer = asyncio.get_running_loop().call_later(_UNSURE_SECONDS, self._write_unsure)

    def _write_unsure(self) -> None:
        if self._pause_timer is not None:
            self._pause_timer.cancel()
            self._pause_timer = None
        text = "".join(self._unsure)
        self._unsure.clear()
        if text:
            self._answer.write(text)

    def _withdraw(self, text: str) -> None:
        """Say that the text of the answer so far was none."""
        is_shown = not self._unsure
        self._unsure.clear()
        self._has_text = False
        if is_shown:
            self._write_line("what stands above are the thoughts of the model; its answer follows", dim=True)
        else:
            self._write_reasoning(text)

    def _write_reasoning(self, text: str) -> None:
        """Show what the model thinks on stderr, if everything is shown."""
        if self.is_verbose and text:
            self._status.erase()
            self._answer.end()
            self._is_thinking = not text.endswith("\n")
            write_stderr(printable(text), dim=True)

    def _end_thought_line(self) -> None:
        if self._is_thinking:
            self._is_thinking = False
            write_stderr("\n")

    def _write_line(self, line: str, **style: Any) -> None:
        self._pause()
        write_stderr(line, "\n", **style)

    def _begin_call(self, event: events.ToolCallEvent) -> None:
        if event.parent_id is not None:
            self._inner_calls[event.parent_id] = self._inner_calls.get(event.parent_id, 0) + 1
            if self.is_verbose:
                self._write_line(f"    {self._bullet} {_call_line(event.name, event.arguments)}", dim=True)
            return
        self._pause()
        self._has_text = False
        self._running[event.id] = event
        if self.is_verbose:
            arguments = json.dumps(event.arguments, ensure_ascii=False, indent=2)
            self._write_line(f"{self._bullet} {printable_line(event.name)}\n{_indented(arguments)}", dim=True)
        self._draw_status()

    def _end_call(self, event: events.ToolResultEvent) -> None:
        style = {"dim": True} if event.result.is_success else {"fg": "red"}
        duration = _duration(event.duration_ms)
        if event.parent_id is not None:
            if self.is_verbose:
                outcome = f"{_summary(event.result, is_short=False)} {duration}"
                self._write_line(f"    {self._bullet} {printable_line(event.name)}{self._dots} {outcome}", **style)
            return
        call = self._running.pop(event.id, None)
        self._progress.pop(event.id, None)
        name = _call_line(event.name, call.arguments if call and not self.is_verbose else {})
        outcome = _summary(event.result, is_short=self.is_verbose)
        if count := self._inner_calls.pop(event.id, 0):
            name = f"{name} ({count} {'call' if count == 1 else 'calls'})"
        line = f"{self._bullet} {name}{self._dots} {outcome}"
        if event.result.is_success and is_terminal(sys.stderr):
            # One row; the result says more with /verbose.
            shown = cut_to_width(line, terminal_size()[0] - 1 - len(duration) - 2)
            line = line if shown == line else f"{shown}…"
        self._write_line(f"{line} {duration}", **style)
        if self.is_verbose:
            self._write_line(_indented(event.result.text()), dim=True)
        elif event.result.shown:
            self._write_line(coloured_changes(_indented(redact(str(event.result.shown))), sys.stderr))
        self._draw_status()

    def _draw_status(self) -> None:
        if len(self._running) == 1:
            [(call_id, call)] = self._running.items()
            progress = self._progress.get(call_id, "")
            self._status.draw(f"• {_call_line(call.name, call.arguments)} … {printable_line(progress, 60)}".rstrip())
        elif self._running:
            names = ", ".join(printable_line(call.name) for call in self._running.values())
            self._status.draw(f"• {len(self._running)} tools are running: {names}")


@runtime_checkable
class AnswerText(Protocol):
    """Shows the text of answers."""

    def write(self, text: str) -> None:
        """Show a piece of an answer; it need not be whole lines."""
        ...

    def end(self) -> None:
        """End the line that is open, if there is one: something else follows."""
        ...


class _PlainText:
    """Writes answers as they are."""

    def __init__(self, stdout: TextIO) -> None:
        self._stdout = stdout
        self._is_at_line_start = True

    def write(self, text: str) -> None:
        """Write a piece at once."""
        self._is_at_line_start = text.endswith("\n")
        self._stdout.write(shown_on(self._stdout, text))
        self._stdout.flush()

    def end(self) -> None:
        """End the line."""
        if not self._is_at_line_start:
            self.write("\n")


class OverwrittenLine(Protocol):
    """A line about what runs just now."""

    def draw(self, text: str) -> None:
        """Show a text."""
        ...

    def erase(self) -> None:
        """Leave no trace of it."""
        ...


class _StatusLine:
    """A line at the end of the terminal that is overwritten."""

    def __init__(self, *, is_plain: bool) -> None:
        self._is_shown = False
        self._can_be_shown = not is_plain and is_terminal(sys.stderr) and os.environ.get("TERM", "dumb") != "dumb"

    def draw(self, text: str) -> None:
        """Show a text, cut to the width of the terminal."""
        if not self._can_be_shown:
            return
        self._is_shown = True
        write_stderr(_ERASE_LINE)
        write_stderr(cut_to_width(text, terminal_size()[0] - 1), dim=True)

    def erase(self) -> None:
        """Leave no trace of it."""
        if self._is_shown:
            self._is_shown = False
            write_stderr(_ERASE_LINE)


def cut_to_width(text: str, width: int) -> str:
    """Cut a text to a number of columns."""
    used = 0
    for position, character in enumerate(text):
        # Beyond ASCII some characters are two columns wide; to take all for it costs a few columns only.
        used += 1 if character.isascii() else 2
        if used > width > 0:
            return text[:position]
    return text


def _call_line(name: str, arguments: Any) -> str:
    if isinstance(arguments, dict) and arguments.get("purpose") and ("code" in arguments or "continues" in arguments):
        arguments = {"purpose": arguments["purpose"]}  # of a script, which says more than the beginning of its code
    return f"{printable_line(name, 64)} {_short_arguments(arguments)}".rstrip()


def _short_arguments(arguments: Any) -> str:
    values = arguments.values() if isinstance(arguments, dict) else [arguments]
    texts = (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in values)
    return printable_line(" ".join(text[:_ARGUMENTS_CHARACTERS] for text in texts), _ARGUMENTS_CHARACTERS)


def _summary(result: ToolResult, *, is_short: bool) -> str:
    error_type = printable_line(result.error_type or "")
    if is_short:
        return error_type or "success"
    # A result can be a whole file; its beginning is enough.
    text = printable_line(result.text()[:1000], _RESULT_CHARACTERS if result.is_success else _ERROR_CHARACTERS)
    return text or "done" if result.is_success else f"{error_type}: {text}"


def _duration(milliseconds: float) -> str:
    if milliseconds < 1:
        return "<1 ms"
    return f"{milliseconds:.0f} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"


def _indented(text: str) -> str:
    shown = printable(text[:_VERBOSE_CHARACTERS])
    more = f"\n… {len(text) - _VERBOSE_CHARACTERS:,} characters more" if len(text) > _VERBOSE_CHARACTERS else ""
    return "\n".join("    " + line for line in (shown + more).splitlines())


class EventLines:
    """Prints events; stands where :class:`~oneclaw_core.cli.rendering.TurnView` shows turns to people.

    Args:
        stdout: where they go.
    """

    def __init__(self, stdout: TextIO) -> None:
        self._stdout = stdout

    def show(self, event: TurnEvent) -> None:
        """Print an event."""
        print_json(event.to_dict(), indent=None, stream=self._stdout)

    def fail(self, error: Exception) -> None:
        """Print that a turn failed, so that the events alone say why the last one is missing."""
        document = {"event": "error", "error_type": type(error).__name__, "message": redact(str(error))}
        print_json(document, indent=None, stream=self._stdout)

    def giving_way(self) -> AbstractAsyncContextManager[None]:
        """Do nothing: a question to the user goes to stderr."""
        return nullcontext()

    def finish(self) -> None:
        """Do nothing: every line is whole."""


@contextmanager
def failures_as_events(stdout: TextIO | None) -> Iterator[None]:
    """Print as an event why the block fails, and let it fail.

    Args:
        stdout: where events go; ``None`` to print none.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except Exception as error:
        if stdout is not None:
            EventLines(stdout).fail(error)
        raise
