"""Make a request one for its model, and ask again without the parts that the service refuses."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from oneclaw_core.errors import ProviderError, service_reason
from oneclaw_core.models.attachments import with_files_taken
from oneclaw_core.models.dispatcher import dispatched_request, undispatched_response
from oneclaw_core.models.left_out import most_tools_in, remember, shown_parts, without_refused
from oneclaw_core.types.model_requests import LoadingRefused, ModelEvent, ModelRequest, RetryNotice, ToolLoading

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping

    from oneclaw_core.turn.model import ChosenModel
    from oneclaw_core.turn.state import Answer, Ask
    from oneclaw_core.types.steps import Handler

_log = logging.getLogger("oneclaw.turn")
# How many parts one request can lose.
_MOST_REFUSALS = 8


async def adapted(ask: Ask, run: Handler[Ask, Answer]) -> Answer:
    """Send the request in the way of its model; with a dispatcher, calls of it become calls of the tools they name.

    What a service refuses is remembered once the request without it was answered.
    """
    turn, found = ask.turn, dict[str, str]()

    def show(event: ModelEvent) -> Awaitable[None] | None:
        if isinstance(event, LoadingRefused):
            # The service may refuse another part of this attempt, too.
            turn.model = replace(turn.model, tool_loading=event.instead, loading_refused=event)
            return None
        return ask.show(event)

    while True:
        model = turn.model
        left_out = {**model.left_out, **found}
        sent = prepare_request(ask.request, model, left_out)
        loading = loading_of(model, ask.request, left_out)
        try:
            answer = await run(replace(ask, request=sent, show=show))
            break
        except ProviderError as error:
            new = [part for part in error.refused_parts if part not in left_out]
            if not new or len(found) >= _MOST_REFUSALS:
                raise
            found |= dict.fromkeys(new, service_reason(error))
            notice = RetryNotice(f"{error}; left out: {shown_parts(new, sent)}", 0)
            _log.info("%s", notice.reason)
        if (shown := ask.show(notice)) is not None:
            await shown
    if turn.model.loading_refused is not None or found:
        if turn.model.given is None:
            await remember(turn, turn.model.loading_refused, found)
        turn.model = replace(turn.model, left_out={**turn.model.left_out, **found}, loading_refused=None)
    response = undispatched_response(answer.response) if loading is ToolLoading.DISPATCH else answer.response
    return replace(answer, response=response, request=ask.request)


def prepare_request(
    request: ModelRequest, model: ChosenModel, left_out: Mapping[str, str] | None = None
) -> ModelRequest:
    """Make a request one for a model: with files that it takes, its way of loading, its longest answer.

    Args:
        request: for any model; its own limit of the answer is lowered to what this model can give.
        model: which is asked.
        left_out: the parts that the service has refused, each with the reason; by default what is known of the model.
    """
    left_out = model.left_out if left_out is None else left_out
    loading, info = loading_of(model, request, left_out), model.info
    longest = model.max_output_tokens
    if request.max_output_tokens is not None:
        longest = min(request.max_output_tokens, info.max_output_tokens or request.max_output_tokens)
    made = replace(
        request,
        model=info.name,
        messages=with_files_taken(request.messages, info.input_media_types),
        tool_loading=loading,
        max_output_tokens=longest,
        reasoning=model.reasoning,
        left_out=left_out,
        first_byte_seconds=None if model.fallback is None else model.fallback.silence_seconds,
    )
    if left_out:
        made = without_refused(made)
    # A request for a summary has no tools, and is to get none.
    is_dispatched = loading is ToolLoading.DISPATCH and bool(made.tools.names)
    return dispatched_request(made) if is_dispatched else made


def loading_of(model: ChosenModel, request: ModelRequest, left_out: Mapping[str, str] | None = None) -> ToolLoading:
    """Return how a request tells loaded groups: through the dispatcher if the service takes fewer tools.

    Args:
        model: which is asked.
        request: as it would be sent to any model.
        left_out: the parts that are left out of it; by default those of the model.
    """
    left_out = model.left_out if left_out is None else left_out
    most = getattr(model.provider, "most_tools", None)
    if left_out and (found := most_tools_in(left_out)) is not None:
        most = found
    is_over = most is not None and bool(request.tools.groups) and len(request.tools.names) > most
    return ToolLoading.DISPATCH if is_over else model.tool_loading
