"""A message that a turn is to answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from oneclaw_core.errors import TurnLimitError, UsageError
from oneclaw_core.tools.turn_scope import MAX_TURN_DEPTH, depth_within

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from oneclaw_core.tools.context import ToolContext
    from oneclaw_core.tools.permissions import PermissionAnswer, PermissionRequest
    from oneclaw_core.types.agents import AgentLimits
    from oneclaw_core.types.messages import Attachment


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMessage:
    """The arguments of :meth:`oneclaw_core.OneClaw.send_message`, which describes them."""

    text: str
    session: str | None = None
    agent: str | None = None
    model: str | None = None
    attachments: Iterable[Attachment] = ()
    within: ToolContext | None = None
    command: str | None = None
    tool_groups: Iterable[str] | None = None
    limits: AgentLimits | None = None
    ask: Callable[[PermissionRequest], Awaitable[PermissionAnswer]] | None = None

    def check(self) -> None:
        """Refuse what no turn can answer.

        Raises:
            UsageError: the text is empty, or an argument is of another type.
            TurnLimitError: too many agents run one another.
        """
        check_texts(session=self.session, agent=self.agent, model=self.model, command=self.command)
        if self.within is not None and depth_within(self.within) > MAX_TURN_DEPTH:
            raise TurnLimitError(f"agents run one another at most {MAX_TURN_DEPTH} deep: do this in the turn itself")
        if not isinstance(self.text, str) or not (self.text.strip() or self.command is not None):
            raise UsageError("the message is empty: say what you want")


def check_texts(**given: object) -> None:
    """Refuse arguments that are neither texts nor ``None``.

    Raises:
        UsageError: one is something else.
    """
    for name, value in given.items():
        if not isinstance(value, str | None):
            raise UsageError(f"{name} must be a text or None, not {type(value).__name__}")
