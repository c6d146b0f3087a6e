"""What is made of a request for the chosen model before its provider writes it for the wire."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from oneclaw_core.providers.base import ToolLoading
from oneclaw_core.turn.dispatch import dispatched_request
from oneclaw_core.turn.shown_files import with_files_taken

if TYPE_CHECKING:
    from oneclaw_core.providers.base import ModelInfo, ModelRequest, WireRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestPreview:
    """What a model would be sent next.

    Attributes:
        model: ``PROVIDER/MODEL``.
        provider_type: the wire format.
        tool_loading: how loaded groups are told to the model; never a way that its provider does not have.
        request: what is sent, whichever the wire format.
        wire: the same as its provider writes it; ``None`` if nobody asked, for a provider that does not show it, or
            sends nothing.
    """

    model: str
    provider_type: str
    tool_loading: ToolLoading
    request: ModelRequest
    wire: WireRequest | None


def prepare_request(
    request: ModelRequest, info: ModelInfo, tool_loading: ToolLoading, max_output_tokens: int | None
) -> ModelRequest:
    """Make a request one for the chosen model: with files that it takes, its way of loading, its longest answer.

    Args:
        request: as it would be for any model.
        info: what is known about the model.
        tool_loading: how loaded groups are told to it.
        max_output_tokens: the longest answer wanted of it, ``None`` for the wire format's own limit.
    """
    made = replace(
        request,
        messages=with_files_taken(request.messages, info.input_media_types),
        tool_loading=tool_loading,
        max_output_tokens=_longest_answer(request, info, max_output_tokens),
    )
    return dispatched_request(made) if is_dispatched(request, tool_loading) else made


def is_dispatched(request: ModelRequest, tool_loading: ToolLoading) -> bool:
    """Whether a request is rewritten for the dispatcher; one for a summary has no tools, and is to get none."""
    return tool_loading is ToolLoading.DISPATCH and bool(request.tools.names)


def _longest_answer(request: ModelRequest, info: ModelInfo, max_output_tokens: int | None) -> int | None:
    """How long the answer may be: as the request says, if the model can; else as is set for the model."""
    if request.max_output_tokens is None:
        return max_output_tokens
    return min(request.max_output_tokens, info.max_output_tokens or request.max_output_tokens)
