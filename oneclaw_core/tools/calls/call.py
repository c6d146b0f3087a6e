"""A tool call on its way to the tool: the nouns that its steps share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NewType, Protocol

from oneclaw_core.types.agents import GENERAL_ASSISTANT
from oneclaw_core.types.provenance import Mark, Provenance
from oneclaw_core.types.tools import ALL_TOOLS, Act, ToolResult, ToolSelection

if TYPE_CHECKING:
    from types import TracebackType

    from oneclaw_core.contract.context import PluginContext
    from oneclaw_core.files.views import FileViews
    from oneclaw_core.permissions.requests import PermissionAnswer, PermissionRequest, RequirePermission
    from oneclaw_core.provenance.marks import CallProvenance
    from oneclaw_core.tools.calls.running_call import CallClock
    from oneclaw_core.tools.context import TurnScope
    from oneclaw_core.tools.registry import RegisteredTool
    from oneclaw_core.types.messages import ToolCall
    from oneclaw_core.types.permissions import PassingGrant
    from oneclaw_core.types.tool_groups import ActiveTools
    from oneclaw_core.types.user_question import UserAsker


class ScriptRules(Protocol):
    """The rules for all calls of one tool together, see :class:`oneclaw_core.scripts.inner_calls.Rules`."""

    @property
    def granted(self) -> list[PassingGrant]:
        """Grants of the user for the rest of the script; answers add to them."""
        ...

    def in_words(self, number: int) -> str:
        """Say which call of which script this is, for a question."""
        ...

    def wants_question(self, permission: str) -> bool:
        """Count a use of a permission; return True if grants are not enough for this one."""
        ...

    def note_refusal(self, permission: str) -> None:
        """Count a refusal of the user; from now on, grants of the permission are not enough."""
        ...


class AroundCall(Protocol):
    """An async context manager around the tool, which is told the result."""

    async def __aenter__(self) -> object: ...

    def set_result(self, result: ToolResult) -> None:
        """Note how the work ended, before it is left."""
        ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...


class CallHooks(Protocol):
    """The hooks of plugins on one call."""

    arguments: Mapping[str, Any]

    async def rewrite(
        self, arguments: dict[str, Any], faults_of: Callable[[dict[str, Any]], list[str]]
    ) -> dict[str, Any]:
        """Have plugins rewrite the arguments; raise ``PluginError`` if the call must not run."""
        ...

    async def check(self, ask: RequirePermission) -> None:
        """Ask the gates; raise ``PermissionDeniedError`` if the call must not run."""
        ...

    def around(self) -> AroundCall:
        """Return a context manager to enter around the tool."""
        ...

    async def rewrite_result(self, result: ToolResult) -> ToolResult:
        """Have plugins rewrite the result of a call that ran."""
        ...

    def decided(self, permission: str, subject: str | None, *, is_granted: bool, decided_by: str) -> None:
        """Tell observers of a decision on a permission."""
        ...

    def finished(self, result: ToolResult) -> None:
        """Tell observers of the result."""
        ...


class PluginsOfCalls(Protocol):
    """The plugins at work, as running a tool needs them."""

    def are_about(self, tool: str, group: str | None, *, is_in_turn: bool, is_read_only: bool = False) -> bool:
        """Return True if a call of a tool concerns any hook."""
        ...

    def of_call(self, **about: Any) -> CallHooks:
        """Return the hooks on a call, described as in ``CallInfo``."""
        ...

    async def context_of_tool(self, plugin: str | None) -> PluginContext | None:
        """Return the context for a tool of a plugin, which is started first; ``None`` for a tool of no plugin.

        Raises:
            PluginError: the plugin cannot be started now.
        """
        ...


@dataclass(frozen=True, slots=True)
class Within:
    """The running call that makes a call.

    Attributes:
        call_id: of the running call.
        clock: of the running call.
        rules: for all that it calls.
        number: which of its calls this is, from 1.
        depth: how many tools are between this call and the one that the model or the user made, at least 1.
        typed: a text of the user that the running call was made with; empty for a call of a model.
        views: the files as the running call saw them.
        starting: awaited before the tool of the call runs, when all has been decided.
    """

    call_id: str
    clock: CallClock
    rules: ScriptRules
    number: int
    depth: int
    typed: str
    views: FileViews
    starting: Callable[[], Awaitable[None]]

    @property
    def in_words(self) -> str:
        """Place of the call in its script, for a question."""
        return self.rules.in_words(self.number)


@dataclass(frozen=True, slots=True)
class Caller:
    """On whose behalf tools run.

    Attributes:
        active: what the agent may call now.
        agent: its name.
        session_id: the session, ``None`` outside one.
        selection: the tools that the agent may have, active or not.
        turn: the turn that makes the calls, ``None`` outside one.
        kind: what makes the calls.
        conversation: where the text of the session comes from; the calls add to it.
        asked_in: stands for a session in questions outside one; ``None`` if there is nothing to stand for it.
        refused: keys of the questions that the user did not agree with in this turn; the calls add to it.
        are_calls_text: True if the model wrote the calls as text.
        own_tools: the tools that are there for this turn alone, by their names.
        gone: names of tools that were called earlier in the conversation, and are there no more.
        within: the running call that makes the calls, ``None`` for calls of a model or a user.
    """

    active: ActiveTools
    agent: str
    session_id: str | None = None
    selection: ToolSelection = ALL_TOOLS
    turn: TurnScope | None = None
    kind: Literal["model", "command line", "program", "script"] = "model"
    conversation: Provenance = field(default_factory=Provenance)
    asked_in: str | None = None
    refused: set[str] = field(default_factory=set)
    are_calls_text: bool = False
    own_tools: Mapping[str, RegisteredTool] = field(default_factory=dict)
    gone: Container[str] = ()
    within: Within | None = None

    @property
    def session_of_user(self) -> str | None:
        """The session that the user's answers are for."""
        if self.asked_in is not None:
            return self.asked_in
        return self.session_id if self.turn is None else self.turn.permission_session(self.session_id)

    @property
    def task(self) -> str | None:
        """The scheduled task that the calls are made for, ``None`` for a turn of the user's."""
        return self.turn.task if self.turn is not None else None

    @property
    def outer_agents(self) -> tuple[str, ...]:
        """The agents of the turns that this one is run within, the next one first."""
        return self.turn.outer_agents() if self.turn is not None else ()

    @property
    def sub_agent(self) -> str | None:
        """The name of a sub-agent in a question, ``None`` for an agent that the user talks with."""
        return self.turn.sub_agent(self.agent) if self.turn is not None else None


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call on its way to the tool. A step passes on the same call, or a copy with other arguments.

    Attributes:
        asked: the call as it was made.
        caller: on whose behalf.
        found: the tool; ``None`` if there is none of that name.
        provenance: collects what the call reads and writes.
        arguments: for the tool; empty before they are read.
        loaded: the tool groups that the same answer of the model has loaded.
        hooks: of plugins on this call; ``None`` if none is about it.
        report: passes on how far the tool has come.
        show: passes on the calls that the tool makes.
        act: stands in for the tool, with its arguments and context; ``None`` to run the tool.
    """

    asked: ToolCall
    caller: Caller
    found: RegisteredTool | None
    provenance: CallProvenance
    arguments: dict[str, Any] = field(default_factory=dict)
    loaded: Container[str | None] = ()
    hooks: CallHooks | None = None
    report: Callable[[str, float | None], None] = lambda message, fraction: None
    show: Callable[[InnerCallBegun | InnerCallEnded], None] = lambda event: None
    act: Act | None = None

    def with_arguments(self, arguments: dict[str, Any]) -> Call:
        """Return the same call with other arguments."""
        return replace(self, arguments=arguments)

    @property
    def tool(self) -> RegisteredTool:
        """The tool; only behind the step that refuses calls of unknown tools."""
        assert self.found is not None
        return self.found


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """One call with its one result.

    Attributes:
        call: what the model asked for.
        result: what it is answered.
        duration_ms: how long the tool ran, in milliseconds; 0 if it did not run.
        marks: where the result comes from.
        views: the state of the files that it read or wrote, see :mod:`oneclaw_core.files.views`.
    """

    call: ToolCall
    result: ToolResult
    duration_ms: float
    marks: tuple[Mark, ...] = ()
    views: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolProgress:
    """A running tool tells how far it has come."""

    call: ToolCall
    message: str
    fraction: float | None


@dataclass(frozen=True, slots=True)
class InnerCallBegun:
    """A running tool calls another one.

    Attributes:
        call: the call.
        parent_id: of the call of the running tool.
    """

    call: ToolCall
    parent_id: str


@dataclass(frozen=True, slots=True)
class InnerCallEnded:
    """A call of a running tool has its result.

    Attributes:
        call: the call.
        parent_id: of the call of the running tool.
        result: shortened, and without its files.
        duration_ms: how long it took, in milliseconds.
    """

    call: ToolCall
    parent_id: str
    result: ToolResult
    duration_ms: float


PermittedCall = NewType("PermittedCall", Call)
"""A call that has all permissions. Only :mod:`oneclaw_core.permissions.asking` makes one; no other call runs."""

Handler = Callable[[Call], Awaitable[ToolResult]]
"""Answers a call with its result; the rest of the chain."""

Step = Callable[[Call, Handler], Awaitable[ToolResult]]
"""Answers a call, or passes it to the rest of the chain, once at most."""

Run = Callable[[PermittedCall], Awaitable[ToolResult]]
"""Runs the tool of a call that has all permissions."""


class NotAvailableError(Exception):
    """A permitted call cannot run, such as one of a plugin that does not start; the message is for the model."""


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
