"""Begin a turn: resolve who answers what, hold what is needed, begin with what is stored."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from oneclaw_core.contract.arguments import CommandUse, SessionInfo, TurnInfo
from oneclaw_core.errors import DuplicateToolError, NotFoundError, UsageError
from oneclaw_core.plugins.plugin import PROGRAM_PLUGIN
from oneclaw_core.sessions.background import BACKGROUND_SETTING
from oneclaw_core.sessions.conversations import Conversations, shortened
from oneclaw_core.sessions.sessions import new_id
from oneclaw_core.tools.registry import RegisteredTool, ToolRegistry, definition_of
from oneclaw_core.turn.call_records import INTERRUPTED
from oneclaw_core.turn.state import SessionState, TurnParts, TurnState
from oneclaw_core.turn.stream import Deadline, Emit
from oneclaw_core.turn.turn_hooks import TurnHooks, marked_context
from oneclaw_core.types.budget import SpendingLimits, TurnBudget
from oneclaw_core.types.messages import Message, MessageType
from oneclaw_core.types.provenance import Mark, MarkKind
from oneclaw_core.types.tools import Tool, ToolSelection, ToolSourceInfo, ToolSourceType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from contextlib import AsyncExitStack

    from oneclaw_core.config.core_settings import Settings
    from oneclaw_core.sessions.turns import TurnSetup, TurnStart
    from oneclaw_core.turn.turn_request import TurnRequest
    from oneclaw_core.types.agents import Agent
    from oneclaw_core.types.events import TurnEvent


async def resolve(parts: TurnParts, request: TurnRequest) -> tuple[TurnState, TurnSetup]:
    """Settle who answers what; nothing is stored or locked.

    Returns:
        The turn, with the tool groups to load as those of its request, and what the store says.

    Raises:
        UsageError: something is not there, or not as it must be.
    """
    request = request.checked()
    setup = await parts.store.turn_setup(request.session, request.agent_name)
    settings = parts.choices.read(setup)
    await parts.plugins.refresh_settings(setup.settings)
    agent, model = await parts.models.choose(setup, request)
    if request.within is not None:
        agent = replace(agent, selection=agent.selection.narrowed_to(request.within.selection))
    parts.choices.use_setup(setup)
    if request.command is not None or request.tool_groups is not None:
        # Else the turn does so, before its first request.
        await parts.tool_sources.refresh()
    groups: tuple[str, ...] = ()
    if request.tool_groups is not None:
        wanted = tuple(request.tool_groups)
        agent = replace(agent, selection=agent.selection.narrowed_to(ToolSelection(groups=frozenset(wanted))))
        selected = parts.registry.toolset(agent.selection)
        groups = tuple(name for name in wanted if selected.has_group(name))
    message = Message(type=MessageType.USER, content=request.text, attachments=tuple(request.attachments))
    if request.command is not None:
        message, of_command = await _expanded(parts, request.command, message, agent)
        groups += of_command
    info = SessionInfo(
        id=new_id(), agent=agent.name, parent_id=request.within.session_id if request.within is not None else None
    )
    turn = TurnState(
        parts=parts,
        request=replace(request, tool_groups=groups),
        settings=settings,
        session=SessionState(info=setup.session or info, agent=agent),
        model=model,
        budget=turn_budget(request, agent, settings),
        deadline=Deadline(settings.turn_deadline_seconds),
        message=message,
        own_tools=tools_of_turn(request.tools, parts.registry) if request.tools != () else {},
    )
    turn.ending = parts.ending_of(turn)
    return turn, setup


async def _expanded(parts: TurnParts, command: str, message: Message, agent: Agent) -> tuple[Message, tuple[str, ...]]:
    """Have a plugin expand a command, and return the message and the tool groups to load.

    Raises:
        NotFoundError: no plugin has it.
    """
    use = CommandUse(name=command, arguments=message.content, agent=agent.name, selection=agent.selection)
    expanded = await parts.plugins.expand_command(use)
    if expanded is None:
        hint = parts.registry.how_to_get("plugin", "skills")
        raise NotFoundError(f"no plugin has the command {command!r}" + (f"; if it is a skill, {hint}" if hint else ""))
    outside = (Mark(MarkKind.COMPOSED, ""), Mark.of(MarkKind.OUTSIDE, expanded.outside)) if expanded.outside else ()
    return replace(message, content=expanded.text, marks=outside), expanded.groups


def turn_budget(request: TurnRequest, agent: Agent, settings: Settings) -> TurnBudget:
    """Return what the turn may take; of its limits, the strictest hold."""
    spending = [
        SpendingLimits(
            turn_max_tokens=agent.limits.turn_max_tokens, turn_max_cost=agent.limits.turn_max_cost, agent=agent.name
        ),
        SpendingLimits(
            turn_max_tokens=settings.turn_max_tokens,
            turn_max_cost=settings.turn_max_cost,
            day_max_tokens=settings.day_max_tokens,
            day_max_cost=settings.day_max_cost,
        ),
    ]
    rounds = [settings.turn_max_tool_rounds, agent.limits.max_tool_rounds]
    if (own := request.limits) is not None:
        rounds.append(own.max_tool_rounds)
        limits = SpendingLimits(
            turn_max_tokens=own.turn_max_tokens, turn_max_cost=own.turn_max_cost, is_of_message=True
        )
        spending.insert(0, limits)
    outer = request.within.turn if request.within is not None else None
    return TurnBudget(spending, min(filter(None, rounds)), outer.budget if outer is not None else None)


async def hold(stack: AsyncExitStack, turn: TurnState, wait_seconds: float) -> None:
    """Hold the provider and the session's lock until the stack is closed.

    Raises:
        SessionBusyError: another turn of the session did not end in time.
    """
    await stack.enter_async_context(turn.parts.models.held(turn.model))
    turn.model = await turn.model.measured()
    await stack.enter_async_context(turn.store.session_lock(turn.session_id, wait_seconds))


async def govern(stack: AsyncExitStack, turn: TurnState) -> None:
    """Ask the people of the turn, and let plugins observe and refuse it, until the stack is closed.

    Raises:
        TurnRefusedError: a plugin refuses it.
    """
    request = turn.request
    stack.enter_context(turn.parts.people.answered_by(turn.session_id, request.ask, request.ask_user))
    turn.hooks = hooks_on(turn)
    if turn.hooks is not None:
        turn.emit = _observed(turn.emit, await stack.enter_async_context(turn.hooks.turn()))
        await turn.hooks.check()


def hooks_on(turn: TurnState) -> TurnHooks | None:
    """Return the hooks of plugins on a turn; ``None`` if no plugin has any."""
    parts, info, within = turn.parts, turn.session.info, turn.request.within
    if not parts.plugins.follows_turns:
        return None
    asking: str | None = info.id
    if within is not None:
        asking = within.session_id if within.turn is None else within.turn.permission_session(within.session_id)
    seen = TurnInfo(
        id=new_id(),
        session=info,
        agent=turn.session.agent.name,
        model=turn.model.asked_name,
        text=turn.message.content,
        can_ask=parts.people.can_ask_in(asking),
        parent_call_id=within.call_id if within is not None else None,
    )
    return TurnHooks(parts.plugins, seen)


def _observed(emit: Emit, observe: Callable[[TurnEvent], None]) -> Emit:
    async def observed(event: TurnEvent) -> None:
        observe(event)
        await emit(event)

    return observed


async def begin(turn: TurnState, setup: TurnSetup, conversations: Conversations) -> None:
    """Store the user's message, a session without a name together with it, and load the session."""
    store, session = turn.store, turn.session
    is_new = setup.session is None and session.info.name is None
    prompt = session.prompt = await turn.parts.prompts.of(
        session.info, session.agent, is_new=is_new, is_cached=turn.model.writes_summaries
    )
    content = turn.message.content
    if turn.hooks is not None:
        content = await turn.hooks.with_context(content)
    if prompt.news:
        content = f"{content}\n\n{marked_context('oneclaw', prompt.news)}"
    told: list[str] = []
    if not is_new and any(key.startswith(BACKGROUND_SETTING) for key in setup.settings):
        news, told = await turn.parts.background.news_for(session.info.id, setup.settings)
        if news:
            content = f"{content}\n\n{marked_context('oneclaw', news)}"
    turn.message = replace(turn.message, content=content, marks=await _marks_of(turn))
    if is_new:
        row, start = await store.begin_session_with_turn(
            session.info.id,
            turn.message,
            agent=session.agent.name,
            model=turn.request.kept_model,
            title=shortened(title_of(turn.request)),
            parent_id=session.info.parent_id,
            prompt_sections=prompt.sections,
            prompt_lists=prompt.lists(),
            directory=conversations.directory,
        )
        conversations.observe("session_created", row)
    else:
        limit = turn.settings.history_max_characters
        start = await store.begin_turn(
            session.info.id, turn.message, INTERRUPTED, limit, prompt.sections, prompt.lists()
        )
    if told:
        await turn.parts.background.told(told)
    turn.ending.begin(start.history[-1])
    use(turn, start)


def title_of(request: TurnRequest) -> str:
    """Return the title of a session that a message begins."""
    return request.text if request.command is None else f"/{request.command} {request.text.strip()}".rstrip()


async def _marks_of(turn: TurnState) -> tuple[Mark, ...]:
    """Return the marks of a message: of what the user gives from elsewhere, or of a model's conversation."""
    request, within = turn.request, turn.request.within
    origins = [f"the attached file {each.name}" for each in turn.message.attachments]
    marks = [Mark.of(kind, origin) for kind in (MarkKind.OUTSIDE, MarkKind.PRIVATE) for origin in origins]
    if request.files:
        marks += await turn.parts.executor.origins.marks_of_attached(request.files)
    marks += turn.message.marks
    if within is not None:
        own = (each.passed_on() for each in within.marks)
        marks += [Mark(MarkKind.COMPOSED, ""), *within.conversation.marks(), *own]
    return tuple(dict.fromkeys(marks))


async def look(turn: TurnState) -> TurnStart:
    """Load a stored session without beginning a turn, and return what is stored."""
    session = turn.session
    is_cached = turn.model.writes_summaries
    session.prompt = await turn.parts.prompts.of(session.info, session.agent, is_cached=is_cached)
    start = await turn.store.load_turn(session.info.id, turn.settings.history_max_characters)
    use(turn, start)
    return start


def use(turn: TurnState, start: TurnStart) -> None:
    """Continue from what is stored; the turn's time begins now."""
    turn.parts.choices.use_start(start)
    turn.session.load(start)
    turn.deadline = Deadline(turn.settings.turn_deadline_seconds)


OF_TURN = ToolSourceInfo(ToolSourceType.PLUGIN, plugin=PROGRAM_PLUGIN)


def tools_of_turn(given: Iterable[Tool], registry: ToolRegistry) -> Mapping[str, RegisteredTool]:
    """Return the tools of a turn by their names, in the order in which they were given.

    Raises:
        UsageError: they are no list.
        ToolDefinitionError: one is no tool.
        DuplicateToolError: the name of one is taken.
    """
    try:
        tools = tuple(given)
    except TypeError:
        raise UsageError(f"tools must be a list of tools, not {type(given).__name__}") from None
    found: dict[str, RegisteredTool] = {}
    for tool in tools:
        definition = definition_of(tool)
        name = definition.name
        if name in found or registry.find(name) is not None:
            holder = "given twice" if name in found else "there already"
            raise DuplicateToolError(f"a tool named {name!r} is {holder}: give the tool of this turn another name")
        found[name] = RegisteredTool(tool, definition, OF_TURN)
    return found
