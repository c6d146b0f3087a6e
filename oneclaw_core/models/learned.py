"""Facts learned about a model: the parts of requests, and the way of loading, that its service refuses."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from oneclaw_core.config.providers import LEARNED_SETTING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_core.turn.state import TurnState
    from oneclaw_core.types.model_requests import LoadingRefused

_log = logging.getLogger("oneclaw.turn")
# How many parts are remembered for a model: the newest.
_MOST_REMEMBERED = 200


def left_out_by(learned: Mapping[str, Any]) -> dict[str, str]:
    """Return the parts of requests that a service has refused, each with its reason."""
    found = learned.get("left_out")
    return {str(part): str(reason) for part, reason in found.items()} if isinstance(found, dict) else {}


async def remember(turn: TurnState, refused: LoadingRefused | None, left_out: Mapping[str, str]) -> None:
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
