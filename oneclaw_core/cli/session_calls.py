"""The calls of tools in a session, with those that scripts made, as `oneclaw sessions show --calls` lists them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_core.cli.output import print_json, print_text, printable_line
from oneclaw_core.scripts.journal import script_documents, shown_text
from oneclaw_core.types.messages import MessageType

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Sequence

    from oneclaw_core.sessions.store import Store
    from oneclaw_core.types.messages import Message

_LINE_CHARACTERS = 100


async def calls_of(store: Store, session_id: str, messages: AsyncIterable[Message]) -> list[dict[str, Any]]:
    """Return the calls of a session in their order, each with the calls of the script that it ran.

    Args:
        store: of the session.
        session_id: of the session.
        messages: of the session.
    """
    inner: dict[str, list[dict[str, Any]]] = {}
    for script in script_documents(await store.script_calls(session_id)):
        inner[script["call"]] = script["calls"]
    calls: dict[str, dict[str, Any]] = {}
    async for message in messages:
        call_id = message.tool_call_id or ""
        if message.type is MessageType.TOOL_CALL:
            calls[call_id] = {
                "id": call_id,
                "tool": message.tool_name,
                "arguments": shown_text(message.tool_input or ""),
                "status": str(message.tool_status),
                "calls": inner.get(call_id, []),
            }
        elif message.type is MessageType.TOOL_RESULT and call_id in calls:
            calls[call_id] |= {
                "status": str(message.tool_status),
                "error_type": message.error_type,
                "result": shown_text(message.content),
                "duration_ms": message.duration_ms,
            }
    return list(calls.values())


def print_calls(calls: Sequence[dict[str, Any]], *, as_json: bool) -> None:
    """Print calls, each in a line, with those of scripts below.

    Args:
        calls: from :func:`calls_of`.
        as_json: True to print JSON.
    """
    if as_json:
        print_json(list(calls))
        return
    for call in calls:
        print_text(_line(call))
        for each in call["calls"]:
            print_text(f"    {each['number']}. {_line(each)}")


def _line(call: dict[str, Any]) -> str:
    about = call["arguments"]
    outcome = call["status"] if call.get("error_type") is None else call["error_type"]
    duration = "" if call.get("duration_ms") is None else f", {call['duration_ms']:.0f} ms"
    return f"{printable_line(call['tool'] or '')} {printable_line(about, _LINE_CHARACTERS)}: {outcome}{duration}"
