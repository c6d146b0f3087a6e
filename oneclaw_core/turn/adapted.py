"""Make a request one for its model, and ask again without the parts that the service refuses."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from oneclaw_core.config.providers import LEARNED_SETTING
from oneclaw_core.errors import ProviderError
from oneclaw_core.providers.left_out import service_reason, shown_parts, without_refused
from oneclaw_core.turn.model import left_out_by
from oneclaw_core.turn.request import dispatched_request, undispatched_response, with_files_taken
from oneclaw_core.types.model_requests import LoadingRefused, RetryNotice, ToolLoading

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping

    from oneclaw_core.turn.model import ChosenModel
    from oneclaw_core.turn.state import Answer, Ask, TurnState
    from oneclaw_core.types.model_requests import ModelEvent, ModelRequest
    from oneclaw_core.types.steps import Handler

_log = logging.getLogger("oneclaw.turn")
# How many parts one request can lose, and how many are remembered for a model: the newest.
_MOST_REFUSALS = 8
_MOST_REMEMBERED = 200


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
        loading = model.loading_of(ask.request, left_out)
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
            await _remember(turn, turn.model.loading_refused, found)
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
    loading, info = model.loading_of(request, left_out), model.info
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


async def _remember(turn: TurnState, refused: LoadingRefused | None, left_out: Mapping[str, str]) -> None:
    """Have the model asked in the way that it takes in later turns too; the user can have another tried again."""
    name, base_url = turn.model.full_name, turn.model.config.base_url
    if refused is not None:
        _log.info("%s is told loaded tool groups the %s way: %s", name, refused.instead, refused.reason)

    def with_refusals(learned: Any) -> dict[str, Any]:
        is_of_server = isinstance(learned, dict) and learned.get("base_url") == base_url
        known: dict[str, Any] = {**learned} if is_of_server else {"base_url": base_url}
        if refused is not None:
            known["tool_loading"] = str(refused.instead)
        if left_out:
            parts = {**left_out_by(known), **left_out}
            known["left_out"] = dict(list(parts.items())[-_MOST_REMEMBERED:])
        return known

    await turn.store.change_setting(LEARNED_SETTING + name, with_refusals)
