"""The class OneClaw: the facade of an open home."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from oneclaw_core.tool_sources.published_tools import add_program_tools
from oneclaw_core.turn.turn_request import TurnRequest, check_texts
from oneclaw_core.types.agents import GENERAL_ASSISTANT, Agent, AgentLimits, ReasoningLevel
from oneclaw_core.types.events import CompactedEvent, TurnEvent, TurnFinishedEvent

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
    from pathlib import Path

    from oneclaw_core.agents.service import AgentService
    from oneclaw_core.config.configuration import Configuration
    from oneclaw_core.config.core_settings import Settings
    from oneclaw_core.contract.home_services import HomeServices
    from oneclaw_core.permissions.requests import PermissionAnswer, PermissionRequest
    from oneclaw_core.plugins.catalog import Catalog
    from oneclaw_core.plugins.running.runtime import Plugins
    from oneclaw_core.previews.preview import RequestPreview, SessionStatus
    from oneclaw_core.providers.model_object import ModelObject, ProviderModel
    from oneclaw_core.sessions.background import Background
    from oneclaw_core.sessions.sessions import Session
    from oneclaw_core.sessions.store import Store
    from oneclaw_core.system.home import Home
    from oneclaw_core.tools.calls.call import ToolClient, ToolOutcome
    from oneclaw_core.tools.context import ToolContext
    from oneclaw_core.types.messages import Attachment
    from oneclaw_core.types.model_requests import ModelRequest
    from oneclaw_core.types.tool_groups import ToolGroupDefinition
    from oneclaw_core.types.tools import Tool
    from oneclaw_core.types.user_question import UserAsker
    from oneclaw_core.wiring import OpenHome

_Value = TypeVar("_Value")


class OneClaw:
    """An open home: sessions, tools, models. Made by :meth:`open`.

    Attributes:
        home: where everything lies.
        catalog: what plugins brought.
        store: sessions, messages and settings.
        agents: the agents there are, and making, changing and deleting them.
        configuration: what the user sets, and changing it.
        plugins: the plugins at work.
        background: sub-agents and commands that go on beside the turns.
        services: the part of all this that tools may use.
    """

    def __init__(self, opened: OpenHome) -> None:
        self._opened = opened
        self.catalog: Catalog = opened.catalog
        self.store: Store = opened.parts.store
        self.plugins: Plugins = opened.parts.plugins
        self.background: Background = opened.parts.background
        self.services: HomeServices = opened.services
        self.home: Home = opened.services.home
        self.agents: AgentService = opened.services.agents
        self.configuration: Configuration = opened.services.configuration

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        home: str | Path | None = None,
        *,
        ask: Callable[[PermissionRequest], Awaitable[PermissionAnswer]] | None = None,
        ask_user: UserAsker | None = None,
        allow: Iterable[str] = (),
        environ: Mapping[str, str] | None = None,
        start_directory: str | Path | None = None,
        plugins: Iterable[object] | None = None,
        deps: object = None,
    ) -> AsyncGenerator[OneClaw, None]:
        """Open a home, creating it if need be, and close everything at the end.

        Args:
            home: the directory; by default ``ONECLAW_HOME``, else the platform's place for user data.
            ask: asks the user for a permission; without it what is not granted is denied.
            ask_user: asks the user a question of a tool, a ``UserQuestion``, and returns the answer; ``None`` where
                no one can be asked.
            allow: permissions granted for as long as the home is open.
            environ: the environment with keys and settings; by default the program's own.
            start_directory: where tools may read beside the workspace; by default the current directory.
            plugins: the plugins to load instead of all that are installed: entry points, names of installed plugins
                or packages, modules with hooks, or objects with hooks. Async code of modules and objects runs on the
                running event loop, that of installed plugins each on a loop in a thread. List ``builtin`` too for the
                core tools, such as ``load_tool_group``.
            deps: what tools of the embedding program get as ``context.deps``.

        Raises:
            OneClawError: the home or its database cannot be used.
        """
        from oneclaw_core.wiring import open_home

        async with open_home(
            home,
            ask=ask,
            ask_user=ask_user,
            allow=allow,
            environ=environ,
            start_directory=start_directory,
            plugins=plugins,
            deps=deps,
        ) as opened:
            yield cls(opened)

    @asynccontextmanager
    async def configured_model(self, name: str) -> AsyncGenerator[ProviderModel, None]:
        """Hold a configured model as an object, to ask it outside of any turn; its provider is closed with the home.

        Args:
            name: ``PROVIDER/MODEL``.

        Raises:
            NotFoundError: there is no such provider.
            UsageError: other models stand behind it.
        """
        async with self._opened.models.configured(name, await self.store.settings()) as model:
            yield model

    async def begin_session(
        self, name: str | None = None, *, agent: str | None = None, model: str | None = None, title: str | None = None
    ) -> Session:
        """Begin a session; if there is one of that name already, go on with it.

        Args:
            name: what to call it, ``None`` for a session without a name.
            agent: the agent's name; by default the General Assistant.
            model: ``PROVIDER/MODEL``, ``None`` to choose anew at each message.
            title: what it is about, shortened to a line.

        Raises:
            NotFoundError: there is no such agent.
        """
        check_texts(name=name, agent=agent, model=model, title=title)
        persona = GENERAL_ASSISTANT if agent is None else await self.agents.get(agent)
        return await self._opened.conversations.begin(name, persona.name, model, title)

    async def branch_session(self, session: str, name: str | None = None, *, before: int | None = None) -> Session:
        """Begin a session with a copy of the history of another one, which stays as it is.

        Args:
            session: the name or id of the other one.
            name: what to call the new one; ``None`` for a session without a name.
            before: the ``sequence`` of the first message that is not copied; ``None`` to copy all.

        Raises:
            NotFoundError: there is no such session.
            UsageError: the name is taken, or there is nothing to copy.
        """
        check_texts(session=session, name=name)
        return await self._opened.conversations.branch(session, name, before)

    async def delete_session(self, session: str) -> None:
        """Delete a session with its history.

        Args:
            session: its name or id.

        Raises:
            NotFoundError: there is no such session.
            SessionBusyError: a turn of it is under way.
        """
        deleted = await self._opened.conversations.delete(session)
        self._opened.permissions.decisions.forget_session(deleted.id)

    def send_message(
        self,
        text: str,
        *,
        session: str | None = None,
        agent: str | Agent | None = None,
        model: str | ModelObject | None = None,
        system_prompt: str | None = None,
        deps: object = None,
        attachments: Iterable[Attachment] = (),
        files: Iterable[str] = (),
        within: ToolContext | None = None,
        command: str | None = None,
        tool_groups: Iterable[str] | None = None,
        limits: AgentLimits | None = None,
        ask: Callable[[PermissionRequest], Awaitable[PermissionAnswer]] | None = None,
        ask_user: UserAsker | None = None,
        reasoning: ReasoningLevel | None = None,
        parameters: Mapping[str, Any] | None = None,
        max_output_tokens: int | None = None,
        task: str | None = None,
        steering: list[str] | None = None,
        tools: Iterable[Tool] = (),
        output: Any = None,
        output_retries: int = 2,
    ) -> AsyncGenerator[TurnEvent, None]:
        """Send a message and yield what happens until the model's final answer.

        Nothing is done before the first event is asked for. Closing the generator, closing the home, or cancelling
        ends the turn: what its tools have not finished is answered as interrupted.

        Args:
            text: the message; with a command, its arguments, may be empty.
            session: the session's name or id; a new name begins a session, ``None`` one without a name.
            agent: the agent's name or id, or an ``Agent`` that is not stored; by default the session's.
            model: ``PROVIDER/MODEL``, or a model object that is not stored; by default the session's, the agent's, the
                environment's or the setting's.
            system_prompt: the instructions of this turn, in place of the agent's.
            deps: what tools get as ``context.deps`` in this turn; ``None`` for what the home was opened with.
            attachments: files for the model to look at.
            files: names of files whose text stands in the message; it counts as private, and as text from outside, as
                that of attachments does.
            within: the tool call on whose behalf the message is sent. The turn then keeps within the limits and the
                tools of the turn that made the call, is answered by its model unless the agent has one, and a session
                that it begins is a part of that one's.
            command: a command that a plugin expands into the message, such as the name of a skill.
            tool_groups: the only tool groups that the turn is offered, loaded before the model is asked, as far as
                they are there; ``None`` for all of the agent's, none of them loaded.
            limits: what the turn may take, beside the agent's limits and the settings; the strictest hold.
            ask: asks for permissions during this turn, instead of what the home was opened with.
            ask_user: asks questions of tools; with either of the two, the home's are not used in this turn.
            reasoning: how much the model is to think: ``off``, ``low``, ``medium`` or ``high``; by default what is set
                for the agent or the model, else the service's own.
            parameters: sampling parameters of this turn, such as ``temperature``, in place of the agent's.
            max_output_tokens: the longest answer wanted of the model in this turn.
            task: the id of the scheduled task that the turn is run for, whose grants then hold too.
            steering: a list that the user's messages are put into while the turn runs. After the next results of tools
                the turn stores them, removes them from the list, and has the model read them. What is left when the
                turn ends was not said; send it as the next message.
            tools: tools for this turn alone, beside the agent's, such as what the client of a program can do. They run
                on the event loop of the program, stand behind all other tools, and are in no list. A turn that is
                resumed does not have them.
            output: what the answer is to be, in place of a text: a type that pydantic can validate, such as a model or
                ``Report | Refusal``, a JSON Schema as a dictionary, or an ``Output``. ``TurnFinishedEvent.output`` is
                the value; while the model writes, an ``OutputEvent`` has the part that has arrived, where it is known.
            output_retries: how often the model is told what is wrong with its output, from 0 to 20.

        Yields:
            ``TurnFinishedEvent`` last.

        Raises:
            UsageError: there is no such agent, provider, model or command, the message is empty, an argument is of
                another type, the model cannot look at an attachment, a tool of the turn has a name that is taken, or
                the output cannot be described by JSON Schema.
            SessionBusyError: another turn of the session did not end in time.
            ProviderError: the model could not be asked; the session is intact.
            TurnError: the turn reached a limit; ``OutputError`` if the model gives no valid output.
        """
        return self._opened.turns.send(
            TurnRequest(
                text=text,
                session=session,
                agent=agent,
                model=model,
                system_prompt=system_prompt,
                deps=deps,
                attachments=attachments,
                files=files,
                within=within,
                command=command,
                tool_groups=tool_groups,
                limits=limits,
                ask=ask,
                ask_user=ask_user,
                reasoning=reasoning,
                parameters=parameters or {},
                max_output_tokens=max_output_tokens,
                task=task,
                steering=steering,
                tools=tools,
                output=output,
                output_retries=output_retries,
            )
        )

    @overload
    async def ask(self, text: str, *, output: type[_Value], **options: Any) -> _Value: ...
    @overload
    async def ask(self, text: str, *, output: None = None, **options: Any) -> str: ...
    @overload
    async def ask(self, text: str, *, output: object, **options: Any) -> Any: ...
    async def ask(self, text: str, *, output: Any = None, **options: Any) -> Any:
        """Send a message and return the final answer.

        Args:
            text: the message.
            output: what the answer is to be, in place of a text, as for :meth:`send_message`.
            options: the others of :meth:`send_message`.

        Returns:
            The text; with ``output``, the value.

        Raises:
            OneClawError: as for :meth:`send_message`.
            OutputError: the model gives no valid output, or declines to.
        """
        finished: TurnFinishedEvent | None = None
        # To its end, so that the turn is not left in the middle for those who watch it.
        async for event in self.send_message(text, output=output, **options):
            if isinstance(event, TurnFinishedEvent):
                finished = event
        assert finished is not None
        return finished.text if output is None else finished.valid_output()

    def resume(
        self,
        session: str | None = None,
        *,
        agent: str | Agent | None = None,
        model: str | ModelObject | None = None,
        system_prompt: str | None = None,
        deps: object = None,
        limits: AgentLimits | None = None,
        ask: Callable[[PermissionRequest], Awaitable[PermissionAnswer]] | None = None,
        reasoning: ReasoningLevel | None = None,
        parameters: Mapping[str, Any] | None = None,
        max_output_tokens: int | None = None,
        steering: list[str] | None = None,
    ) -> AsyncGenerator[TurnEvent, None]:
        """Finish the last turn of a session, which was killed or failed, and yield what happens until its answer.

        No message is stored. Calls that were found without a result run again if their tools are read-only or
        idempotent; the others are answered as interrupted. Then the model goes on. Without ``session``, it is the one
        that was used last; the other arguments are those of :meth:`send_message`.

        Yields:
            ``TurnFinishedEvent`` last. If the turn has its answer already, that event alone, with that answer.

        Raises:
            NotFoundError: there is no such session.
            UsageError: the session has no turn.
            SessionBusyError: the turn still runs, in this process or another.
            ProviderError: the model could not be asked; the session is intact, and can be resumed again.
            TurnError: the turn reached a limit.
        """
        return self._opened.turns.resume(
            TurnRequest(
                session=session,
                agent=agent,
                model=model,
                system_prompt=system_prompt,
                deps=deps,
                limits=limits,
                ask=ask,
                reasoning=reasoning,
                parameters=parameters or {},
                max_output_tokens=max_output_tokens,
                steering=steering,
            )
        )

    async def compact(
        self, session: str, *, agent: str | Agent | None = None, model: str | ModelObject | None = None
    ) -> CompactedEvent | None:
        """Summarise all but the last turn of a session; ``None`` if there is nothing before it."""
        return await self._opened.compact(TurnRequest(session=session, agent=agent, model=model))

    async def next_request(
        self, *, session: str | None = None, agent: str | Agent | None = None, model: str | ModelObject | None = None
    ) -> tuple[ModelRequest, str]:
        """Return the next request to a model, without what the user will write, and the full name of the model.

        Takes and raises the same as :meth:`preview_request`.
        """
        asked = TurnRequest(session=session, agent=agent, model=model)
        request, chosen = await self._opened.previews.next_request(asked)
        return request, chosen.full_name

    async def preview_request(
        self,
        *,
        session: str | None = None,
        agent: str | Agent | None = None,
        model: str | ModelObject | None = None,
        is_wired: bool = False,
    ) -> RequestPreview:
        """Return the next request as it is sent to the model, such as to one that has a dispatcher.

        Args:
            session: the session's name or id; ``None`` for a new one.
            agent: the agent's name.
            model: ``PROVIDER/MODEL``.
            is_wired: True if the provider is to write it, too.

        Raises:
            UsageError: there is no such agent, provider or model.
            ProviderError: the provider cannot write it.
        """
        asked = TurnRequest(session=session, agent=agent, model=model)
        return await self._opened.previews.preview(asked, is_wired=is_wired)

    async def session_status(
        self, session: str | None = None, *, agent: str | Agent | None = None, model: str | ModelObject | None = None
    ) -> SessionStatus:
        """Return the state of a session: its model, how full the context is, what it cost, its tool groups.

        Takes and raises the same as :meth:`preview_request`.
        """
        return await self._opened.previews.status(TurnRequest(session=session, agent=agent, model=model))

    async def call_tool(
        self,
        name: str,
        arguments: str | Mapping[str, Any] = "{}",
        *,
        caller: Literal["program", "command line"] = "program",
        client: ToolClient | None = None,
    ) -> ToolOutcome:
        """Run one tool through the executor, outside a conversation; tools of all groups are active.

        Args:
            name: the tool's name.
            arguments: a JSON object, as text or as what JSON is read into.
            caller: what makes the call, for plugins.
            client: the client of another program that the call is made for, with its tools and its user.
        """
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        return await self._opened.calls.call(name, text, caller, client)

    async def trust_project(
        self, ask: Callable[[PermissionRequest], Awaitable[PermissionAnswer]] | None = None
    ) -> bool:
        """Ask the user to trust the start directory, before the first message is sent.

        In a trusted directory relative paths begin, tools write there, and models follow its ``AGENTS.md`` and its
        skills as they are now. The answers ``ONCE`` and ``SESSION`` hold until the home is closed. What the user has
        decided before is not asked again.

        Args:
            ask: asks the user; by default whom the home was opened with.

        Returns:
            True if it is trusted. False also for a directory that is no project, such as the user's own, and where no
            one can be asked.
        """
        self.services.project.use_pins(await self.store.settings())
        return await self.services.project.trust(ask)

    async def review_project(self) -> list[str]:
        """Ask the user about files of the start directory that models would follow, such as ``AGENTS.md``.

        Call it where a person is, before a message is sent.

        Returns:
            One line for each thing that is left out because no one was asked, or the user did not agree.
        """
        self.services.project.use_pins(await self.store.settings())
        return await self.services.project.review()

    async def settings(self) -> Settings:
        """Read the settings as they are now.

        Raises:
            SettingsError: a value does not fit.
        """
        return await self._opened.choices.settings()

    async def refresh_tool_states(self) -> None:
        """Take over which tools and groups are disabled; another process may have changed it."""
        await self._opened.choices.refresh_tools()

    def add_tools(self, *tools: Tool, group: str | ToolGroupDefinition | None = None) -> None:
        """Add tools of the embedding program, which run on its own event loop.

        Async tools are awaited on the event loop that opened the home; plain ones run in threads.

        Args:
            tools: functions decorated with ``@tool``, or ``Tool`` objects.
            group: the tool group that they belong to; without one they belong to the group that ``@tool(group=...)``
                names, or are core tools.

        Raises:
            ToolDefinitionError: a tool or the group's name is not acceptable.
            DuplicateToolError: the name of a tool is taken.
        """
        add_program_tools(self.catalog, tools, group)
