"""Objects that event hooks are called with, and that they return. They are frozen; OneClaw makes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NoReturn

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from oneclaw_core.types.messages import TokenUsage
    from oneclaw_core.types.model_requests import ModelRequest, ModelResponse
    from oneclaw_core.types.tools import ToolResult, ToolSelection


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionInfo:
    """A conversation.

    Attributes:
        id: of the session.
        name: given by the user, ``None`` for a session without one.
        agent: name of its agent.
        parent_id: the session of the turn that a sub-agent works for.
        title: a few words on what it is about, ``None`` until there are any.
        created_at: in UTC; ``None`` before it is stored.
        updated_at: when something was last stored in it, in UTC; ``None`` before it is stored.
        directory: the start directory that it was begun in, ``None`` if that is not known.
        model: the model that it was begun with as ``PROVIDER/MODEL``, ``None`` for the default.
    """

    id: str
    name: str | None = None
    agent: str
    parent_id: str | None = None
    title: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    directory: str | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnInfo:
    """A turn: from a user's message to the final answer.

    Attributes:
        id: unique.
        session: the conversation.
        agent: name of the agent.
        model: as ``PROVIDER/MODEL``.
        text: the user's message.
        can_ask: True if a person can be asked for permissions.
        parent_call_id: the tool call that a sub-agent's turn works for.
    """

    id: str
    session: SessionInfo
    agent: str
    model: str
    text: str
    can_ask: bool = False
    parent_call_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallInfo:
    """A tool call.

    Attributes:
        id: unique within the session.
        tool: name of the tool.
        arguments: as the tool gets them, a copy that cannot be changed; empty if they are no JSON object.
        group: the tool's group, ``None`` for a core tool.
        plugin: the plugin that registered the tool.
        required_permissions: of the tool.
        agent: name of the agent.
        turn: the turn that the call belongs to, ``None`` outside one (``oneclaw call``).
        caller: what made the call: ``script`` for a running tool, such as a script of ``js_eval``.
        is_read_only: True if the tool is from an installed plugin and declares that it changes nothing. What tools of
            servers and of the user declare of themselves does not count.
        parent_call_id: the call of the running tool that made this one; ``None`` for any other caller.
    """

    id: str
    tool: str
    arguments: Mapping[str, Any]
    group: str | None = None
    plugin: str | None = None
    required_permissions: tuple[str, ...] = ()
    agent: str = ""
    turn: TurnInfo | None = None
    caller: Literal["model", "command line", "program", "script"] = "model"
    is_read_only: bool = False
    parent_call_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnOutcome:
    """The outcome of a turn.

    Attributes:
        text: the final answer; empty if there is none.
        usage: tokens of all its requests.
        cost: in US dollars, ``None`` if unknown.
        error: one line, ``None`` for an answer.
        is_interrupted: True if the turn was cancelled or its process ended.
        error_type: name of the error's class, ``None`` for an answer.
    """

    text: str = ""
    usage: TokenUsage
    cost: float | None = None
    error: str | None = None
    is_interrupted: bool = False
    error_type: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One request to a model.

    Attributes:
        model: as ``PROVIDER/MODEL``.
        provider_type: its wire format.
        purpose: ``answer``, or ``summary`` for compaction.
        request: what is sent.
    """

    model: str
    provider_type: str
    purpose: Literal["answer", "summary"] = "answer"
    request: ModelRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer:
    """The outcome of a request to a model.

    Attributes:
        response: the answer, ``None`` after an error.
        error: one line, ``None`` for an answer.
        error_type: name of the error's class.
        duration_ms: from sending to the end of the answer.
        first_chunk_ms: from sending to the first part of the answer; ``None`` if none came.
    """

    response: ModelResponse | None = None
    error: str | None = None
    error_type: str | None = None
    duration_ms: float = 0.0
    first_chunk_ms: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionOutcome:
    """A decision on a permission.

    Attributes:
        permission: its name; for a plugin's refusal of a call, the tool's name.
        subject: what it was asked for, such as a command; ``None`` if it has none.
        is_granted: True if the tool may go on.
        decided_by: ``user``, ``grant``, ``denial``, ``plugin NAME``, ``option`` (``--allow``), or ``default`` for what
            is granted to all tools, or where no person could be asked.
    """

    permission: str
    subject: str | None = None
    is_granted: bool
    decided_by: str


@dataclass(frozen=True, slots=True)
class TurnWork:
    """A turn that ``around`` is entered for.

    Attributes:
        turn: the turn.
        outcome: how it ended; ``None`` until the context manager is left.
    """

    turn: TurnInfo
    outcome: TurnOutcome | None = field(default=None, init=False)


@dataclass(frozen=True, slots=True)
class ModelWork:
    """A model request that ``around`` is entered for.

    Attributes:
        turn: it belongs to.
        request: what is sent.
        answer: what came of it; ``None`` until the context manager is left.
    """

    turn: TurnInfo
    request: ModelCall
    answer: ModelAnswer | None = field(default=None, init=False)


@dataclass(frozen=True, slots=True)
class ToolWork:
    """A tool call that ``around`` is entered for.

    Attributes:
        call: the call.
        result: of the tool; ``None`` until the context manager is left.
    """

    call: CallInfo
    result: ToolResult | None = field(default=None, init=False)


Work = TurnWork | ModelWork | ToolWork


def set_result(work: Work, result: TurnOutcome | ModelAnswer | ToolResult) -> None:
    """Set how a work ended, before its context managers are left."""
    name = "outcome" if isinstance(work, TurnWork) else "answer" if isinstance(work, ModelWork) else "result"
    object.__setattr__(work, name, result)


@dataclass(frozen=True, slots=True)
class Deny:
    """A gate's refusal.

    Attributes:
        reason: shown to the model and the user.
    """

    reason: str


@dataclass(frozen=True, slots=True)
class Ask:
    """A gate's demand that the user is asked, as for any other permission.

    Attributes:
        permission: its name; a grant of it answers without a question.
        detail: what exactly is about to be done.
        subject: what patterns of grants are compared with.
    """

    permission: str
    detail: str = ""
    subject: str | None = None


@dataclass(frozen=True, slots=True)
class PromptSection:
    """A section of the system prompt.

    Attributes:
        id: unique within the plugin; a plugin's sections are sorted by it.
        text: Markdown.
        max_characters: a longer text is left out. All sections with the default may have 8,000 characters together;
            raise it only where the user sets the length.
        core_tool: the core tool that the text is about; agents without it are not shown the section.
    """

    id: str
    text: str
    max_characters: int = 4_000
    core_tool: str | None = None


@dataclass(frozen=True, slots=True)
class MessageCommand:
    """A command ``/NAME ARGUMENTS`` that a plugin expands into a message to the model.

    Attributes:
        name: without the slash.
        summary: one line for listings.
        problem: why it cannot be used now, ``None`` if it can.
        arguments: the names of its arguments if these are written as ``NAME=VALUE``, with a ``*`` behind a name that
            is required; none for a free text.
    """

    name: str
    summary: str
    problem: str | None = None
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandUse:
    """A command that a person or a program sends to the model.

    Attributes:
        name: without the slash.
        arguments: the text behind the name.
        agent: name of the agent that gets the message.
        selection: the tools that the agent may have.
    """

    name: str
    arguments: str
    agent: str
    selection: ToolSelection


@dataclass(frozen=True, slots=True)
class ExpandedMessage:
    """The message that a command stands for.

    Attributes:
        text: sent instead of the command.
        groups: tool groups to load before the model is asked.
        outside: where the text comes from if it is not the user's own, such as ``the MCP server files``.
    """

    text: str
    groups: tuple[str, ...] = ()
    outside: str = ""


def frozen(value: Any) -> Any:
    """Return a deep copy of JSON data whose objects and arrays cannot be changed.

    They are dicts and lists still, so that ``json.dumps`` and comparisons work. Data may be nested as deeply as
    ``json.loads`` allows, hence the loop in place of recursion.
    """
    waiting: list[tuple[Any, FrozenDict | FrozenList]] = []
    copy = _begun(value, waiting)
    while waiting:
        source, target = waiting.pop()
        if isinstance(target, FrozenDict):
            for key, each in source.items():
                dict.__setitem__(target, key, _begun(each, waiting))
        else:
            for each in source:
                list.append(target, _begun(each, waiting))
    return copy


def _begun(value: Any, waiting: list[tuple[Any, FrozenDict | FrozenList]]) -> Any:
    """Return a value, or an empty copy of an object or array, which is noted to be filled."""
    if isinstance(value, dict):
        copy: FrozenDict | FrozenList = FrozenDict()
    elif isinstance(value, list | tuple):
        copy = FrozenList()
    else:
        return value
    waiting.append((value, copy))
    return copy


def _refuse(self: object, *_: object, **__: object) -> NoReturn:
    raise TypeError("what a hook is called with cannot be changed: make a copy with copy.deepcopy, and return that")


class FrozenDict(dict[str, Any]):
    """A JSON object."""

    __slots__ = ()
    __setitem__ = __delitem__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse
    __ior__ = _refuse

    def __deepcopy__(self, memo: object) -> dict[str, Any]:
        return {key: _thawed(value) for key, value in self.items()}

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (_thawed(self),)


class FrozenList(list[Any]):
    """A JSON array."""

    __slots__ = ()
    __setitem__ = __delitem__ = _refuse
    append = extend = insert = remove = clear = sort = reverse = _refuse
    pop = _refuse
    __iadd__ = __imul__ = _refuse

    def __deepcopy__(self, memo: object) -> list[Any]:
        return [_thawed(value) for value in self]

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (_thawed(self),)


def _thawed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _thawed(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_thawed(each) for each in value]
    return value
