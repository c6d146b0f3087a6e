"""Attachments that the calls of a script return for the model: shown only if the script returns their names."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from oneclaw_core.tools.calls.answered import MAX_KEPT_ATTACHMENT_BYTES

if TYPE_CHECKING:
    from oneclaw_core.types.messages import Attachment
    from oneclaw_core.types.tools import ToolResult

MAX_NAMED = 20
_MAX_FILE_NAME_CHARACTERS = 60
_KEY_CHARACTERS = 8
_NAME = re.compile(rf"attachment:[0-9a-f]{{{_KEY_CHARACTERS}}}(?:\.\d+){{1,2}}")


class ScriptAttachments:
    """The attachments for the model that the calls of one script had, by names that are the same in each run of it."""

    def __init__(self) -> None:
        self._found: dict[str, Attachment] = {}
        self._described: dict[str, str] = {}
        self._size_bytes = 0

    def named(self, result: ToolResult, tool: str, key: str, occurrence: int) -> ToolResult:
        """Return the result of a call with the names of its attachments in its value, for the script.

        A text gets a line for each, an object the member ``attachments``. Other values stay as they are.

        Args:
            result: of the call.
            tool: that was called.
            key: of the call, the same for the same tool and arguments; hexadecimal digits.
            occurrence: counts those, from 0.
        """
        lines = []
        for place, each in enumerate(each for each in result.attachments if not each.is_for_user):
            name = f"attachment:{key[:_KEY_CHARACTERS]}.{occurrence}{f'.{place}' if place else ''}"
            file_name = " ".join(each.name.split())[:_MAX_FILE_NAME_CHARACTERS]
            lines.append(f"{name} ({file_name}, {each.media_type})")
            self._described[name] = f"{name} ({each.media_type}, of {tool})"
            self._size_bytes += len(each.data)
            if self._size_bytes <= MAX_KEPT_ATTACHMENT_BYTES:
                self._found[name] = each
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
        lost = [name for name in names if name not in self._found]
        notes = []
        if others:
            more = f", and {len(others) - MAX_NAMED} more" if len(others) > MAX_NAMED else ""
            notes.append(f"Not shown: {', '.join(others[:MAX_NAMED])}{more}. To look at one, return its name.")
        if lost:
            notes.append(f"No longer kept: {', '.join(lost[:MAX_NAMED])}. To look at one, call its tool again.")
        return tuple(self._found[name] for name in names if name in self._found), "\n".join(notes)
