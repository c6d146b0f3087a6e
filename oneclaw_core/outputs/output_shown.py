"""Show the parts of an output while the model writes it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from oneclaw_core.outputs.form import NOT_YET
from oneclaw_core.outputs.turn_output import TurnOutput
from oneclaw_core.types.events import OutputEvent
from oneclaw_core.types.model_requests import ArgumentsDelta, TextDelta, TextWithdrawn

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from oneclaw_core.turn.state import Answer, Ask
    from oneclaw_core.types.model_requests import ModelEvent
    from oneclaw_core.types.steps import Handler

# The part is read again once a fiftieth more has arrived.
_NEXT_PART = 50


async def output_shown(ask: Ask, run: Handler[Ask, Answer]) -> Answer:
    """Emit the part of the output that has arrived, after each piece of the answer that adds to it."""
    output = ask.turn.ending
    if not isinstance(output, TurnOutput) or ask.purpose != "answer":
        return await run(ask)
    part = _Part(output)

    async def show_both(event: ModelEvent, value: Any) -> None:
        if (shown := ask.show(event)) is not None:
            await shown
        await ask.turn.emit(OutputEvent(value))

    def show(event: ModelEvent) -> Awaitable[None] | None:
        value = part.after(event)
        return ask.show(event) if value is NOT_YET else show_both(event, value)

    return await run(replace(ask, show=show))


class _Part:
    """The part of an output that has arrived."""

    def __init__(self, output: TurnOutput) -> None:
        self._output = output
        self._pieces: list[str] = []
        self._length = self._next = 0

    def after(self, event: ModelEvent) -> Any:
        """Take a piece of the answer; return the part of the output so far, ``NOT_YET`` if there is nothing new."""
        if isinstance(event, TextWithdrawn):
            self._pieces.clear()
            self._length = self._next = 0
        if not isinstance(event, (TextDelta, ArgumentsDelta)):
            return NOT_YET
        if not self._output.comes_from(event.tool if isinstance(event, ArgumentsDelta) else None):
            return NOT_YET
        self._pieces.append(event.text)
        self._length += len(event.text)
        if self._length < self._next:
            return NOT_YET
        self._next = self._length + self._length // _NEXT_PART
        return self._output.form.part_of("".join(self._pieces))
