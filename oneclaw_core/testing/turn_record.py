"""What happened in a turn, kept for a test to look at."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from oneclaw_core.types.events import GroupLoadedEvent, ToolCallEvent, ToolResultEvent, TurnFinishedEvent

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Iterable, Sequence

    from oneclaw_core.types.events import TurnEvent
    from oneclaw_core.types.tools import ToolResult

_SHOWN_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class CalledTool:
    """A tool call with its result.

    Attributes:
        name: of the tool.
        arguments: the JSON object it was called with; the text as it came if it was none.
        result: what it was answered.
    """

    name: str
    arguments: Any
    result: ToolResult

    def __str__(self) -> str:
        return f"{self.name}({shown(self.arguments)}) → {shown_result(self.result)}"


class ToolCalls(Protocol):
    """What assertions about calls look at: a turn, or all that happened in a home."""

    @property
    def tool_calls(self) -> Sequence[CalledTool]:
        """The calls in the order of their results."""
        ...

    @property
    def loaded_groups(self) -> Sequence[str]:
        """The tool groups that were loaded, in this order."""
        ...


@dataclass(frozen=True)
class TurnRecord:
    """All that happened from a message to the final answer.

    Attributes:
        text: the final answer.
        events: everything, as ``send_message`` yields it.
        tool_calls: the calls with their results, in the order of the results.
        loaded_groups: the tool groups that were loaded in this turn.
    """

    text: str
    events: tuple[TurnEvent, ...]
    tool_calls: tuple[CalledTool, ...]
    loaded_groups: tuple[str, ...]

    @classmethod
    def of(cls, events: Iterable[TurnEvent]) -> TurnRecord:
        """Sort the events of one turn."""
        happened = tuple(events)
        arguments = {event.id: event.arguments for event in happened if isinstance(event, ToolCallEvent)}
        return cls(
            text="".join(event.text for event in happened if isinstance(event, TurnFinishedEvent)),
            events=happened,
            tool_calls=tuple(
                CalledTool(event.name, arguments.get(event.id), event.result)
                for event in happened
                if isinstance(event, ToolResultEvent)
            ),
            loaded_groups=tuple(event.group for event in happened if isinstance(event, GroupLoadedEvent)),
        )

    @classmethod
    async def collect(cls, events: AsyncIterable[TurnEvent]) -> TurnRecord:
        """Let a turn run to its end, for async tests: ``await TurnRecord.collect(app.send_message(...))``."""
        return cls.of([event async for event in events])

    def __str__(self) -> str:
        return "\n".join([*map(str, self.tool_calls), f"answer: {self.text}"])


def shown(value: object) -> str:
    """Write a value into a message, cut if it is long."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…"


def shown_result(result: ToolResult) -> str:
    """Write a tool result into a message."""
    if result.is_success:
        return shown(result.result)
    return f"{result.error_type}: {shown(result.error_message)}"


def shown_calls(record: ToolCalls) -> str:
    """List the calls of a turn in a message, a line each."""
    calls = [f"\n  {call}" for call in record.tool_calls]
    return "".join(calls) or "\n  (no tool was called)"
