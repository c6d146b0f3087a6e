"""Attachments that the calls of a script return for the model: shown only if the script returns their names."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oneclaw_core import Attachment, ToolResult

MAX_KEPT_BYTES = 100_000_000
MAX_LISTED = 20
_MAX_FILE_NAME_CHARACTERS = 60
_KEY_CHARACTERS = 8
_NAME = re.compile(rf"attachment:[0-9a-f]{{{_KEY_CHARACTERS}}}(?:\.\d+){{1,2}}")


class CallAttachments:
    """The attachments for the model that the calls of one script had, by names that are the same in each run of it."""

    def __init__(self) -> None:
        self._kept: dict[str, Attachment] = {}
        self._described: dict[str, str] = {}
        self._size_bytes = 0

    def named(self, tool: str, call_id: str, result: ToolResult) -> ToolResult:
        """Return the result of a call with the names of its attachments in its value.

        A text gets a line for each, an object the member ``attachments``. Other values stay as they are.

        Args:
            tool: that was called.
            call_id: ends in a hash of the tool and the arguments, and the count of such calls.
            result: of the call.
        """
        _, key, occurrence = call_id.rsplit(".", 2)
        lines = []
        for place, each in enumerate(each for each in result.attachments if not each.is_for_user):
            name = f"attachment:{key[:_KEY_CHARACTERS]}.{occurrence}{f'.{place}' if place else ''}"
            file_name = " ".join(each.name.split())[:_MAX_FILE_NAME_CHARACTERS]
            lines.append(f"{name} ({file_name}, {each.media_type})")
            self._described[name] = f"{name} ({each.media_type}, of {tool})"
            self._size_bytes += each.size
            if self._size_bytes <= MAX_KEPT_BYTES:
                self._kept[name] = each
        value = result.result
        if lines and isinstance(value, str):
            return replace(result, result="\n".join([*([value] if value else []), *(f"[{each}]" for each in lines)]))
        if lines and isinstance(value, dict) and "attachments" not in value:
            return replace(result, result={**value, "attachments": lines})
        return result

    def returned(self, text: str) -> tuple[tuple[Attachment, ...], str]:
        """Return the attachments that a script returns, and a note for the model on the others, ``""`` for none.

        Args:
            text: of the value that the script returns.
        """
        names = dict.fromkeys(_NAME.findall(text))
        others = [described for name, described in self._described.items() if name not in names]
        lost = [name for name in names if name not in self._kept]
        notes = []
        if others:
            more = f", and {len(others) - MAX_LISTED} more" if len(others) > MAX_LISTED else ""
            notes.append(f"Not shown: {', '.join(others[:MAX_LISTED])}{more}. To look at one, return its name.")
        if lost:
            notes.append(f"No longer kept: {', '.join(lost[:MAX_LISTED])}. To look at one, call its tool again.")
        return tuple(self._kept[name] for name in names if name in self._kept), "\n".join(notes)
