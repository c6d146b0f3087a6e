"""Answers of a model that cannot be used as they are: empty ones, and calls that the token limit cut."""

from __future__ import annotations

import shlex
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING

from oneclaw_core.errors import ProviderError
from oneclaw_core.turn.progress import CUT_OFF
from oneclaw_core.types.messages import Message, MessageType, StopReason, ToolCallStatus

if TYPE_CHECKING:
    from oneclaw_core.types.model_requests import ModelResponse


def cut_calls(response: ModelResponse) -> list[Message]:
    """Return the calls of an answer that the token limit cut, and behind them their results.

    They are stored together, so that no such call ever runs. Services want an object for arguments.
    """
    limit = response.usage.output_tokens
    count = "" if limit is None else f"{limit:,} "
    told = f"The call was cut by the limit of {count}output tokens and did not run; split the work into smaller calls."
    call = Message(type=MessageType.TOOL_CALL, tool_input="{}", tool_status=ToolCallStatus.PENDING)
    failure = Message(
        type=MessageType.TOOL_RESULT, content=told, tool_status=ToolCallStatus.ERROR, error_type=CUT_OFF, duration_ms=0
    )
    # Under ids of our own: an id that is taken would be replaced when the call is stored, and not in its result.
    names = [(f"call_{uuid.uuid4().hex}", each.name) for each in response.cut_calls]
    return [replace(entry, tool_call_id=id_, tool_name=name) for entry in (call, failure) for id_, name in names]


def empty_answer(model: str, response: ModelResponse) -> ProviderError:
    """Return the error for an answer without text and calls, which names the model and the reason."""
    quoted = shlex.quote(model)
    hints = {
        StopReason.LENGTH_LIMIT: (
            "it spent all tokens before it said anything: let it think less with: oneclaw models set "
            f"{quoted} reasoning low, or allow more with: oneclaw models set {quoted} max_output_tokens NUMBER"
        ),
        StopReason.CONTENT_FILTER: "say it differently, or start a new session",
        StopReason.REFUSAL: "say it differently, or start a new session",
    }
    hint = hints.get(response.stop_reason, "try again, or choose another model")
    return ProviderError(
        f"{model} answered with nothing (finish reason: {response.finish_reason or response.stop_reason}); {hint}"
    )
