"""The steps that a request to a model passes, the outermost first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.turn.adapted import adapted
from oneclaw_core.turn.compacting import compacting
from oneclaw_core.turn.falls_back import falls_back
from oneclaw_core.turn.healing import healed
from oneclaw_core.turn.hooked import hooked
from oneclaw_core.turn.kept import kept
from oneclaw_core.turn.spending import spending
from oneclaw_core.turn.streamed import streamed
from oneclaw_core.turn.unusable_answers import not_empty
from oneclaw_core.types.steps import chain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oneclaw_core.turn.state import Answer, Ask
    from oneclaw_core.types.steps import Handler, Step

MODEL_STEPS: tuple[Step[Ask, Answer], ...] = (
    not_empty,  # asks again for an answer that is empty, or has a call that cannot be read
    falls_back,  # asks the next model behind the one that was asked for
    healed,  # changes a session that the service refuses
    kept,  # stores what was read of an answer that broke off
    compacting,  # builds the request, and keeps it within what the model reads
    spending,  # refuses a request beyond the limits, and counts what it used
    adapted,  # makes the request one for the model, without what the service refuses
    hooked,  # shows the request and its events to plugins
)


def model_chain(steps: Sequence[Step[Ask, Answer]] = MODEL_STEPS) -> Handler[Ask, Answer]:
    """Return what asks a model: the steps, and at their end the provider."""
    return chain(steps, streamed)
