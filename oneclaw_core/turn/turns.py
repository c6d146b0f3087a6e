"""Prepare turns of an open home and run them."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from oneclaw_core.contract.arguments import CommandUse, SessionInfo, TurnInfo
from oneclaw_core.errors import NotFoundError, UsageError
from oneclaw_core.sessions.background import BACKGROUND_SETTING
from oneclaw_core.sessions.for_plugins import no_session, session_info
from oneclaw_core.sessions.sessions import new_id
from oneclaw_core.system.distributions import why_missing
from oneclaw_core.tools.calls.call import Caller, ToolOutcome
from oneclaw_core.turn.attachments import check_attachments, checked_attachments
from oneclaw_core.turn.context import check_texts, turn_context
from oneclaw_core.turn.conversations import shortened
from oneclaw_core.turn.stream import StopRequests, TurnTracker
from oneclaw_core.turn.turn import INTERRUPTED, Turn
from oneclaw_core.turn.turn_hooks import TurnHooks, marked_context
from oneclaw_core.types.agents import GENERAL_ASSISTANT
from oneclaw_core.types.events import CompactedEvent, TurnFinishedEvent
from oneclaw_core.types.frozen_dataclass import frozen_dataclass
from oneclaw_core.types.messages import Message, MessageType, ToolCall
from oneclaw_core.types.provenance import Mark, MarkKind
from oneclaw_core.types.tools import ToolResult, ToolSelection

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable

    from oneclaw_core.config.core_settings import Settings
    from oneclaw_core.contract.arguments import ExpandedMessage
    from oneclaw_core.sessions.sessions import Session
    from oneclaw_core.sessions.turns import TurnSetup, TurnStart
    from oneclaw_core.tools.client import ToolClient
    from oneclaw_core.tools.context import ToolContext
    from oneclaw_core.turn.context import NewMessage, TurnParts
    from oneclaw_core.turn.conversations import Conversations
    from oneclaw_core.turn.model import ChosenModel
    from oneclaw_core.turn.stream import Emit
    from oneclaw_core.types.agents import Agent
    from oneclaw_core.types.events import TurnEvent
    from oneclaw_core.types.messages import Attachment


@frozen_dataclass(kw_only=True)
class _Prepared:
    """A message whose agent, model and content are settled.

    Attributes:
        message: as it was sent.
        setup: what the store said.
        settings: read from it.
        agent: with its toolset for this turn.
        model: answers the turn.
        text: for the model.
        title: of a session that it begins.
        groups: tool groups to load first.
        attachments: checked.
        outside: where the text comes from if it is not the user's own.
    """

    message: NewMessage
    setup: TurnSetup
    settings: Settings
    agent: Agent
    model: ChosenModel
    text: str
    title: str
    groups: tuple[str, ...]
    attachments: tuple[Attachment, ...]
    outside: str

    @property
    def parent_id(self) -> str | None:
        """The session of the tool call that the turn is run for."""
        return self.message.within.session_id if self.message.within is not None else None


class Turns:
    """The turns of an open home.

    Args:
        parts: that every turn works with.
        conversations: begins sessions.

    Attributes:
        tracker: knows the turns that run.
    """

    def __init__(self, parts: TurnParts, conversations: Conversations) -> None:
        self._parts = parts
        self._store = parts.store
        self._plugins = parts.plugins
        self._conversations = conversations
        self.tracker = TurnTracker()
        self._stops = StopRequests(parts.store.stop_requests, parts.store.withdraw_stop)

    def send(self, message: NewMessage) -> AsyncGenerator[TurnEvent, None]:
        """Run a turn and yield its events; see :meth:`oneclaw_core.OneClaw.send_message`."""
        return self.tracker.stream(partial(self._send, message))

    async def _send(self, message: NewMessage, emit: Emit) -> None:
        if message.resumes and message.session is None:
            found = await self._store.last_used_session()
            if found is None:
                raise UsageError("there is no session to resume: send a message")
            message = replace(message, session=found.id)
        prepared = await self._prepare(message)
        async with (
            self._parts.providers.acquired(prepared.model.provider),
            prepared.model.fallback or nullcontext(),
        ):
            if prepared.model.fallback is None and hasattr(prepared.model.provider, "find_context_window"):
                prepared = replace(prepared, model=await prepared.model.measured())
            session, info = await self._session_of(prepared)
            wait_seconds = 0.0 if message.resumes else prepared.settings.session_wait_seconds
            async with self._store.session_lock(info.id, wait_seconds):
                start: TurnStart | None = None
                if message.resumes:
                    start = await self._unfinished(prepared, info)
                    last = start.history[-1]
                    if last.not_sent is not None:
                        raise UsageError(
                            f"the model service refused the last message: {last.not_sent}; send another one"
                        )
                    if last.type is MessageType.ASSISTANT and not last.is_incomplete:
                        await emit(TurnFinishedEvent(info.name or info.id, last.content))
                        return
                    prepared = replace(prepared, text=_question(start))
                with self._parts.permissions.answered_by(info.id, message.ask, message.ask_user):
                    hooks = self._hooks(info, prepared.agent, prepared.model, prepared.text, message.within)
                    async with hooks.turn() if hooks is not None else nullcontext() as observe:
                        if observe is not None:
                            emit = _observed(emit, observe)
                        await self._run(prepared, session, info, hooks, emit, start)

    async def _unfinished(self, prepared: _Prepared, info: SessionInfo) -> TurnStart:
        """Read where the last turn of a session stands, under the session's lock.

        Raises:
            UsageError: the session has no turn.
        """
        prompt = await self._parts.prompt_of(info, prepared.agent)
        start = await self._store.resume_turn(
            info.id, prepared.settings.history_max_characters, prompt.sections, prompt.lists()
        )
        if not start.history:
            raise UsageError(f"session {info.name or info.id!r} has no turn to resume: send it a message")
        return start

    async def _prepare(self, message: NewMessage) -> _Prepared:
        """Settle who answers what, before the session is locked or begun."""
        message.check()
        attachments = () if message.attachments == () else checked_attachments(message.attachments)
        setup = await self._store.turn_setup(message.session, message.agent)
        settings = self._parts.settings.read(setup.settings)
        await self._plugins.refresh_settings(setup.settings)
        agent, model = await self._parts.models.choose(
            setup,
            message.agent,
            message.model,
            message.within,
            message.reasoning,
            message.parameters,
            message.max_output_tokens,
        )
        if message.within is not None:
            agent = replace(agent, selection=agent.selection.narrowed_to(message.within.selection))
        self._parts.apply_settings(setup.settings)
        self._parts.registry.set_disabled(setup.tool_states.disabled_tools, setup.tool_states.disabled_groups)
        text = title = message.text
        groups: tuple[str, ...] = ()
        outside = ""
        if message.command is not None or message.tool_groups is not None:
            # Else the turn does so, before its first request.
            await self._parts.tool_sources.refresh()
        if message.tool_groups is not None:
            wanted = tuple(message.tool_groups)
            agent = replace(agent, selection=agent.selection.narrowed_to(ToolSelection(groups=frozenset(wanted))))
            selected = self._parts.registry.toolset(agent.selection)
            groups = tuple(name for name in wanted if selected.has_group(name))
        if message.command is not None:
            title = f"/{message.command} {text.strip()}".rstrip()
            expanded = await self._expanded(message.command, text, agent)
            text, groups, outside = expanded.text, (*groups, *expanded.groups), expanded.outside
        if attachments:
            if model.fallback is not None:
                model = await model.fallback.first(attachments)
            check_attachments(attachments, model.attachment_media_types, model.full_name)
        return _Prepared(
            message=message,
            setup=setup,
            settings=settings,
            agent=agent,
            model=model,
            text=text,
            title=title,
            groups=groups,
            attachments=attachments,
            outside=outside,
        )

    async def _expanded(self, command: str, text: str, agent: Agent) -> ExpandedMessage:
        """Have a plugin expand a command.

        Raises:
            NotFoundError: no plugin has it.
        """
        use = CommandUse(name=command, arguments=text, agent=agent.name, selection=agent.selection)
        expanded = await self._plugins.expand_command(use)
        if expanded is None:
            raise NotFoundError(
                f"no plugin has the command {command!r}; if it is a skill, it needs the plugin skills, which "
                f"{why_missing('skills', self._parts.registry.absent_plugins)}"
            )
        return expanded

    async def _session_of(self, prepared: _Prepared) -> tuple[Session | None, SessionInfo]:
        """Find or begin the session of a message; one without a name begins with its first message."""
        session, message = prepared.setup.session, prepared.message
        if session is None and message.resumes:
            raise no_session(message.session or "")
        if session is None and message.session is not None:
            session = await self._conversations.begin(
                message.session, prepared.agent.name, message.model, prepared.title, prepared.parent_id
            )
        if session is None:
            return None, SessionInfo(id=new_id(), agent=prepared.agent.name, parent_id=prepared.parent_id)
        about = SessionInfo(id=session.id, name=session.name, agent=session.agent, parent_id=session.parent_id)
        return session, about

    async def _run(
        self,
        prepared: _Prepared,
        session: Session | None,
        info: SessionInfo,
        hooks: TurnHooks | None,
        emit: Emit,
        start: TurnStart | None,
    ) -> None:
        """Store the message, unless the turn has begun already, and run the turn, under the session's lock."""
        settings = prepared.settings
        if hooks is not None:
            await hooks.check()
        prompt = await self._parts.prompt_of(
            info, prepared.agent, is_new=session is None, is_cached=prepared.model.writes_summaries
        )
        if start is None:
            content = prepared.text if hooks is None else await hooks.with_context(prepared.text)
            if prompt.news:
                content = f"{content}\n\n{marked_context('oneclaw', prompt.news)}"
            stored, told = prepared.setup.settings, list[str]()
            if session is not None and any(key.startswith(BACKGROUND_SETTING) for key in stored):
                news, told = await self._parts.background.news_for(session.id, stored)
                if news:
                    content = f"{content}\n\n{marked_context('oneclaw', news)}"
            sent = prepared.message
            is_marked = bool(prepared.attachments or sent.files or prepared.outside) or sent.within is not None
            marks = await self._marks_of(prepared) if is_marked else ()
            message = Message(type=MessageType.USER, content=content, attachments=prepared.attachments, marks=marks)
            if session is not None:
                start = await self._store.begin_turn(
                    session.id, message, INTERRUPTED, settings.history_max_characters, prompt.sections, prompt.lists()
                )
            else:
                session, start = await self._store.begin_session_with_turn(
                    info.id,
                    message,
                    agent=prepared.agent.name,
                    model=prepared.message.model,
                    title=shortened(prepared.title),
                    parent_id=prepared.parent_id,
                    prompt_sections=prompt.sections,
                    prompt_lists=prompt.lists(),
                    directory=self._conversations.directory,
                )
                self._conversations.observe("session_created", session)
            if told:
                await self._parts.background.told(told)
        assert session is not None
        self._parts.apply_states(start)
        context = turn_context(session, prepared.agent, prepared.model, settings, hooks, prompt, prepared.message)
        async with self._stops.watching(session.id, context.deadline):
            turn = (_resumed_turn() if start.pending_calls else Turn)(self._parts, context, emit)
            try:
                await turn.run(start, prepared.groups)
            finally:
                if prepared.message.within is not None:
                    # The answer is made of all that the session holds.
                    prepared.message.within.marks.extend(turn.provenance.marks())

    async def _marks_of(self, prepared: _Prepared) -> tuple[Mark, ...]:
        """Return the marks of a message: of what the user gives from elsewhere, or of a model's conversation."""
        origins = [f"the attached file {each.name}" for each in prepared.attachments]
        marks = [Mark.of(kind, origin) for kind in (MarkKind.OUTSIDE, MarkKind.PRIVATE) for origin in origins]
        marks += await self._parts.executor.origins.marks_of_attached(prepared.message.files)
        if prepared.outside:
            marks += [Mark(MarkKind.COMPOSED, ""), Mark.of(MarkKind.OUTSIDE, prepared.outside)]
        within = prepared.message.within
        if within is not None:
            own = (each.passed_on() for each in within.marks)
            marks += [Mark(MarkKind.COMPOSED, ""), *within.conversation.marks(), *own]
        return tuple(dict.fromkeys(marks))

    async def compact(self, session: str, agent: str | None, model: str | None) -> CompactedEvent | None:
        """Summarise all but the last turn; see :meth:`oneclaw_core.OneClaw.compact`."""
        check_texts(session=session, agent=agent, model=model)
        compacted: list[CompactedEvent] = []

        async def emit(event: TurnEvent) -> None:
            if isinstance(event, CompactedEvent):
                compacted.append(event)

        with self.tracker.of_this_task():
            setup = await self._store.turn_setup(session, agent)
            settings = self._parts.settings.read(setup.settings)
            found = setup.session
            if found is None:
                raise no_session(session)
            persona, chosen = await self._parts.models.choose(setup, agent, model)
            hooks = self._hooks(session_info(found), persona, chosen, "", None)
            async with (
                self._parts.providers.acquired(chosen.provider),
                chosen.fallback or nullcontext(),
                self._store.session_lock(found.id, settings.session_wait_seconds),
            ):
                self._parts.registry.set_disabled(setup.tool_states.disabled_tools, setup.tool_states.disabled_groups)
                prompt = await self._parts.prompt_of(session_info(found), persona)
                if chosen.fallback is None and hasattr(chosen.provider, "find_context_window"):
                    chosen = await chosen.measured()
                start = await self._store.load_turn(found.id, settings.history_max_characters, prompt.sections)
                self._parts.apply_states(start)
                context = turn_context(found, persona, chosen, settings, hooks, prompt)
                async with self._stops.watching(found.id, context.deadline):
                    await Turn(self._parts, context, emit).compact(start)
        return compacted[-1] if compacted else None

    async def call_tool(
        self,
        name: str,
        arguments: str,
        caller: Literal["program", "command line"],
        client: ToolClient | None = None,
    ) -> ToolOutcome:
        """Run one tool outside a conversation; see :meth:`oneclaw_core.OneClaw.call_tool`."""
        parts = self._parts
        states = await parts.refresh_states()
        await parts.plugins.refresh_settings(states.settings)
        await parts.tool_sources.refresh()
        call = ToolCall(new_id(), name, arguments)
        with self.tracker.of_this_task():
            if client is not None:
                return await self._call_for(client, call, caller)
            behalf = Caller(parts.registry.toolset().all_active, GENERAL_ASSISTANT.name, kind=caller)
            (outcome,) = await parts.executor.execute([call], behalf)
        return outcome

    async def _call_for(
        self, client: ToolClient, call: ToolCall, caller: Literal["program", "command line"]
    ) -> ToolOutcome:
        parts = self._parts
        found = parts.registry.find(call.name)
        if client.is_read_only and found is not None and not found.definition.read_only:
            text = f"Tool '{call.name}' may change something, and this call is for reading alone."
            return ToolOutcome(call, ToolResult.error("not_available", text), 0.0)
        asked_in = f"{client.name}/{call.id}"
        behalf = Caller(
            parts.registry.toolset(client.selection).all_active,
            client.agent,
            selection=client.selection,
            kind=caller,
            conversation=client.provenance,
            # Each call asks for itself, so that no client waits for the answer of another.
            asked_in=asked_in,
        )
        outcome: ToolOutcome | None = None
        asked = parts.permissions.answered_by(
            asked_in, client.ask, client.ask_user, or_nobody=True, shows_forms=client.shows_forms
        )
        with asked:
            async for item in parts.executor.execute_as_completed([call], behalf):
                if isinstance(item, ToolOutcome):
                    outcome = item
                elif client.progress is not None:
                    await client.progress(item.message, item.fraction)
        assert outcome is not None
        return outcome

    def _hooks(
        self, session: SessionInfo, agent: Agent, model: ChosenModel, text: str, within: ToolContext | None
    ) -> TurnHooks | None:
        """Return the hooks of plugins on a turn; ``None`` if no plugin has any."""
        if not self._plugins.follows_turns:
            return None
        asking = session.id if within is None else within.session_id
        if within is not None and within.turn is not None:
            asking = within.turn.permission_session(within.session_id)
        turn = TurnInfo(
            id=new_id(),
            session=session,
            agent=agent.name,
            model=model.full_name if model.fallback is None else model.fallback.name,
            text=text,
            can_ask=self._parts.permissions.can_ask_in(asking),
            parent_call_id=within.call_id if within is not None else None,
        )
        return TurnHooks(self._plugins, turn)


def _resumed_turn() -> type[Turn]:
    from oneclaw_core.turn.resumed_turn import ResumedTurn

    return ResumedTurn


def _question(start: TurnStart) -> str:
    """Return the user's message that a turn answers."""
    return next((each.content for each in reversed(start.history) if each.type is MessageType.USER), "")


def _observed(emit: Emit, observe: Any) -> Emit:
    def observed(event: TurnEvent) -> Awaitable[None]:
        observe(event)
        return emit(event)

    return observed
