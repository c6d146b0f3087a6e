"""Records of turns, and assertions about tool calls, tool groups and permissions; each says what happened instead."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from oneclaw_core.types.events import GroupLoadedEvent, ToolCallEvent, ToolResultEvent, TurnFinishedEvent

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Iterable, Mapping, Sequence

    from oneclaw_core.permissions.requests import PermissionRequest
    from oneclaw_core.testing.scripted import ScriptedUser
    from oneclaw_core.types.events import TurnEvent
    from oneclaw_core.types.model_requests import ModelRequest
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
    """Tool calls of a turn, or of everything that happened in a home."""

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
        tool_calls: the calls of the model with their results, in the order of the results.
        loaded_groups: the tool groups that were loaded in this turn.
        inner_calls: the calls that running tools made, in the order of their results.
    """

    text: str
    events: tuple[TurnEvent, ...]
    tool_calls: tuple[CalledTool, ...]
    loaded_groups: tuple[str, ...]
    inner_calls: tuple[CalledTool, ...] = ()

    @classmethod
    def of(cls, events: Iterable[TurnEvent]) -> TurnRecord:
        """Sort the events of one turn."""
        happened = tuple(events)
        arguments = {event.id: event.arguments for event in happened if isinstance(event, ToolCallEvent)}

        def calls(*, are_inner: bool) -> tuple[CalledTool, ...]:
            return tuple(
                CalledTool(event.name, arguments.get(event.id), event.result)
                for event in happened
                if isinstance(event, ToolResultEvent) and (event.parent_id is not None) == are_inner
            )

        return cls(
            text="".join(event.text for event in happened if isinstance(event, TurnFinishedEvent)),
            events=happened,
            tool_calls=calls(are_inner=False),
            inner_calls=calls(are_inner=True),
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


def assert_tool_called(
    record: ToolCalls, name: str, arguments: Mapping[str, Any] | None = None, /, **named: Any
) -> CalledTool:
    """Assert that a tool was called, whatever came of it.

    Args:
        record: a turn, or the fixture ``oneclaw`` for everything so far.
        name: of the tool.
        arguments: some or all of those it was called with.
        named: the same, as keyword arguments.

    Returns:
        The first call that fits.
    """
    __tracebackhide__ = True
    wanted = dict(arguments or {}) | named
    for call in record.tool_calls:
        if call.name == name and _includes(call.arguments, wanted):
            return call
    with_arguments = f" with {shown(wanted)}" if wanted else ""
    raise AssertionError(f"{name} was not called{with_arguments}; called were:{shown_calls(record)}")


def assert_tool_not_called(record: ToolCalls, name: str) -> None:
    """Assert that a tool was not called.

    Args:
        record: a turn, or the fixture ``oneclaw`` for everything so far.
        name: of the tool.
    """
    __tracebackhide__ = True
    if any(call.name == name for call in record.tool_calls):
        raise AssertionError(f"{name} was called; called were:{shown_calls(record)}")


def assert_group_loaded(record: ToolCalls, group: str) -> None:
    """Assert that a tool group was loaded.

    Args:
        record: a turn, or the fixture ``oneclaw`` for everything so far.
        group: its name.
    """
    __tracebackhide__ = True
    if group not in record.loaded_groups:
        loaded = ", ".join(record.loaded_groups) or "none"
        raise AssertionError(
            f"the tool group {group!r} was not loaded; loaded: {loaded}; called were:{shown_calls(record)}"
        )


def assert_group_not_loaded(record: ToolCalls, group: str) -> None:
    """Assert that a tool group was not loaded.

    Args:
        record: a turn, or the fixture ``oneclaw`` for everything so far.
        group: its name.
    """
    __tracebackhide__ = True
    if group in record.loaded_groups:
        raise AssertionError(f"the tool group {group!r} was loaded; called were:{shown_calls(record)}")


def assert_tool_succeeded(result: ToolResult | CalledTool) -> Any:
    """Assert that a tool did what it was asked.

    Returns:
        The value of its result.
    """
    __tracebackhide__ = True
    found = result.result if isinstance(result, CalledTool) else result
    if not found.is_success:
        raise AssertionError(f"{_named(result)} failed with {found.error_type}: {found.error_message}")
    return found.result


def assert_tool_error(result: ToolResult | CalledTool, error_type: str, match: str | None = None) -> str:
    """Assert that a tool was answered with an error.

    Args:
        result: of the call.
        error_type: such as ``validation_error`` or one of the tool's own.
        match: a regular expression that occurs in the message for the model.

    Returns:
        The message.
    """
    __tracebackhide__ = True
    found = result.result if isinstance(result, CalledTool) else result
    if found.is_success:
        raise AssertionError(f"{_named(result)} succeeded, though {error_type} was expected: {shown_result(found)}")
    message = found.error_message or ""
    if found.error_type != error_type:
        raise AssertionError(f"{_named(result)} failed with {found.error_type}, not {error_type}: {message}")
    if match is not None and not re.search(match, message):
        raise AssertionError(f"the message of the {error_type} does not match {match!r}: {message}")
    return message


def assert_permission_asked(user: ScriptedUser, permission: str, match: str | None = None) -> PermissionRequest:
    """Assert that the user was asked for a permission.

    Args:
        user: ``oneclaw.user``.
        permission: its name.
        match: a regular expression that occurs in what the tool said it was about to do.

    Returns:
        The first question that fits.
    """
    __tracebackhide__ = True
    for request in user.asked:
        if request.permission == permission and (match is None or re.search(match, request.detail)):
            return request
    asked = "".join(f"\n  {request.permission}: {request.detail or '(no detail)'}" for request in user.asked)
    about = f", with a detail that matches {match!r}" if match is not None else ""
    raise AssertionError(
        f"the user was not asked for {permission}{about}; asked was for:{asked or chr(10) + '  nothing'}"
    )


def assert_tool_offered(request: ModelRequest, name: str) -> None:
    """Assert that a request offered a tool to the model.

    Args:
        request: such as ``model.requests[0]``.
        name: of the tool.
    """
    __tracebackhide__ = True
    if name not in request.tools.names:
        raise AssertionError(
            f"the model was not offered {name}; it was offered: {', '.join(each.name for each in request.tools)}"
        )


def assert_tool_not_offered(request: ModelRequest, name: str) -> None:
    """Assert that a request did not offer a tool to the model, such as one of a group that was not loaded yet.

    Args:
        request: such as ``model.requests[0]``.
        name: of the tool.
    """
    __tracebackhide__ = True
    if name in request.tools.names:
        raise AssertionError(
            f"the model was offered {name}; it was offered: {', '.join(each.name for each in request.tools)}"
        )


def _includes(arguments: object, wanted: Mapping[str, Any]) -> bool:
    if not wanted:
        return True
    return isinstance(arguments, dict) and all(
        name in arguments and arguments[name] == value for name, value in wanted.items()
    )


def _named(result: ToolResult | CalledTool) -> str:
    return f"{result.name}({shown(result.arguments)})" if isinstance(result, CalledTool) else "the call"
