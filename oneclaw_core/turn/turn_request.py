"""The request of a user or a program for a turn."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from oneclaw_core.errors import TurnLimitError, UsageError
from oneclaw_core.providers.model_object import ModelObject, is_model_object, kept_name
from oneclaw_core.tools.context import MAX_TURN_DEPTH, ToolContext, depth_within
from oneclaw_core.types.agents import REASONING_LEVELS, Agent, AgentLimits, ReasoningLevel
from oneclaw_core.types.messages import Attachment

if TYPE_CHECKING:
    from typing import Any

    from oneclaw_core.permissions.requests import PermissionAnswer, PermissionRequest
    from oneclaw_core.types.tools import Tool
    from oneclaw_core.types.user_question import UserAsker


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRequest:
    """The arguments of :meth:`oneclaw_core.OneClaw.send_message`, which describes them."""

    text: str = ""
    session: str | None = None
    agent: str | Agent | None = None
    model: str | ModelObject | None = None
    system_prompt: str | None = None
    deps: object = None
    attachments: Iterable[Attachment] = ()
    files: Iterable[str] = ()
    within: ToolContext | None = None
    command: str | None = None
    tool_groups: Iterable[str] | None = None
    limits: AgentLimits | None = None
    ask: Callable[[PermissionRequest], Awaitable[PermissionAnswer]] | None = None
    ask_user: UserAsker | None = None
    reasoning: ReasoningLevel | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    max_output_tokens: int | None = None
    task: str | None = None
    steering: list[str] | None = None
    tools: Iterable[Tool] = ()
    output: Any = None
    output_retries: int = 2

    def checked(self) -> TurnRequest:
        """Return the request with its attachments in a tuple; a text is wanted only of a message.

        Raises:
            UsageError: an argument is of another type.
            TurnLimitError: too many agents run one another.
        """
        check_texts(session=self.session, command=self.command, task=self.task, system_prompt=self.system_prompt)
        if not isinstance(self.agent, str | Agent | None):
            raise UsageError(f"agent must be a name, an Agent or None, not {type(self.agent).__name__}")
        if not isinstance(self.model, str | None) and not is_model_object(self.model):
            raise UsageError(
                "model must be PROVIDER/MODEL, None, or an object with a name and a provider, such as "
                f"ProviderModel(provider, name), not {type(self.model).__name__}"
            )
        if self.reasoning is not None and self.reasoning not in REASONING_LEVELS:
            raise UsageError(f"reasoning is one of {', '.join(REASONING_LEVELS)}, not {str(self.reasoning)[:100]!a}")
        longest = self.max_output_tokens
        if longest is not None and (type(longest) is not int or longest < 1):
            raise UsageError(f"max_output_tokens must be a whole number above 0, not {str(longest)[:100]!a}")
        if self.within is not None and depth_within(self.within) > MAX_TURN_DEPTH:
            raise TurnLimitError(f"agents run one another at most {MAX_TURN_DEPTH} deep: do this in the turn itself")
        return self if self.attachments == () else replace(self, attachments=checked_attachments(self.attachments))

    @property
    def agent_name(self) -> str | None:
        """The name of a stored agent that is asked for; ``None`` for an object, or for none."""
        return self.agent if isinstance(self.agent, str) else None

    @property
    def kept_model(self) -> str | None:
        """The text by which a session that the turn begins remembers its model."""
        return kept_name(self.model)


def check_texts(**given: object) -> None:
    """Refuse arguments that are neither texts nor ``None``.

    Raises:
        UsageError: one is something else.
    """
    for name, value in given.items():
        if not isinstance(value, str | None):
            raise UsageError(f"{name} must be a text or None, not {type(value).__name__}")


def checked_attachments(given: object) -> tuple[Attachment, ...]:
    """Make sure that what a program gives as attachments are some.

    Raises:
        UsageError: they are not.
    """
    files = tuple(given) if isinstance(given, Iterable) else (given,)
    for each in files:
        if (
            not isinstance(each, Attachment)
            or not isinstance(each.name, str)
            or not isinstance(each.media_type, str)
            or not isinstance(each.data, bytes | bytearray | memoryview)
        ):
            raise UsageError(
                "attachments must be a list of Attachment objects, with texts as name and media type and bytes as data"
            )
    return files
