"""Results in a form that can be stored, sent and printed."""

from __future__ import annotations

import json
from dataclasses import replace

from oneclaw_core.secrets.redaction import redact
from oneclaw_core.types.messages import Attachment
from oneclaw_core.types.text import clean_text
from oneclaw_core.types.tools import MAX_KEPT_CHARACTERS, ToolResult, of_kept_size

MAX_KEPT_ATTACHMENT_BYTES = 100_000_000


def presentable(result: ToolResult) -> ToolResult:
    """Make sure that a result can be stored, sent and printed; an error may quote a key that a service refused."""
    result = of_kept_size(result)
    if not result.is_success:
        return ToolResult.error(
            redact(clean_text(str(result.error_type or "execution_error"))),
            redact(clean_text(str(result.error_message or ""))),
        )
    if not all(isinstance(each, Attachment) for each in result.attachments):
        return ToolResult.error("execution_error", "The tool returned attachments that are no Attachment objects.")
    size_bytes = sum(len(each.data) for each in result.attachments)
    if size_bytes > MAX_KEPT_ATTACHMENT_BYTES:
        return ToolResult.error(
            "execution_error",
            f"The tool returned attachments of {size_bytes:,} bytes, and only {MAX_KEPT_ATTACHMENT_BYTES:,} can be "
            "kept. Ask for fewer or smaller ones.",
        )
    groups = result.loads_groups
    if not isinstance(groups, tuple) or not all(isinstance(each, str) for each in groups):
        return ToolResult.error("execution_error", "The tool returned loads_groups that are no tuple of names.")
    if isinstance(result.result, str):
        return replace(result, result=clean_text(result.result))
    try:
        text = json.dumps(result.result, ensure_ascii=False, allow_nan=False)
        if len(text) > MAX_KEPT_CHARACTERS:
            return ToolResult.error(
                "execution_error",
                f"The tool returned {len(text):,} characters of JSON, and only {MAX_KEPT_CHARACTERS:,} can be kept. "
                "Ask for a smaller part.",
            )
        return replace(result, result=json.loads(clean_text(text)))
    except (TypeError, ValueError, RecursionError) as error:
        return ToolResult.error(
            "execution_error",
            f"The tool returned a {type(result.result).__name__} that JSON cannot hold: {error}",
        )
