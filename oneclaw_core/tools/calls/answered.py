"""Steps: whatever happens to a call, it gets one result that can be stored, sent and shown."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from oneclaw_core.errors import PermissionDeniedError, errors_within
from oneclaw_core.tools.calls.call import NotAvailableError
from oneclaw_core.types.messages import Attachment
from oneclaw_core.types.text import clean_text
from oneclaw_core.types.tools import MAX_KEPT_CHARACTERS, FileChange, ToolResult, of_kept_size, of_shown_size

if TYPE_CHECKING:
    from oneclaw_core.tools.calls.call import Call, Handler

MAX_ERROR_CHARACTERS = 2000
MAX_KEPT_ATTACHMENT_BYTES = 100_000_000

_log = logging.getLogger("oneclaw.executor")


async def answered(call: Call, run: Handler) -> ToolResult:
    """Turn every exception into a result; only the cancellation of the call itself passes."""
    try:
        return presentable(await run(call))
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        # The user cancelled the question, not the call.
        return ToolResult.error("permission_denied", "The question for a permission was cancelled.")
    except Exception as error:  # noqa: BLE001  # a call without a result would break the conversation
        _log.exception("tool %s failed", call.asked.name)
        return presentable(execution_error(error))


async def denial_answered(call: Call, run: Handler) -> ToolResult:
    """Turn a denied permission, or a tool that cannot be started, into a result."""
    try:
        return await run(call)
    except PermissionDeniedError as error:
        return ToolResult.error("permission_denied", str(error))
    except NotAvailableError as error:
        return ToolResult.error("not_available", str(error))


def execution_error(error: BaseException) -> ToolResult:
    """Tell the model about an exception: its type and message; the traceback stands in the log.

    Of a group of exceptions, it names each one inside.
    """
    named = dict.fromkeys(_type_and_message(each) for each in errors_within(error))
    return ToolResult.error("execution_error", "\n".join(named)[:MAX_ERROR_CHARACTERS])


def _type_and_message(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:  # noqa: BLE001  # an exception's __str__ is foreign code
        text = "(its message cannot be shown)"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def presentable(result: ToolResult) -> ToolResult:
    """Make sure that a result can be stored, sent and printed."""
    result = of_kept_size(result)
    if not result.is_success:
        error_type, message = result.error_type or "execution_error", result.error_message or ""
        return ToolResult.error(clean_text(str(error_type)), clean_text(str(message)))
    if (problem := _problem_beside_the_value(result)) is not None:
        return ToolResult.error("execution_error", problem)
    if result.changes:
        result = replace(result, changes=of_shown_size(result.changes))
    if isinstance(result.result, str):
        text = clean_text(result.result)
        return result if text == result.result else replace(result, result=text)
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
            f"The tool returned an object of type {type(result.result).__name__}, which JSON cannot hold: {error}",
        )


def _problem_beside_the_value(result: ToolResult) -> str | None:
    """Return what is wrong with the attachments or groups of a result, ``None`` for nothing."""
    if not all(isinstance(each, Attachment) for each in result.attachments):
        return "The tool returned attachments that are no Attachment objects."
    size_bytes = sum(len(each.data) for each in result.attachments)
    if size_bytes > MAX_KEPT_ATTACHMENT_BYTES:
        return (
            f"The tool returned attachments of {size_bytes:,} bytes, and only {MAX_KEPT_ATTACHMENT_BYTES:,} can be "
            "kept. Ask for fewer or smaller ones."
        )
    groups = result.loads_groups
    if not isinstance(groups, tuple) or not all(isinstance(each, str) for each in groups):
        return "The tool returned loads_groups that are no tuple of names."
    if not isinstance(result.changes, tuple) or not all(isinstance(each, FileChange) for each in result.changes):
        return "The tool returned changes that are no tuple of FileChange objects."
    return None
