"""A program that calls tools outside a conversation on behalf of somebody, such as an MCP client."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from oneclaw_core.types.agents import GENERAL_ASSISTANT
from oneclaw_core.types.provenance import Provenance
from oneclaw_core.types.tools import ALL_TOOLS, ToolSelection

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from oneclaw_core.permissions.requests import PermissionAnswer, PermissionRequest
    from oneclaw_core.types.user_question import UserAsker


@dataclass(frozen=True, slots=True)
class ToolClient:
    """A client of tools, with who answers questions on its behalf.

    Attributes:
        name: in the log of permissions, such as ``mcp:laptop``.
        agent: the name of the agent that the tools are called as.
        selection: the tools that it may call.
        is_read_only: True to refuse tools that may change something, as they are when they are called.
        ask: asks for permissions; ``None`` where no one can be asked.
        ask_user: asks questions of tools; ``None`` where no one can be asked.
        shows_forms: True if ``ask_user`` takes questions with a form.
        progress: called with the message of a running tool, and the fraction that is done if the tool says it.
        provenance: where the text comes from that the client was given. Its calls add to it.
    """

    name: str
    agent: str = GENERAL_ASSISTANT.name
    selection: ToolSelection = ALL_TOOLS
    ask: Callable[[PermissionRequest], Awaitable[PermissionAnswer]] | None = None
    ask_user: UserAsker | None = None
    progress: Callable[[str, float | None], Awaitable[None]] | None = None
    provenance: Provenance = field(default_factory=Provenance)
    is_read_only: bool = False
    shows_forms: bool = False
