"""The calls of scripts as JSON data, for people and programs."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from oneclaw_core.scripts.hidden_secrets import without_placeholders
from oneclaw_core.scripts.script_call import ScriptCallState
from oneclaw_core.secrets.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_core.scripts.script_call import ScriptCall

_SHOWN_CHARACTERS = 2_000


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
        call |= {"state": str(row.state), "status": status, "arguments": shown_text(row.arguments)}
        script["calls"].append(call | {"result": None if row.result is None else shown_text(row.result)})
        scripts[row.call_id] = script
    return list(scripts.values())


def shown_text(text: str) -> str:
    """Return the beginning of a text of a call, without known keys."""
    text = without_placeholders(text)
    return redact(text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…")
