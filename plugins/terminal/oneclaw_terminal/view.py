"""Turns in the terminal of `oneclaw chat`: Markdown as it arrives, and what runs just now."""

from __future__ import annotations

import os
import sys
import time
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from oneclaw_core import GroupLoadedEvent, ModelSwitchedEvent, UsageEvent
from oneclaw_core.cli import TurnView, cut_to_width, dollars, printable, printable_line, styled

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from oneclaw_channels import Conversation

    from oneclaw_core import TurnEvent
    from oneclaw_core.channels import SessionStatus
    from oneclaw_terminal.markdown import Block, MarkdownBlocks
    from oneclaw_terminal.screen import ChatScreen

# Drawing may take this share of the time, however slow it is.
_DRAWING_SHARE = 0.2
# On a narrower terminal, the status line leaves out the provider.
_WIDE_COLUMNS = 60


@runtime_checkable
class Verbosity(Protocol):
    """A view that can show arguments and results of tool calls whole."""

    is_verbose: bool


class ChatView:
    """Shows turns above the line that is typed.

    Attributes:
        screen: where; set before the first event.
    """

    screen: ChatScreen

    def __init__(self) -> None:
        self.status = StatusLine()
        self._answer = _Answer(lambda: self.screen.columns)
        self._running = _LiveLine(self._changed)
        self._turns = TurnView(self._answer, self._running)
        self._drawn = ""
        self._is_current = False
        self._draw_after = 0.0

    @property
    def is_verbose(self) -> bool:
        """True to show arguments and results of tool calls whole."""
        return self._turns.is_verbose

    @is_verbose.setter
    def is_verbose(self, value: bool) -> None:
        self._turns.is_verbose = value

    def show(self, event: TurnEvent) -> None:
        """Show an event."""
        self.status.note(event)
        self._turns.show(event)
        self._changed()

    def tell(self, line: str) -> None:
        """Show a line that belongs to no turn."""
        self._turns.tell(line)

    @asynccontextmanager
    async def giving_way(self) -> AsyncIterator[None]:
        """Leave the terminal to a question while the block runs."""
        async with self._turns.giving_way(), self.screen.giving_way():
            yield

    def finish(self) -> None:
        """End what is being shown."""
        self._turns.finish()

    def live(self, columns: int, rows: int) -> str:
        """Return what is not finished: the open block of the answer, and the tools that run."""
        if not self._is_current and time.monotonic() >= self._draw_after:
            began = time.monotonic()
            self._drawn = self._answer.open_block(columns)
            self._is_current = True
            self._draw_after = time.monotonic() + (time.monotonic() - began) / _DRAWING_SHARE
        lines = self._drawn.split("\n") if self._drawn else []
        if self._running.text:
            lines.append(styled(cut_to_width(self._running.text, columns - 1), sys.stdout, dim=True))
        return "\n".join(lines[-rows:])

    def _changed(self) -> None:
        self._is_current = False
        self.screen.refresh()


class _Answer:
    """Writes the finished blocks of an answer, and keeps the open one.

    Args:
        columns: returns the width of the terminal.
    """

    def __init__(self, columns: Callable[[], int]) -> None:
        self._columns = columns
        self._has_blocks = False

    @cached_property
    def _blocks(self) -> MarkdownBlocks:
        """The blocks of the answer. Made for the first one, since the parser takes long to load."""
        from oneclaw_terminal.markdown import MarkdownBlocks

        return MarkdownBlocks()

    def write(self, text: str) -> None:
        """Take a piece of the answer."""
        for block in self._blocks.add(printable(text)):
            self._print(block)

    def end(self) -> None:
        """Write the open block, and begin anew."""
        block = self._blocks.finish() if "_blocks" in self.__dict__ else None
        if block is not None:
            self._print(block)
        self._has_blocks = False

    def open_block(self, columns: int) -> str:
        """Return the open block as it is drawn, ``""`` for none."""
        if "_blocks" not in self.__dict__:
            return ""
        block = self._blocks.open_block()
        if not block.source.strip():
            return ""
        return self._gap(block) + _rendered(block, columns).rstrip("\n")

    def _print(self, block: Block) -> None:
        gap = self._gap(block)
        self._has_blocks = True
        sys.stdout.write(gap + _rendered(block, self._columns()))

    def _gap(self, block: Block) -> str:
        return "\n" if block.has_gap and self._has_blocks else ""


def _rendered(block: Block, columns: int) -> str:
    from oneclaw_terminal.markdown import render_markdown

    # One column less: a terminal that is full to its edge may begin another row.
    return render_markdown(block.source, columns - 1, has_colour=not os.environ.get("NO_COLOR"))


class _LiveLine:
    """Stands for the line that is overwritten: its text is drawn with the rest of the screen."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self.text = ""
        self._changed = changed

    def draw(self, text: str) -> None:
        self.text = text
        self._changed()

    def erase(self) -> None:
        self.text = ""


class StatusLine:
    """Says where the conversation stands on one line: what matters most comes first, and what has no room is left out.

    Attributes:
        known: from the store, ``None`` as long as it was not read.
        places: the directory, and whether it is trusted, in a long and a short form.
    """

    def __init__(self) -> None:
        self.known: SessionStatus | None = None
        self.places: tuple[str, ...] = ()
        self._tokens: int | None = None
        self._cost = 0.0
        self._groups: list[str] = []

    def take(self, status: SessionStatus) -> None:
        """Use what the store says; events come on top of it."""
        self.known = status
        self._tokens = status.context_tokens
        self._cost = status.usage.cost or 0.0
        self._groups = list(status.groups)

    def note(self, event: TurnEvent) -> None:
        """Take over what an event says."""
        if isinstance(event, UsageEvent):
            self._tokens = (event.usage.input_tokens or 0) + (event.usage.output_tokens or 0)
            self._cost += event.cost or 0.0
        elif isinstance(event, GroupLoadedEvent):
            self._groups.append(event.group)
        elif isinstance(event, ModelSwitchedEvent) and self.known is not None:
            self.known = replace(self.known, model=event.model)

    def text(self, columns: int, conversation: Conversation, *, is_busy: bool) -> str:
        """Return the line."""
        if self.known is None:
            return ""
        waiting = len(conversation.waiting) + len(conversation.steering)
        parts = [f"{waiting} waiting"] if waiting else []
        parts += ["Ctrl-C stops"] if is_busy else []
        model = printable_line(self.known.model)
        parts.append(model if columns >= _WIDE_COLUMNS else model.partition("/")[2])
        if self.known.context_window and self._tokens is not None:
            parts.append(f"context {min(self._tokens / self.known.context_window, 1):.0%}")
        elif self._tokens is not None:
            parts.append(f"{self._tokens:,} tokens")
        parts += [dollars(self._cost)] if self._cost else []
        parts += [printable_line(f"groups {', '.join(self._groups)}")] if self._groups else []
        line = cut_to_width(parts[0], columns)
        for part in (*parts[1:], *self.places[:1]):
            choices = self.places if part in self.places else (part,)
            longer = next((each for each in (f"{line} · {choice}" for choice in choices) if len(each) <= columns), None)
            if longer is None:
                break
            line = longer
        return line
