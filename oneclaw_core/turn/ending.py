"""The end of a turn: its text, or another answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oneclaw_core.tools.registry import RegisteredTool
    from oneclaw_core.turn.model import ChosenModel
    from oneclaw_core.types.events import TurnFinishedEvent
    from oneclaw_core.types.messages import Message
    from oneclaw_core.types.model_requests import ModelRequest, ModelResponse


class Ending:
    """The end of a turn: an answer that calls no tool, and its text. A feature can want something else.

    Attributes:
        tool: a call of it ends the turn, behind all other calls of its answer; ``None`` for none.
    """

    tool: RegisteredTool | None = None

    def begin(self, message: Message) -> None:
        """Note the message of the user that the turn answers, as it is stored."""

    def asked(self, request: ModelRequest, model: ChosenModel) -> ModelRequest:
        """Return a request of the turn that asks its model for the end."""
        return request

    def retry_of(self, response: ModelResponse, *, is_last: bool) -> Message | None:
        """Return what tells a model to answer once more; ``None`` if its answer is taken.

        Args:
            response: an answer without calls.
            is_last: True if the model is not asked again.
        """
        return None

    def kept(self, entries: list[Message], *, is_retried: bool = False) -> list[Message]:
        """Return entries of the history as they are stored.

        Args:
            entries: an answer with its calls, or results of calls.
            is_retried: True if the model is told to answer once more.
        """
        return entries

    def check(self) -> None:
        """Refuse the answer that was taken, once it is stored.

        Raises:
            TurnError: it is not what the turn was to end with.
        """

    def text_given(self, results: Sequence[Message]) -> str | None:
        """Return the text that the calls of an answer have ended the turn with; ``None`` if it goes on.

        Args:
            results: of the calls, in their order.

        Raises:
            TurnError: the model has tried often enough.
        """
        return None

    def finished(self, event: TurnFinishedEvent) -> TurnFinishedEvent:
        """Return the last event of the turn."""
        return event
