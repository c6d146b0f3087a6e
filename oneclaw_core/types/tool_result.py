"""What came back from a tool."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oneclaw_core.types.messages import Attachment

# What is kept of one result; a tool that says more has gone astray, or should write a file.
MAX_KEPT_CHARACTERS = 10_000_000


class ToolResultStatus(StrEnum):
    """Whether a tool did what it was asked."""

    SUCCESS = "success"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What came back from a tool: a value, or an error the model can act on (FEAT-004, "Tool Result Format").

    Made by :meth:`success` and :meth:`error`.

    Attributes:
        status: success or error.
        result: the value of a success, text or anything that JSON can hold.
        error_type: of an error, such as ``validation_error``.
        error_message: of an error, a sentence for the model.
        attachments: images or documents for the model to look at, where it can.
        loads_groups: tool groups that the turn loads after this call, as if the model had called ``load_tool_group``.
    """

    status: ToolResultStatus
    result: Any = None
    error_type: str | None = None
    error_message: str | None = None
    attachments: tuple[Attachment, ...] = ()
    loads_groups: tuple[str, ...] = ()

    @classmethod
    def success(
        cls, value: Any = "", attachments: tuple[Attachment, ...] = (), *, loads_groups: tuple[str, ...] = ()
    ) -> ToolResult:
        """Make the result of a tool that did what it was asked.

        Args:
            value: text, or anything that JSON can hold.
            attachments: images or documents for the model to look at.
            loads_groups: tool groups to load after this call, since what was asked for needs them.
        """
        return cls(ToolResultStatus.SUCCESS, result=value, attachments=attachments, loads_groups=loads_groups)

    @classmethod
    def error(cls, error_type: str, message: str) -> ToolResult:
        """Make the result of a tool that could not do what it was asked.

        Args:
            error_type: ``validation_error``, ``permission_denied``, ``timeout``, ``execution_error``, or a word of
                the tool's own in snake_case.
            message: what is wrong and what the model can do about it.
        """
        return cls(ToolResultStatus.ERROR, error_type=error_type, error_message=message)

    @property
    def is_success(self) -> bool:
        """Whether the tool did what it was asked."""
        return self.status is ToolResultStatus.SUCCESS

    def text(self) -> str:
        """The value or the error message as text; structured values as JSON."""
        if not self.is_success:
            return self.error_message or ""
        return self.result if isinstance(self.result, str) else json.dumps(self.result, ensure_ascii=False)

    def to_dict(self) -> dict[str, Any]:
        """The result in the one format that every provider's wire format is made from."""
        if self.is_success:
            return {"status": str(self.status), "result": self.result}
        return {"status": str(self.status), "error_type": self.error_type, "message": self.error_message}


def shown_part(text: str, shown_characters: int | None) -> str:
    """Cut a tool's output to what a model is shown, with a note that says how much is missing.

    Args:
        text: the whole output.
        shown_characters: the limit in characters, ``None`` for none.
    """
    if shown_characters is None or len(text) <= shown_characters:
        return text
    missing = len(text) - shown_characters
    return (
        f"{text[:shown_characters]}\n[cut here: {missing:,} of {len(text):,} characters are not shown; "
        "ask for a smaller part]"
    )


def of_kept_size(result: ToolResult) -> ToolResult:
    """Cut what a tool says if it is more than any history can hold; all of it is stored, and no model reads so much.

    Args:
        result: of which structured values are left as they are.

    Returns:
        The same, its text or error message cut with a note.
    """
    if isinstance(result.error_message, str) and len(result.error_message) > MAX_KEPT_CHARACTERS:
        return replace(result, error_message=shown_part(result.error_message, MAX_KEPT_CHARACTERS))
    if isinstance(result.result, str) and len(result.result) > MAX_KEPT_CHARACTERS:
        return replace(result, result=shown_part(result.result, MAX_KEPT_CHARACTERS))
    return result


def clean_text(text: str) -> str:
    """Replace what no database or wire format can hold: lone surrogates and NUL."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "\ufffd")
