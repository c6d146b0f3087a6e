"""The state of a turn and of its session, the home that it works in, a request of the turn, and an answer."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, Protocol

from oneclaw_core.files.views import FileViews
from oneclaw_core.turn.request import TurnPrompt, model_request, shown_history, with_summary
from oneclaw_core.types.messages import Message, MessageType, ToolCall
from oneclaw_core.types.provenance import Provenance
from oneclaw_core.types.tool_groups import ActiveTools, restore_loaded_groups

if TYPE_CHECKING:
    from oneclaw_core.config.core_settings import Settings
    from oneclaw_core.contract.arguments import SessionInfo
    from oneclaw_core.permissions.policy import People
    from oneclaw_core.plugins.running.runtime import Plugins
    from oneclaw_core.sessions.background import Background
    from oneclaw_core.sessions.settings import UserStates
    from oneclaw_core.sessions.store import Store
    from oneclaw_core.sessions.turns import TurnSetup, TurnStart
    from oneclaw_core.sessions.usage import UsageRecord
    from oneclaw_core.tool_sources.tool_sources import ToolSources
    from oneclaw_core.tools.executor import ToolExecutor
    from oneclaw_core.tools.registry import RegisteredTool, ToolRegistry
    from oneclaw_core.turn.model import ChosenModel, Models
    from oneclaw_core.turn.stream import Deadline, Emit
    from oneclaw_core.turn.turn_hooks import TurnHooks
    from oneclaw_core.turn.turn_request import TurnRequest
    from oneclaw_core.types.agents import Agent
    from oneclaw_core.types.budget import TurnBudget
    from oneclaw_core.types.events import TurnEvent, TurnFinishedEvent
    from oneclaw_core.types.model_requests import ModelEvent, ModelRequest, ModelResponse
    from oneclaw_core.types.steps import Handler


class Choices(Protocol):
    """The choices of the user, which another process may change at any time."""

    def read(self, setup: TurnSetup) -> Settings:
        """Read the settings of OneClaw for a turn."""
        ...

    def use_setup(self, setup: TurnSetup) -> None:
        """Use what is stored as a turn is resolved."""
        ...

    def use_start(self, start: TurnStart) -> None:
        """Use what is stored as a turn begins."""
        ...

    def use(self, states: UserStates) -> None:
        """Use what is stored by now."""
        ...

    async def refresh(self) -> UserStates:
        """Read what is stored by now, use it, and return it."""
        ...


class Prompts(Protocol):
    """The system prompts of sessions."""

    async def of(
        self, session: SessionInfo, agent: Agent, *, is_new: bool = False, is_cached: bool = True
    ) -> TurnPrompt:
        """Return the system prompt of a session, and what has changed since the session was told last.

        Args:
            session: whose lock the caller holds, unless it only looks.
            agent: with its toolset for this turn.
            is_new: True for a prompt of now instead of the stored one.
            is_cached: True if the model's service may have the session's prompt in a cache.
        """
        ...


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


# No coroutine function: an answer has thousands of pieces.
Show = Callable[["ModelEvent"], Awaitable[None] | None]


@dataclass(slots=True, kw_only=True)
class SessionState:
    """A session as a turn of it knows it.

    Attributes:
        info: the session as plugins see it.
        agent: with its toolset for this turn.
        prompt: the part of the system prompt that is kept with the session.
        history: as it is shown to a model, without what a summary stands for.
        groups: the loaded tool groups, in the order of loading.
        summary: stands before the history; ``None`` for nothing.
        summary_until: the ``sequence`` of the last message that it stands for.
        provenance: where the text of the session comes from.
        views: what the session has seen of files.
        last_input_tokens: what the service counted for its last request; ``None`` if it is not known.
    """

    info: SessionInfo
    agent: Agent
    prompt: TurnPrompt = field(default_factory=TurnPrompt)
    history: list[Message] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    summary: str | None = None
    summary_until: int = 0
    provenance: Provenance = field(default_factory=Provenance)
    views: FileViews = field(default_factory=FileViews)
    last_input_tokens: int | None = None

    def load(self, start: TurnStart) -> None:
        """Take over what is stored of the session."""
        self.history = shown_history(each for each in start.history if not each.is_of_output)
        self.groups = restore_loaded_groups(start.group_loads)
        self.summary, self.summary_until = start.summary, start.summary_until or 0
        self.last_input_tokens = start.last_input_tokens
        self.provenance.add(start.marks)
        for each in start.history:
            if each.type is MessageType.TOOL_RESULT and each.provider_data:
                self.views.add(each.file_views)

    def unsummarised(self) -> list[Message]:
        """Return the part of the history that follows on the summary."""
        return self.history[bisect_right(self.history, self.summary_until, key=lambda each: each.sequence or 0) :]

    def messages(self) -> list[Message]:
        """Return what is sent of the history: what follows on the summary, with the summary before it."""
        return with_summary(self.unsummarised(), self.summary)

    def take_results(self, calls: Sequence[ToolCall], results: Mapping[str, Message]) -> None:
        """Put the stored results behind their calls, which end the history."""
        open_calls = self.history[-len(calls) :]
        answered = (replace(each, tool_status=results[each.tool_call_id or ""].tool_status) for each in open_calls)
        self.history[-len(calls) :] = [*answered, *shown_history(results[call.id] for call in calls)]


@dataclass(slots=True, kw_only=True)
class TurnParts:
    """The parts of an open home that every turn works with.

    Attributes:
        store: keeps the history.
        registry: the tools.
        executor: runs tool calls.
        plugins: at work.
        people: are asked for permissions, and questions.
        choices: what the user has set.
        models: that can answer.
        tool_sources: bring the registry up to date before each request.
        background: work that goes on beside the turns.
        prompts: system prompts.
        ask: asks a model; the chain of steps that a request passes.
        ending_of: returns what a turn ends with.
    """

    store: Store
    registry: ToolRegistry
    executor: ToolExecutor
    plugins: Plugins
    people: People
    choices: Choices
    models: Models
    tool_sources: ToolSources
    background: Background
    prompts: Prompts
    ask: Handler[Ask, Answer]
    ending_of: Callable[[TurnState], Ending]


async def _emit_nothing(event: TurnEvent) -> None:
    """Leave an event to no one."""


@dataclass(slots=True, kw_only=True, eq=False, weakref_slot=True)
class TurnState:
    """A turn: who asks whom for what, and what it may take.

    Attributes:
        parts: of the open home.
        request: what the user asked.
        settings: as they were when the turn began.
        session: whose turn it is.
        model: answers; another one takes its place if it fails, or if something is learned about it.
        budget: the rounds, tokens and money that the turn may take.
        deadline: the end of its time.
        emit: hands an event to the listener, after what it is about is stored.
        hooks: of plugins on the turn; ``None`` for none.
        message: the user's, as it is stored.
        own_tools: the tools that are there for this turn alone, by their names.
        ending: what it ends with.
    """

    parts: TurnParts
    request: TurnRequest
    settings: Settings
    session: SessionState
    model: ChosenModel
    budget: TurnBudget
    deadline: Deadline
    emit: Emit = _emit_nothing
    hooks: TurnHooks | None = None
    message: Message = field(default_factory=lambda: Message(type=MessageType.USER))
    own_tools: Mapping[str, RegisteredTool] = field(default_factory=dict)
    ending: Ending = field(default_factory=Ending)

    @property
    def store(self) -> Store:
        """The store of the open home."""
        return self.parts.store

    @property
    def session_id(self) -> str:
        """The id of the session."""
        return self.session.info.id

    def next_request(self) -> ModelRequest:
        """Build the next request of the conversation."""
        session, model = self.session, self.model
        request = model_request(
            session.agent, self.active_tools(), model.info.name, self.session_id, session.messages(), session.prompt
        )
        return self.ending.asked(request, model)

    def active_tools(self) -> ActiveTools:
        """Return the tools that the model can call next."""
        session = self.session
        toolset = self.parts.registry.toolset(session.agent.selection)
        tools = toolset.active(session.groups, session.prompt.core_tools())
        if not self.own_tools:
            return tools
        return replace(tools, of_turn=tuple(each.definition for each in self.own_tools.values()))

    def callable_tools(self) -> Mapping[str, RegisteredTool]:
        """Return the tools that are there for this turn alone, with that which ends it."""
        last = self.ending.tool
        return self.own_tools if last is None else {**self.own_tools, last.definition.name: last}


@dataclass(frozen=True, slots=True)
class Ask:
    """A request on its way to a model.

    Attributes:
        turn: that asks.
        request: as it would be sent to any model; a step builds that of a conversation.
        show: called with each event of the provider as it comes; what it returns is awaited.
        purpose: ``answer`` for the next request of the conversation, ``explanation`` for the last answer of a turn that
            is stuck, ``summary``, or ``question`` for one whose answer is not shown.
        added: messages behind those of the conversation, which its history does not get.
    """

    turn: TurnState
    request: ModelRequest
    show: Show
    purpose: Literal["answer", "explanation", "summary", "question"] = "answer"
    added: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of a model.

    Attributes:
        response: the answer.
        request: what was answered; ``None`` for calls that no model has made.
        usage: of the request.
    """

    response: ModelResponse
    request: ModelRequest | None = None
    usage: UsageRecord | None = None


def show_nothing(event: ModelEvent) -> None:
    """Show no event of a provider."""
