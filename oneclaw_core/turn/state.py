"""The state of a turn and of its session, a request of the turn, and an answer."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from oneclaw_core.files.views import FileViews
from oneclaw_core.turn.compaction import with_summary
from oneclaw_core.turn.estimate import Estimator
from oneclaw_core.turn.request import model_request, shown_history
from oneclaw_core.types.messages import Message, MessageType
from oneclaw_core.types.provenance import Provenance
from oneclaw_core.types.tool_groups import restore_loaded_groups

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oneclaw_core.config.core_settings import Settings
    from oneclaw_core.contract.arguments import SessionInfo
    from oneclaw_core.errors import UnreadableCallError
    from oneclaw_core.sessions.store import Store
    from oneclaw_core.sessions.turns import TurnStart
    from oneclaw_core.sessions.usage import UsageRecord
    from oneclaw_core.tools.registry import RegisteredTool
    from oneclaw_core.turn.compaction import ContextLimits
    from oneclaw_core.turn.estimate import ToolSizes
    from oneclaw_core.turn.model import ChosenModel
    from oneclaw_core.turn.output import TurnOutput
    from oneclaw_core.turn.parts import TurnParts
    from oneclaw_core.turn.prompt import TurnPrompt
    from oneclaw_core.turn.stream import Deadline, Emit
    from oneclaw_core.turn.turn_hooks import TurnHooks
    from oneclaw_core.turn.turn_request import TurnRequest
    from oneclaw_core.types.agents import Agent
    from oneclaw_core.types.budget import TurnBudget
    from oneclaw_core.types.events import TurnEvent
    from oneclaw_core.types.messages import ToolCall
    from oneclaw_core.types.model_requests import ModelEvent, ModelRequest, ModelResponse

# No coroutine function: an answer has thousands of pieces.
Show = Callable[["ModelEvent"], Awaitable[None] | None]


@dataclass(slots=True, kw_only=True)
class SessionState:
    """A session as a turn of it knows it.

    Attributes:
        info: the session as plugins see it.
        agent: with its toolset for this turn.
        prompt: the part of the system prompt that is kept with the session; ``None`` for one of now.
        history: as it is shown to a model, without what a summary stands for.
        groups: the loaded tool groups, in the order of loading.
        summary: stands before the history; ``None`` for nothing.
        summary_until: the ``sequence`` of the last message that it stands for.
        provenance: where the text of the session comes from.
        views: what the session has seen of files.
        estimator: estimates its requests.
    """

    info: SessionInfo
    agent: Agent
    prompt: TurnPrompt | None = None
    history: list[Message] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    summary: str | None = None
    summary_until: int = 0
    provenance: Provenance = field(default_factory=Provenance)
    views: FileViews = field(default_factory=FileViews)
    estimator: Estimator = field(default_factory=Estimator)

    def load(self, start: TurnStart, tool_sizes: ToolSizes) -> None:
        """Take over what is stored of the session."""
        self.history = shown_history(each for each in start.history if not each.is_of_output)
        self.groups = restore_loaded_groups(start.group_loads)
        self.summary, self.summary_until = start.summary, start.summary_until or 0
        self.provenance.add(start.marks)
        for each in start.history:
            if each.type is MessageType.TOOL_RESULT and each.provider_data:
                self.views.add(each.file_views)
        self.estimator = Estimator(tool_sizes, start.last_input_tokens)

    def messages(self) -> list[Message]:
        """Return what is sent of the history: what follows on the summary, with the summary before it."""
        start = bisect_right(self.history, self.summary_until, key=lambda message: message.sequence or 0)
        return with_summary(self.history[start:], self.summary)

    def take_results(self, calls: Sequence[ToolCall], results: Mapping[str, Message]) -> None:
        """Put the stored results behind their calls, which end the history."""
        open_calls = self.history[-len(calls) :]
        answered = (replace(each, tool_status=results[each.tool_call_id or ""].tool_status) for each in open_calls)
        self.history[-len(calls) :] = [*answered, *shown_history(results[call.id] for call in calls)]


async def _emit_nothing(event: TurnEvent) -> None:
    """Leave an event to no one."""


@dataclass(slots=True, kw_only=True)
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
        output: that the program wants of it; ``None`` for a text.
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
    output: TurnOutput | None = None

    @property
    def store(self) -> Store:
        """The store of the open home."""
        return self.parts.store

    @property
    def session_id(self) -> str:
        """The id of the session."""
        return self.session.info.id

    @property
    def limits(self) -> ContextLimits:
        """Limits of what the model may be sent."""
        return self.model.limits(self.settings.history_max_characters)

    def next_request(self) -> ModelRequest:
        """Build the next request of the conversation."""
        session, registry = self.session, self.parts.registry
        kept = ("", None) if session.prompt is None else (session.prompt.sections, session.prompt.shown)
        name, messages = self.model.info.name, session.messages()
        request = model_request(session.agent, registry, name, session.info.id, messages, session.groups, *kept)
        if self.own_tools:
            of_turn = tuple(each.definition for each in self.own_tools.values())
            request = replace(request, tools=replace(request.tools, of_turn=of_turn))
        return request if self.output is None else self.output.asked(request, self.model)

    def callable_tools(self) -> Mapping[str, RegisteredTool]:
        """Return the tools that are there for this turn alone, with the one that takes its output."""
        return self.own_tools if self.output is None else {**self.own_tools, self.output.name: self.output.tool}


@dataclass(frozen=True, slots=True)
class Ask:
    """A request on its way to a model.

    Attributes:
        turn: that asks.
        request: as it would be sent to any model; a step builds that of a conversation.
        show: called with each event of the provider as it comes; what it returns is awaited.
        purpose: ``answer`` for the next request of the conversation, ``explanation`` for the last answer of a turn that
            is stuck, ``summary``, or ``question`` for one whose answer is not shown.
        unread: the call that the model is asked to write again; ``None`` for none.
    """

    turn: TurnState
    request: ModelRequest
    show: Show
    purpose: Literal["answer", "explanation", "summary", "question"] = "answer"
    unread: UnreadableCallError | None = None


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
