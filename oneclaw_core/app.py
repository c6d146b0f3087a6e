"""The class OneClaw: open a home, wire its parts, send messages."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import aclosing, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from oneclaw_core.config.keys import KeyStore, known_secret_check
from oneclaw_core.config.models import ModelLists
from oneclaw_core.config.settings import SettingsReader
from oneclaw_core.errors import UsageError
from oneclaw_core.home import Home, find_home
from oneclaw_core.plugins.catalogue.merging import add_program_tools
from oneclaw_core.plugins.contract.home_services import HomeServices
from oneclaw_core.plugins.loading.load_plugins import disabled_plugins, given_plugins, load_plugins
from oneclaw_core.plugins.loading.stores import home_with_backend
from oneclaw_core.plugins.running.hook_settings import HookTimeouts, hook_timeouts, plugin_order
from oneclaw_core.plugins.running.running_plugin import PluginContexts
from oneclaw_core.plugins.running.runtime import Plugins
from oneclaw_core.plugins.sources.published_tools import PublishedTools
from oneclaw_core.plugins.sources.tool_sources import ToolSources
from oneclaw_core.project.trust import Project
from oneclaw_core.providers.pool import ProviderPool
from oneclaw_core.sessions.background import Background
from oneclaw_core.sessions.store import Store
from oneclaw_core.threads import run_in_thread
from oneclaw_core.tools.executor import ToolExecutor
from oneclaw_core.tools.paths import PathGuard
from oneclaw_core.tools.permissions import PermissionPolicy
from oneclaw_core.tools.task_permissions import TaskPermissions
from oneclaw_core.turn.context import NewMessage, TurnParts, check_texts
from oneclaw_core.turn.conversations import Conversations, SessionReader
from oneclaw_core.turn.model import ModelChooser
from oneclaw_core.turn.plugin_question import answer_plugin
from oneclaw_core.turn.preview import next_request, preview
from oneclaw_core.turn.store_retry import PatientRecords, while_away
from oneclaw_core.turn.turns import Turns
from oneclaw_core.types.agents import GENERAL_ASSISTANT, AgentLimits
from oneclaw_core.types.events import TurnFinishedEvent

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping

    from oneclaw_core.agents import AgentService
    from oneclaw_core.config.core_settings import Settings
    from oneclaw_core.plugins.catalogue.merging import Catalog
    from oneclaw_core.plugins.contract.contact_points import Channel, Trigger
    from oneclaw_core.plugins.contract.tool_source import ToolSource
    from oneclaw_core.process.sandbox.choice import ChosenSandbox
    from oneclaw_core.providers.base import ModelRequest
    from oneclaw_core.sessions.sessions import Session
    from oneclaw_core.tools.client import ToolClient
    from oneclaw_core.tools.context import ToolContext
    from oneclaw_core.tools.definition import Tool
    from oneclaw_core.tools.executor import ToolOutcome
    from oneclaw_core.tools.permissions import PermissionAnswer, PermissionRequest
    from oneclaw_core.tools.toolset import ToolGroupDefinition
    from oneclaw_core.tools.user_question import UserAsker
    from oneclaw_core.turn.preview import RequestPreview
    from oneclaw_core.turn.status import SessionStatus
    from oneclaw_core.types.agents import ReasoningLevel
    from oneclaw_core.types.events import CompactedEvent, TurnEvent
    from oneclaw_core.types.messages import Attachment


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

    def __init__(
        self,
        home: Home,
        catalog: Catalog,
        store: Store,
        environ: Mapping[str, str],
        permissions: PermissionPolicy,
        start_directory: Path,
        deps: object = None,
        stored: Mapping[str, Any] | None = None,
    ) -> None:
        self.home = home
        self.catalog = catalog
        self._environ = environ
        self.store = store
        self.configuration = catalog.configuration(home, store, environ)
        self.agents: AgentService = self.configuration.agents
        self._project = Project(start_directory, permissions, home.path / "projects", store.change_setting)
        self._applied: Mapping[str, Any] | None = None
        self.background = Background(store, home.locks)
        self.services = HomeServices(
            home=home,
            agents=self.agents,
            configuration=self.configuration,
            registry=catalog.registry,
            sessions=SessionReader(store),
            tool_source=self._tool_source,
            project=self._project,
            skills=catalog.skills,
            holds_secret=known_secret_check(home, environ),
            send_message=self.send_message,
            task_permissions=TaskPermissions(store),
            channel=self._channel,
            triggers=self._triggers,
            trigger=self._trigger,
            background=self.background,
            sandbox=self._choose_sandbox,
            loop=asyncio.get_running_loop(),
        )
        self.plugins = Plugins(
            catalog.plugins,
            PluginContexts(
                home=home,
                plugins=catalog.plugins,
                environ=environ,
                permissions=permissions,
                read_settings=store.settings,
                storage=store.plugin_storage,
                ask_model=lambda *question: answer_plugin(self._parts, *question),
                services=self.services,
            ).make,
            order=plugin_order(stored or {}, environ),
            limits=hook_timeouts(stored or {}, environ),
            timeouts=HookTimeouts(home.hook_timeouts),
            absent=catalog.absent_plugins,
        )
        settings = SettingsReader(environ)
        published = PublishedTools(catalog.registry, catalog.plugins)
        self._tool_sources = ToolSources(published, home.tool_sources, self.plugins)
        paths = PathGuard(home.workspace, start_directory, home.path)
        self._providers = ProviderPool(catalog.provider_types, catalog.absent_plugins)
        models = ModelChooser(
            self.agents,
            settings,
            environ,
            catalog.known_providers,
            KeyStore(home, environ, catalog.known_providers),
            ModelLists(home),
            self._providers,
        )
        self._conversations = Conversations(store, self.plugins, self._project.path)
        self._parts = TurnParts(
            store=store,
            registry=catalog.registry,
            executor=ToolExecutor(
                catalog.registry,
                permissions,
                home.path,
                paths,
                self.services,
                self.plugins,
                deps,
                PatientRecords(store),
                self._project,
            ),
            plugins=self.plugins,
            permissions=permissions,
            settings=settings,
            models=models,
            providers=self._providers,
            refresh_tools=self._tool_sources.refresh,
            apply_settings=self._apply_settings,
            background=self.background,
        )
        self._turns = Turns(self._parts, self._conversations)

    async def _channel(self, name: str) -> Channel:
        return await self.plugins.channel(name)

    def _triggers(self) -> list[Trigger]:
        return self.plugins.triggers()

    def _trigger(self, name: str) -> Trigger:
        return self.plugins.trigger(name)

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
                running event loop, that of installed plugins each on a loop in a thread.
            deps: what tools of the embedding program get as ``context.deps``.

        Raises:
            OneClawError: the home or its database cannot be used.
        """
        environ = os.environ if environ is None else environ
        found = find_home(environ, home)
        found.create()
        points = None if plugins is None else given_plugins(plugins)
        found, backend = await run_in_thread(partial(home_with_backend, found, environ, points))
        start = Path(start_directory) if start_directory is not None else _current_directory()
        async with await Store.open(backend, lock_directory=found.locks) as store:
            stored = await store.settings()
            # In a thread: an installed plugin may have to be described by a process first.
            load = partial(load_plugins, disabled_plugins(stored, environ), points, found.loading)
            catalog = await run_in_thread(load)
            # A call must not fail because the database is away for a moment.
            policy = PermissionPolicy(
                await store.grants(),
                while_away(store.set_grant),
                ask,
                allow,
                while_away(store.record_permission_use),
                while_away(store.grants),
                ask_user,
                while_away(store.record_known_permission_use),
            )
            claw = cls(found, catalog, store, environ, policy, start, deps, stored)
            await claw.refresh_tool_states()
            try:
                claw._tool_sources.add(disabled_plugins(stored, environ))
                await claw._tool_sources.start()
                yield claw
            finally:
                await claw._turns.tracker.end()
                await claw._tool_sources.aclose()
                await claw.plugins.aclose()
                await claw.background.aclose()
                await claw._providers.aclose()

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
        return await self._conversations.begin(name, persona.name, model, title)

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
        return await self._conversations.branch(session, name, before)

    async def delete_session(self, session: str) -> None:
        """Delete a session with its history.

        Args:
            session: its name or id.

        Raises:
            NotFoundError: there is no such session.
            SessionBusyError: a turn of it is under way.
        """
        deleted = await self._conversations.delete(session)
        self._parts.permissions.forget_session(deleted.id)

    def send_message(
        self,
        text: str,
        *,
        session: str | None = None,
        agent: str | None = None,
        model: str | None = None,
        attachments: Iterable[Attachment] = (),
        files: Iterable[str] = (),
        within: ToolContext | None = None,
        command: str | None = None,
        tool_groups: Iterable[str] | None = None,
        limits: AgentLimits | None = None,
        ask: Callable[[PermissionRequest], Awaitable[PermissionAnswer]] | None = None,
        ask_user: UserAsker | None = None,
        reasoning: ReasoningLevel | None = None,
        task: str | None = None,
        steering: list[str] | None = None,
    ) -> AsyncGenerator[TurnEvent, None]:
        """Send a message and yield what happens until the model's final answer.

        Nothing is done before the first event is asked for. Closing the generator, closing the home, or cancelling
        ends the turn: what its tools have not finished is answered as interrupted.

        Args:
            text: the message; with a command, its arguments, may be empty.
            session: the session's name or id; a new name begins a session, ``None`` one without a name.
            agent: the agent's name or id; by default the session's.
            model: ``PROVIDER/MODEL``; by default the session's, the agent's, the environment's or the setting's.
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
            task: the id of the scheduled task that the turn is run for, whose grants then hold too.
            steering: a list that the user's messages are put into while the turn runs. After the next results of tools
                the turn stores them, removes them from the list, and has the model read them. What is left when the
                turn ends was not said; send it as the next message.

        Yields:
            ``TurnFinishedEvent`` last.

        Raises:
            UsageError: there is no such agent, provider, model or command, the message is empty, an argument is of
                another type, or the model cannot look at an attachment.
            SessionBusyError: another turn of the session did not end in time.
            ProviderError: the model could not be asked; the session is intact.
            TurnError: the turn reached a limit.
        """
        return self._turns.send(
            NewMessage(
                text=text,
                session=session,
                agent=agent,
                model=model,
                attachments=attachments,
                files=files,
                within=within,
                command=command,
                tool_groups=tool_groups,
                limits=limits,
                ask=ask,
                ask_user=ask_user,
                reasoning=reasoning,
                task=task,
                steering=steering,
            )
        )

    def resume(
        self,
        session: str | None = None,
        *,
        agent: str | None = None,
        model: str | None = None,
        limits: AgentLimits | None = None,
        ask: Callable[[PermissionRequest], Awaitable[PermissionAnswer]] | None = None,
        reasoning: ReasoningLevel | None = None,
        steering: list[str] | None = None,
    ) -> AsyncGenerator[TurnEvent, None]:
        """Finish the last turn of a session, which was killed or failed, and yield what happens until its answer.

        No message is stored. Calls that were found without a result run again if their tools are read-only or
        idempotent; the others are answered as interrupted. Then the model goes on.

        Args:
            session: the session's name or id; ``None`` for the one that was used last.
            agent: as for :meth:`send_message`.
            model: as for :meth:`send_message`.
            limits: as for :meth:`send_message`.
            ask: as for :meth:`send_message`.
            reasoning: as for :meth:`send_message`.
            steering: as for :meth:`send_message`.

        Yields:
            ``TurnFinishedEvent`` last. If the turn has its answer already, that event alone, with that answer.

        Raises:
            NotFoundError: there is no such session.
            UsageError: the session has no turn.
            SessionBusyError: the turn still runs, in this process or another.
            ProviderError: the model could not be asked; the session is intact, and can be resumed again.
            TurnError: the turn reached a limit.
        """
        return self._turns.send(
            NewMessage(
                text="",
                session=session,
                agent=agent,
                model=model,
                limits=limits,
                ask=ask,
                reasoning=reasoning,
                resumes=True,
                steering=steering,
            )
        )

    async def compact(
        self, session: str, *, agent: str | None = None, model: str | None = None
    ) -> CompactedEvent | None:
        """Summarise all but the last turn of a session; ``None`` if there is nothing before it."""
        return await self._turns.compact(session, agent, model)

    async def next_request(
        self, *, session: str | None = None, agent: str | None = None, model: str | None = None
    ) -> tuple[ModelRequest, str]:
        """Find out exactly what a model would be sent next, with whatever the user writes still to be added.

        Args:
            session: the session's name or id; ``None`` for a new one.
            agent: the agent's name.
            model: ``PROVIDER/MODEL``.

        Returns:
            The request, and the full name of the model.
        """
        request, chosen = await next_request(self._parts, session, agent, model)
        return request, chosen.full_name

    async def preview_request(
        self,
        *,
        session: str | None = None,
        agent: str | None = None,
        model: str | None = None,
        is_wired: bool = False,
    ) -> RequestPreview:
        """Find out the same, with what is made of it for the model, such as for a dispatcher.

        Args:
            session: the session's name or id; ``None`` for a new one.
            agent: the agent's name.
            model: ``PROVIDER/MODEL``.
            is_wired: True if the provider is to write it, too.

        Raises:
            UsageError: there is no such agent, provider or model.
            ProviderError: the provider cannot write it.
        """
        return await preview(self._parts, session, agent, model, is_wired=is_wired)

    async def session_status(
        self, session: str | None = None, *, agent: str | None = None, model: str | None = None
    ) -> SessionStatus:
        """Find out where a session stands: its model, how full the context is, what it cost, its tool groups.

        Args:
            session: the session's name or id; ``None`` for a new one.
            agent: the agent's name.
            model: ``PROVIDER/MODEL``.

        Raises:
            UsageError: there is no such session, agent, provider or model.
        """
        from oneclaw_core.turn.status import session_status

        return await session_status(self._parts, session, agent, model)

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
        return await self._turns.call_tool(name, text, caller, client)

    async def review_project(self) -> list[str]:
        """Ask the user about files of the start directory that models would follow, such as ``AGENTS.md``.

        Call it where a person is, before a message is sent.

        Returns:
            One line for each thing that is left out because no one was asked, or the user did not agree.
        """
        self._project.use_pins(await self.store.settings())
        return await self._project.review()

    async def settings(self) -> Settings:
        """Read the settings as they are now.

        Raises:
            SettingsError: a value does not fit.
        """
        return self._parts.settings.validated(await self.store.settings())

    async def _choose_sandbox(self) -> ChosenSandbox:
        from oneclaw_core.process import choose_sandbox

        setting = (await self.settings()).sandbox
        return await run_in_thread(lambda: choose_sandbox(setting))

    async def refresh_tool_states(self) -> None:
        """Take over which tools and groups are disabled; another process may have changed it."""
        states = await self.store.tool_states()
        self.catalog.registry.set_disabled(states.disabled_tools, states.disabled_groups)

    async def _tool_source(self, plugin: str, name: str) -> ToolSource | None:
        return await self._tool_sources.get(plugin, name)

    def _apply_settings(self, stored: Mapping[str, Any]) -> None:
        """Use stored settings that another process may have changed."""
        if stored == self._applied:
            return
        self._applied = stored
        self._project.use_pins(stored)
        disabled = disabled_plugins(stored, self._environ)
        self._tool_sources.set_disabled(disabled)
        self.catalog.registry.set_disabled_plugins(disabled)

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


def ask(text: str, **options: Any) -> str:
    """Send one message and return the final answer: the synchronous one-liner.

    Args:
        text: the message.
        options: ``session``, ``agent``, ``model`` and ``attachments`` as for :meth:`OneClaw.send_message`, everything
            else as for :meth:`OneClaw.open`.

    Raises:
        OneClawError: as for those two; ``UsageError`` inside a running event loop.
    """
    message_options = {
        name: options.pop(name) for name in ("session", "agent", "model", "attachments") if name in options
    }

    async def answer() -> str:
        async with (
            OneClaw.open(**options) as claw,
            aclosing(claw.send_message(text, **message_options)) as events,
        ):
            async for event in events:
                if isinstance(event, TurnFinishedEvent):
                    return event.text
        return ""

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(answer())
    raise UsageError("ask() cannot be used inside an event loop: use 'async with OneClaw.open() as claw' there")


def _current_directory() -> Path:
    try:
        return Path.cwd()
    except OSError:
        raise UsageError("the current directory is gone: change to one that exists") from None
