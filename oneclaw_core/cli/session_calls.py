"""The calls of tools in a session, with those that scripts made, as `oneclaw sessions show --calls` lists them."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from oneclaw_core.cli.output import print_json, print_text, printable_line
from oneclaw_core.scripts.script_call import ScriptCallState
from oneclaw_core.secrets.redaction import redact
from oneclaw_core.types.messages import MessageType

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Iterable, Sequence

    from oneclaw_core.scripts.script_call import ScriptCall
    from oneclaw_core.sessions.store import Store
    from oneclaw_core.types.messages import Message

_SHOWN_CHARACTERS = 2_000
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
                "arguments": _shown(message.tool_input or ""),
                "status": str(message.tool_status),
                "calls": inner.get(call_id, []),
            }
        elif message.type is MessageType.TOOL_RESULT and call_id in calls:
            calls[call_id] |= {
                "status": str(message.tool_status),
                "error_type": message.error_type,
                "result": _shown(message.content),
                "duration_ms": message.duration_ms,
            }
    return list(calls.values())


def script_documents(rows: Iterable[ScriptCall]) -> list[dict[str, Any]]:
    """Return stored scripts with their calls as JSON data, without known keys.

    Args:
        rows: of a session, as they are stored.
    """
    scripts: dict[str, dict[str, Any]] = {}
    for row in rows:
        script = scripts.setdefault(row.call_id, {"call": row.call_id, "calls": []})
        if row.number == 0:
            about = json.loads(row.arguments)
            script |= {"state": str(row.state), "purpose": about.get("purpose", "")}
            if "continues" in about:
                script["continues"] = about["continues"]
            continue
        call = {name: value for name, value in asdict(row).items() if name not in ("call_id", "key", "marks")}
        is_unknown = row.state is ScriptCallState.STARTED
        status = "unknown" if is_unknown else "success" if row.error_type is None else "error"
        call |= {"state": str(row.state), "status": status, "arguments": _shown(row.arguments)}
        script["calls"].append(call | {"result": None if row.result is None else _shown(row.result)})
        scripts[row.call_id] = script
    return list(scripts.values())


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


def _shown(text: str) -> str:
    return redact(text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…")
