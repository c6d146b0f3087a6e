"""Results that a model was shown a part of: their handles, the part, and the whole result."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_core.types.previews import json_preview, text_preview
from oneclaw_core.types.text import compact_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oneclaw_core.types.messages import Message
    from oneclaw_core.types.tools import ToolResult

READ_FILE = "read_file"
RESULT_PREFIX = "result:"
_HANDLE = re.compile(r"r[1-9][0-9]{0,17}")
_LISTED = 20
_LISTED_CHARACTERS = 120
_LIST_HEADING = "[Long results that read_file still reads]"


def handle_of_call(sequence: int) -> str:
    """Return the handle of the result of a call.

    Args:
        sequence: of the stored call: no other call of any session has it.
    """
    return f"r{sequence}"


def call_of_handle(handle: str) -> int:
    """Return the ``sequence`` of the call that a handle was made for."""
    return int(handle[1:])


def handle_in(path: str) -> str | None:
    """Return the handle in a path such as ``result:r12``; ``None`` for the path of a file."""
    handle = path.removeprefix(RESULT_PREFIX)
    return handle if handle != path and _HANDLE.fullmatch(handle) else None


def is_handle(text: str) -> bool:
    """Return True if a text is the handle of a result."""
    return _HANDLE.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class KeptResult:
    """A whole result of a tool, which a model was shown a part of.

    Attributes:
        handle: such as ``r12``.
        tool_name: the tool called.
        value: text, or JSON data.
        outside: where text of others in it comes from; empty if there is none.
    """

    handle: str
    tool_name: str
    value: Any
    outside: str = ""

    @classmethod
    def of(cls, message: Message) -> KeptResult:
        """Return the result in an entry of a history."""
        value = json.loads(message.content) if message.is_json else message.content
        outside = next((each.origin for each in message.marks if each.is_outside), "")
        return cls(message.result_handle or "", message.tool_name or "", value, outside)


def shown_of_result(result: ToolResult, text: str, handle: str, room: int) -> str:
    """Write what a model is shown of a long result: a preview, and how to read the rest.

    Args:
        result: the whole result.
        text: the same as text.
        handle: by which it is read.
        room: how much is shown, in characters.

    Returns:
        At most that many characters, JSON for a structured value; stored with the result, so that it never changes.
    """
    path = f"{RESULT_PREFIX}{handle}"
    if not result.is_success or isinstance(result.result, str):
        missing = (
            "\n[cut here: {:,} of {:,} characters are not shown; read_file reads them: path {!r}, with part or search]"
        )
        note = missing.format(len(text), len(text), path)
        shown = max(room - len(note) - 60, room // 2)
        return text_preview(text, shown) + missing.format(len(text) - shown, len(text), path)
    whole = {
        "cut": path,
        "characters": len(text),
        "note": "only a preview; read_file reads the rest: this path, with pointer, part or search",
    }
    rest = room - len(compact_json(whole)) - len(',"preview":')
    return compact_json({**whole, "preview": json_preview(result.result, rest)})


def without_kept_results(summary: str | None) -> str | None:
    """Return a summary without the list that :func:`with_kept_results` added; ``None`` for nothing."""
    return (summary or "").partition(_LIST_HEADING)[0].rstrip() or None


def with_kept_results(summary: str, earlier: str | None, summarised: Sequence[Message]) -> str:
    """Add a list of the results that can still be read to a summary of the messages that they stand in.

    Args:
        summary: as the model wrote it.
        earlier: the summary of what came before; its list is continued.
        summarised: the messages that the summary stands for.
    """
    lines = (earlier or "").partition(_LIST_HEADING)[2].strip().splitlines()
    calls = {each.tool_call_id: each.tool_input or "" for each in summarised if each.tool_input is not None}
    for each in summarised:
        if each.result_handle is not None:
            called = " ".join(f"{each.tool_name} {calls.get(each.tool_call_id, '')}".split())
            lines.append(f"{RESULT_PREFIX}{each.result_handle}: {called}"[:_LISTED_CHARACTERS])
    summary = summary.partition(_LIST_HEADING)[0].rstrip()
    return "\n".join([summary, "", _LIST_HEADING, *lines[-_LISTED:]]) if lines else summary
