"""OneClaw: opens a home, wires the parts, sends messages."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from oneclaw_core.agents import AgentService
from oneclaw_core.config.home import Home, find_home
from oneclaw_core.config.keys import KeyStore, secret_store
from oneclaw_core.config.known_secrets import known_secret_check
from oneclaw_core.config.models.lists import ModelLists
from oneclaw_core.config.models.overrides import model_facts, model_overrides
from oneclaw_core.config.models.provider_configs import (
    LEARNED_SETTING,
    OFFLINE_MODEL,
    provider_configs,
    split_model,
    with_key,
)
from oneclaw_core.config.settings.core import Settings, core_reader
from oneclaw_core.config.settings.current import CurrentSettings
from oneclaw_core.config.trust import Project, is_trusted
from oneclaw_core.distributions import how_to_install
from oneclaw_core.errors import NotFoundError, TurnLimitError, UsageError
from oneclaw_core.plugins.contract.arguments import CommandUse, SessionInfo, TurnInfo
from oneclaw_core.plugins.contract.context import PluginContext
from oneclaw_core.plugins.contract.home_services import HomeServices
from oneclaw_core.plugins.contract.secrets import PluginSecrets
from oneclaw_core.plugins.loading.given import given_plugins
from oneclaw_core.plugins.loading.load_plugins import disabled_plugins, load_plugins
from oneclaw_core.plugins.loading.stores import home_with_backend
from oneclaw_core.plugins.registration.record import PROGRAM_PLUGIN, PluginRecord
from oneclaw_core.plugins.registration.settings import registered_settings
from oneclaw_core.plugins.running.hook_settings import hook_timeouts, plugin_order
from oneclaw_core.plugins.running.hook_timeouts import HookTimeouts
from oneclaw_core.plugins.running.runtime import Plugins
from oneclaw_core.plugins.sources.published_tools import PublishedTools
from oneclaw_core.plugins.sources.tool_sources import ToolSources
from oneclaw_core.process.threads import run_in_thread
from oneclaw_core.providers.base import ToolLoading, attachment_media_types, loads_natively, wire_request
from oneclaw_core.providers.pool import ProviderPool
from oneclaw_core.sessions.sessions import new_id
from oneclaw_core.sessions.store import Store, TurnOutset, TurnStart
from oneclaw_core.tools.engine import CallScope, ToolEngine
from oneclaw_core.tools.groups import (
    ToolGroupDefinition,
    generated_group_definition,
    one_line,
    restore_loaded_groups,
)
from oneclaw_core.tools.paths import PathGuard
from oneclaw_core.tools.permissions import Decision, PermissionPolicy, PermissionRequest
from oneclaw_core.tools.registry import ToolSourceInfo, ToolSourceType
from oneclaw_core.tools.turn_scope import MAX_TURN_DEPTH, depth_within
from oneclaw_core.turn.attachments import accepted_media_types, check_attachments, checked_attachments
from oneclaw_core.turn.cache_prefix import CachePrefixes
from oneclaw_core.turn.compaction import ContextLimits, with_summary
from oneclaw_core.turn.estimate import ToolSizes
from oneclaw_core.turn.model_calls import ChosenModel, ModelCalls
from oneclaw_core.turn.plugin_question import ask_model as answer_to_plugin
from oneclaw_core.turn.prepare_request import RequestPreview, prepare_request
from oneclaw_core.turn.prompt import model_request, shown_history
from oneclaw_core.turn.stored_sessions import StoredSessions, session_info
from oneclaw_core.turn.tracker import TurnTracker
from oneclaw_core.turn.turn import INTERRUPTED, Turn, TurnLimits
from oneclaw_core.turn.turn_hooks import TurnHooks
from oneclaw_core.types.agents import GENERAL_ASSISTANT, AgentLimits
from oneclaw_core.types.events import CompactedEvent, TurnFinishedEvent
from oneclaw_core.types.messages import Message, MessageType, ToolCall
from oneclaw_core.types.spending import SpendingLimits
from oneclaw_core.types.tool_selection import ToolSelection
from oneclaw_core.types.turn_budget import TurnBudget

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping

    from oneclaw_core.plugins.catalogue.merging import Catalog
    from oneclaw_core.providers.base import ModelRequest, Provider
    from oneclaw_core.sessions.sessions import Session
    from oneclaw_core.tools.context import ToolContext
    from oneclaw_core.tools.engine import ToolOutcome
    from oneclaw_core.tools.permissions import PermissionAnswer
    from oneclaw_core.tools.tool import Tool
    from oneclaw_core.types.agents import Agent
    from oneclaw_core.types.events import TurnEvent
    from oneclaw_core.types.messages import Attachment

TITLE_CHARACTERS = 50
# Kept free for the answer where nobody says how long one may become.
RESERVED_TOKENS = 16_000

_log = logging.getLogger("oneclaw.app")


class OneClaw:
    """An open home: sessions, tools, models. Made by :meth:`open`.

    Attributes:
        home: where everything lies.
        catalog: what plugins brought.
        store: sessions, messages and settings.
        agents: the agents there are, and making, changing and deleting them.
        configuration: what the user sets, and changing it.
        plugins: the plugins at work.
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
        self.store = store
        self.agents = AgentService(store, catalog.registry, self._check_model)
        self.configuration = catalog.configuration(home, store, environ)
        self._project = Project(start_directory)
        self.services = HomeServices(
            home=home,
            agents=self.agents,
            configuration=self.configuration,
            registry=catalog.registry,
            sessions=StoredSessions(store),
            tool_source=lambda plugin, name: self._tool_sources.get(plugin, name),
            project=self._project,
            skills=catalog.skills,
            holds_secret=known_secret_check(home, environ),
            send_message=self.send_message,
        )
        self._environ = environ
        self._permissions = permissions
        self.plugins = Plugins(
            catalog.plugins,
            self._plugin_context,
            order=plugin_order(stored or {}, environ),
            limits=hook_timeouts(stored or {}, environ),
            timeouts=HookTimeouts(home.hook_timeouts),
        )
        published = PublishedTools(catalog.registry, catalog.plugins)
        self._tool_sources = ToolSources(published, home.tool_sources, self.plugins)
        paths = PathGuard(home.workspace, start_directory, home.path)
        self._engine = ToolEngine(catalog.registry, permissions, home.path, paths, self.services, self.plugins, deps)
        self._keys = KeyStore(home, environ, catalog.known_providers)
        self._model_lists = ModelLists(home)
        self._fingerprints = CachePrefixes()
        self._tool_sizes = ToolSizes()
        self._settings = core_reader(environ)
        self._providers = ProviderPool(catalog.provider_types)
        self._turns = TurnTracker()

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        home: str | Path | None = None,
        *,
        ask: Callable[[PermissionRequest], Awaitable[PermissionAnswer]] | None = None,
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
            allow: permissions granted for as long as the home is open.
            environ: the environment with keys and settings; by default the program's own.
            start_directory: where tools may read beside the workspace; by default the current directory.
            plugins: the plugins to load instead of all that are installed: entry points, names of installed plugins
                or packages, modules with hooks, or objects with hooks.
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
            decisions = await store.permissions()

            async def remember(permission: str, decision: Decision) -> None:
                await store.set_permission(permission, "grant" if decision is Decision.GRANT else "deny")

            policy = PermissionPolicy(_decisions(decisions), remember, ask, allow)
            claw = cls(found, catalog, store, environ, policy, start, deps, stored)
            await claw.refresh_tool_states()
            claw._take_over_trust(stored)
            try:
                claw._tool_sources.add(disabled_plugins(stored, environ))
                await claw._tool_sources.start()
                yield claw
            finally:
                await claw._turns.end()
                await claw._tool_sources.aclose()
                await claw.plugins.aclose()
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
        _check_texts(name=name, agent=agent, model=model, title=title)
        persona = GENERAL_ASSISTANT if agent is None else await self.agents.get(agent)
        return await self._begin_session(name, persona, model, title)

    async def delete_session(self, session: str) -> None:
        """Delete a session with its history.

        Args:
            session: its name or id.

        Raises:
            NotFoundError: there is no such session.
            SessionBusyError: a turn of it is under way.
        """
        found = await self.store.find_session(session)
        if found is None:
            raise NotFoundError(f"there is no session {session!r}; list them with: oneclaw sessions list")
        # Not during a turn of another process, which would then have nowhere to store its outcome.
        async with self.store.session_lock(found.id, 0):
            await self.store.delete_session(found.id)
        self._observe_session("session_deleted", found)

    def send_message(
        self,
        text: str,
        *,
        session: str | None = None,
        agent: str | None = None,
        model: str | None = None,
        attachments: Iterable[Attachment] = (),
        within: ToolContext | None = None,
        command: str | None = None,
        tool_groups: Iterable[str] | None = None,
        limits: AgentLimits | None = None,
        ask: Callable[[PermissionRequest], Awaitable[PermissionAnswer]] | None = None,
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
            within: the tool call on whose behalf the message is sent. The turn then keeps within the limits and the
                tools of the turn that made the call, is answered by its model unless the agent has one, and a session
                that it begins is a part of that one's.
            command: a command that a plugin expands into the message, such as the name of a skill.
            tool_groups: the only tool groups that the turn is offered, loaded before the model is asked, as far as
                they are there; ``None`` for all of the agent's, none of them loaded.
            limits: what the turn may take, beside the agent's limits and the settings; the strictest hold.
            ask: asks for permissions during this turn, instead of what the home was opened with.

        Yields:
            ``TurnFinishedEvent`` last.

        Raises:
            UsageError: there is no such agent, provider, model or command, the message is empty, an argument is of
                another type, or the model cannot look at an attachment.
            SessionBusyError: another turn of the session did not end in time.
            ProviderError: the model could not be asked; the session is intact.
            TurnError: the turn reached a limit.
        """
        return self._turns.followed(
            self._send_message(text, session, agent, model, attachments, within, command, tool_groups, limits, ask)
        )

    async def _send_message(
        self,
        text: str,
        session: str | None,
        agent: str | None,
        model: str | None,
        attachments: Iterable[Attachment],
        within: ToolContext | None,
        command: str | None,
        tool_groups: Iterable[str] | None,
        limits: AgentLimits | None,
        ask: Callable[[PermissionRequest], Awaitable[PermissionAnswer]] | None,
    ) -> AsyncGenerator[TurnEvent, None]:
        _check_texts(session=session, agent=agent, model=model, command=command)
        attached = checked_attachments(attachments)
        if within is not None and depth_within(within) > MAX_TURN_DEPTH:
            raise TurnLimitError(f"agents run one another at most {MAX_TURN_DEPTH} deep: do this in the turn itself")
        if not isinstance(text, str) or not (text.strip() or command is not None):
            raise UsageError("the message is empty: say what you want")
        outset = await self.store.turn_outset(session, agent)
        settings = self._settings.read(outset.settings)
        await self.plugins.refresh_settings(outset.settings)
        found = outset.session
        persona, chosen = await self._agent_and_model(outset, agent, model, within)
        if within is not None:
            persona = replace(persona, selection=persona.selection.narrowed_to(within.selection))
        self._take_over_trust(outset.settings)
        self._tool_sources.set_disabled(disabled_plugins(outset.settings, self._environ))
        if command is not None or tool_groups is not None:
            # Else the turn does so, before its first request.
            await self._tool_sources.refresh()
        title, groups = text, tuple[str, ...]()
        if tool_groups is not None:
            groups = tuple(tool_groups)
            only_these = ToolSelection(groups=frozenset(groups))
            persona = replace(persona, selection=persona.selection.narrowed_to(only_these))
            selected = self.catalog.registry.selected(persona.selection)
            groups = tuple(name for name in groups if selected.has_group(name))
        if command is not None:
            use = CommandUse(name=command, arguments=text, agent=persona.name, selection=persona.selection)
            expanded = await self.plugins.expand_command(use)
            if expanded is None:
                raise NotFoundError(
                    f"no plugin has the command {command!r}; if it is a skill, the plugin skills is missing: "
                    f"{how_to_install('skills')}"
                )
            title, groups = f"/{command} {text.strip()}".rstrip(), (*groups, *expanded.groups)
            text = expanded.text
        accepted = accepted_media_types(attachment_media_types(chosen.provider), chosen.info.input_media_types)
        check_attachments(attached, accepted, chosen.full_name)
        async with self._providers.acquired(chosen.provider):
            if found is None and session is not None:
                found = await self._begin_session(session, persona, model, title, within)
            session_id = found.id if found is not None else new_id()
            parent_id = within.session_id if within is not None else None
            info = (
                session_info(found)
                if found is not None
                else SessionInfo(id=session_id, agent=persona.name, parent_id=parent_id)
            )

            async def run(hooks: TurnHooks | None) -> AsyncGenerator[TurnEvent, None]:
                nonlocal found
                content = text
                if hooks is not None:
                    await hooks.check()
                    content = await hooks.with_context(text)
                message = Message(type=MessageType.USER, content=content, attachments=attached)
                sections = await self._kept_sections(info, is_new=found is None)
                if found is not None:
                    start = await self.store.begin_turn(
                        found.id, message, INTERRUPTED, settings.history_max_characters, sections
                    )
                else:
                    found, start = await self.store.begin_session_with_turn(
                        session_id,
                        message,
                        agent=persona.name,
                        model=model,
                        title=one_line(title, TITLE_CHARACTERS),
                        parent_id=parent_id,
                        memory=sections,
                    )
                    self._observe_session("session_created", found)
                self._take_over(start)
                turn = self._turn(found, persona, chosen, settings, within, limits, hooks)
                async with aclosing(turn.run(start, groups)) as events:
                    async for event in events:
                        yield event

            async with self.store.session_lock(session_id, settings.session_wait_seconds):
                with self._permissions.answered_by(session_id, ask):
                    hooks = self._turn_hooks(info, persona, chosen, text, within)
                    async with aclosing(run(hooks) if hooks is None else hooks.followed(run(hooks))) as events:
                        async for event in events:
                            yield event

    async def compact(
        self, session: str, *, agent: str | None = None, model: str | None = None
    ) -> CompactedEvent | None:
        """Summarise all but the last turn of a session; ``None`` if there is nothing before it."""
        _check_texts(session=session, agent=agent, model=model)
        with self._turns.of_this_task():
            return await self._compact(session, agent, model)

    async def _compact(self, session: str, agent: str | None, model: str | None) -> CompactedEvent | None:
        outset = await self.store.turn_outset(session, agent)
        settings = self._settings.read(outset.settings)
        found = outset.session
        if found is None:
            raise NotFoundError(f"there is no session {session!r}; list them with: oneclaw sessions list")
        persona, chosen = await self._agent_and_model(outset, agent, model)
        hooks = self._turn_hooks(session_info(found), persona, chosen, "", None)
        turn = self._turn(found, persona, chosen, settings, hooks=hooks)
        compacted = None
        async with (
            self._providers.acquired(chosen.provider),
            self.store.session_lock(found.id, settings.session_wait_seconds),
        ):
            sections = await self._kept_sections(session_info(found))
            start = await self.store.load_turn(found.id, settings.history_max_characters, sections)
            self._take_over(start)
            async with aclosing(turn.compact(start)) as events:
                async for event in events:
                    if isinstance(event, CompactedEvent):
                        compacted = event
        return compacted

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
        request, chosen = await self._next_request(session, agent, model)
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
            is_wired: whether the provider is to write it, too.

        Raises:
            UsageError: there is no such agent, provider or model.
            ProviderError: the provider cannot write it.
        """
        request, chosen = await self._next_request(session, agent, model)
        loading = chosen.tool_loading
        if loading.is_native and not loads_natively(chosen.provider):
            loading = ToolLoading.APPEND
        sent = prepare_request(request, chosen.info, chosen.tool_loading, chosen.max_output_tokens)
        return RequestPreview(
            model=chosen.full_name,
            provider_type=chosen.config.type,
            tool_loading=loading,
            request=sent,
            wire=wire_request(chosen.provider, sent) if is_wired else None,
        )

    async def _next_request(
        self, session: str | None, agent: str | None, model: str | None
    ) -> tuple[ModelRequest, ChosenModel]:
        _check_texts(session=session, agent=agent, model=model)
        outset = await self.store.turn_outset(session, agent)
        settings = self._settings.read(outset.settings)
        found = outset.session
        if session is not None and found is None:
            raise NotFoundError(f"there is no session {session!r}; list them with: oneclaw sessions list")
        persona, chosen = await self._agent_and_model(outset, agent, model)
        self._take_over_trust(outset.settings)
        await self._refresh_tools(outset.settings)
        history: list[Message] = []
        groups: list[str] = []
        info = session_info(found) if found is not None else SessionInfo(id="", agent=persona.name)
        await self.plugins.refresh_settings(outset.settings)
        sections = await self._kept_sections(info, is_new=found is None)
        if found is not None:
            start = await self.store.load_turn(found.id, settings.history_max_characters, sections)
            self._take_over(start)
            sections = start.memory
            history = with_summary(shown_history(start.history), start.summary)
            groups = restore_loaded_groups(start.group_loads)
        request = model_request(
            persona,
            self.catalog.registry,
            chosen.info.name,
            found.id if found else "",
            history,
            groups,
            kept_sections=sections,
            current_sections=await self.plugins.current_sections(info),
        )
        return request, chosen

    async def call_tool(
        self,
        name: str,
        arguments: str | Mapping[str, Any] = "{}",
        *,
        caller: Literal["program", "command line"] = "program",
    ) -> ToolOutcome:
        """Run one tool through the engine, outside a conversation; tools of all groups are active.

        Args:
            name: the tool's name.
            arguments: a JSON object, as text or as what JSON is read into.
            caller: what makes the call, for plugins.
        """
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        await self._refresh_tools(await self.store.settings())
        active = self.catalog.registry.selected().all_active
        scope = CallScope(active, GENERAL_ASSISTANT.name, caller=caller)
        with self._turns.of_this_task():
            (outcome,) = await self._engine.execute([ToolCall("call_1", name, text)], scope)
        return outcome

    async def settings(self) -> Settings:
        """Read the settings as they are now.

        Raises:
            SettingsError: a value does not fit.
        """
        return self._settings.read(await self.store.settings())

    async def default_model(self) -> str:
        """Say which ``PROVIDER/MODEL`` a session uses for which none was chosen."""
        return (await self.settings()).model or OFFLINE_MODEL

    async def provider(self, name: str) -> Provider:
        """The model service of that name.

        Raises:
            NotFoundError: none is configured under that name, or no plugin brings its type.
        """
        configs = provider_configs(await self.store.settings(), self._environ, self.catalog.known_providers)
        if name not in configs:
            raise NotFoundError(f"there is no provider {name!r}; the providers are: {', '.join(configs)}")
        config = await with_key(configs[name], self._keys)
        await self._providers.prepare(config)
        provider = self._providers.get(config)
        self._providers.acquire(provider)
        return provider

    async def refresh_tool_states(self) -> None:
        """Take over which tools and groups are disabled; another process may have changed it."""
        states = await self.store.tool_states()
        self.catalog.registry.set_disabled(states.disabled_tools, states.disabled_groups)

    def _take_over_trust(self, stored: Mapping[str, Any]) -> None:
        """Read again whether the user trusts the project; another process may have changed it."""
        self._project.is_trusted = is_trusted(self._project.directory, stored)

    async def _refresh_tools(self, stored: Mapping[str, Any]) -> None:
        """Have the tool sources look for changes, with the settings that are stored now."""
        await self.plugins.refresh_settings(stored)
        self._tool_sources.set_disabled(disabled_plugins(stored, self._environ))
        await self._tool_sources.refresh()

    def _take_over(self, start: TurnStart) -> None:
        """Obey what the user has decided and disabled by now; another process may have changed it."""
        self._permissions.replace_decisions(_decisions(start.permissions))
        self.catalog.registry.set_disabled(start.tool_states.disabled_tools, start.tool_states.disabled_groups)

    def _turn_hooks(
        self, session: SessionInfo, agent: Agent, chosen: ChosenModel, text: str, within: ToolContext | None
    ) -> TurnHooks | None:
        """Return the hooks of plugins on a turn; ``None`` if no plugin has any."""
        if not self.plugins.follows_turns:
            return None
        asking = session.id if within is None else within.session_id
        if within is not None and within.turn is not None:
            asking = within.turn.permission_session(within.session_id)
        turn = TurnInfo(
            id=new_id(),
            session=session,
            agent=agent.name,
            model=chosen.full_name,
            text=text,
            can_ask=self._permissions.can_ask_in(asking),
            parent_call_id=within.call_id if within is not None else None,
        )
        return TurnHooks(self.plugins, turn)

    async def _kept_sections(self, session: SessionInfo, *, is_new: bool = False) -> str:
        """Return the sections of the system prompt that are kept with a session; plugins are asked once a session."""
        if not is_new:
            kept = await self.store.shown_memory(session.id)
            if kept is not None:
                return kept
        return await self.plugins.prompt_sections(session)

    def _observe_session(self, hook: str, session: Session) -> None:
        if hook in self.plugins.hooks:
            self.plugins.observe(hook, session=session_info(session))

    def _plugin_context(self, name: str) -> PluginContext:
        """Make the context of a plugin."""

        async def allow_address(host: str, address: str) -> None:
            detail = f"connect to {host} at the private address {address}"
            await self._permissions.require(PermissionRequest("network.private", f"plugin {name}", {}, detail))

        secrets = PluginSecrets(name, secret_store(self.home), self._environ)
        registered = next((each for each in registered_settings(self.catalog.plugins) if each.plugin == name), None)
        settings = None
        if registered is not None:
            settings = CurrentSettings(registered, self._environ, secrets.get, self.store.settings)
        folder = self.home.plugin_folder(name)

        async def ask_model(prompt: str, schema: Mapping[str, Any] | None) -> Any:
            return await self._answer_plugin(name, prompt, schema)

        return PluginContext(
            name,
            folder,
            allow_address,
            secrets=secrets,
            settings=settings,
            storage=self.store.plugin_storage(name),
            locks=self.home.locks,
            ask_model=ask_model,
            services=self.services,
        )

    async def _answer_plugin(self, plugin: str, prompt: str, schema: Mapping[str, Any] | None) -> Any:
        """Have the user's default model answer a question of a plugin; its usage is that of a session of the plugin."""
        outset = await self.store.turn_outset(None, None)
        settings = self._settings.read(outset.settings)
        _, chosen = await self._agent_and_model(outset, None, None)
        session = await self.store.find_or_create_session(
            f"plugin {plugin}", agent=GENERAL_ASSISTANT.name, title=f"Requests of the plugin {plugin}"
        )
        spending = SpendingLimits(day_max_tokens=settings.day_max_tokens, day_max_cost=settings.day_max_cost)
        calls = ModelCalls(self.store, session.id, chosen, TurnBudget((spending,), 1, None), self._fingerprints)
        async with self._providers.acquired(chosen.provider):
            return await answer_to_plugin(self.store, calls, chosen.info.name, session.id, prompt, schema)

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
        registry = self.catalog.registry
        record = next((each for each in self.catalog.plugins if each.name == PROGRAM_PLUGIN), None)
        if record is None:
            record = PluginRecord(PROGRAM_PLUGIN, target="the embedding program")
            self.catalog.plugins.append(record)
        name = group.name if isinstance(group, ToolGroupDefinition) else group
        for each in tools:
            own_group = name or getattr(each, "group", None)
            kind = ToolSourceType.TOOL_GROUP if own_group else ToolSourceType.PLUGIN
            registry.register(each, ToolSourceInfo(kind, own_group, PROGRAM_PLUGIN))
            record.tools.append(each.definition.name)
            if isinstance(group, ToolGroupDefinition):
                registry.register_group(group, PROGRAM_PLUGIN)
            elif own_group and registry.get_group_definition(own_group) is None:
                names = registry.get_tool_groups().get(own_group, [])
                registry.register_group(generated_group_definition(own_group, names), PROGRAM_PLUGIN)

    async def _begin_session(
        self,
        name: str | None,
        agent: Agent,
        model: str | None,
        title: str | None,
        within: ToolContext | None = None,
    ) -> Session:
        title = one_line(title, TITLE_CHARACTERS) if title is not None else None
        parent_id = within.session_id if within is not None else None
        about: dict[str, Any] = {"agent": agent.name, "model": model, "title": title, "parent_id": parent_id}
        if name is None:
            session = await self.store.create_session(**about)
        else:
            is_there = "session_created" in self.plugins.hooks and await self.store.find_session(name) is not None
            session = await self.store.find_or_create_session(name, **about)
            if is_there:
                return session
        self._observe_session("session_created", session)
        return session

    async def _check_model(self, name: str) -> None:
        """Make sure that a model's provider is configured."""
        split_model(name, provider_configs(await self.store.settings(), self._environ, self.catalog.known_providers))

    async def _agent_and_model(
        self, outset: TurnOutset, agent: str | None, model: str | None, within: ToolContext | None = None
    ) -> tuple[Agent, ChosenModel]:
        session, stored = outset.session, outset.settings
        persona = outset.agent
        if persona is None and agent is not None:
            persona = await self.agents.get(agent)
        if persona is None:
            # Another version of the program, or a hand, took the agent away and left its sessions.
            _log.warning("there is no agent %r any more; %s goes on", session and session.agent, GENERAL_ASSISTANT.name)
            persona = GENERAL_ASSISTANT
        name = model or (session.model if session else None) or persona.model
        if name is None and within is not None and within.turn is not None:
            name = within.turn.model
        if name is None:
            name = self._settings.read(stored).model or OFFLINE_MODEL
        try:
            config, model_name = split_model(
                name, provider_configs(stored, self._environ, self.catalog.known_providers)
            )
        except NotFoundError as error:
            if name != persona.model:
                raise
            raise NotFoundError(f"the model of agent {persona.name!r} cannot be used: {error}") from None
        config = await with_key(config, self._keys)
        await self._providers.prepare(config)
        full_name = f"{config.name}/{model_name}"
        overrides = model_overrides(stored, full_name)
        learned = stored.get(LEARNED_SETTING + full_name)
        # What a server refused says nothing of another one at another address.
        if not isinstance(learned, dict) or learned.get("base_url") != config.base_url:
            learned = {}
        loading = ToolLoading(overrides.tool_loading or ToolLoading.NATIVE)
        if learned.get("tool_loading") in set(ToolLoading):  # else by another version
            loading = loading.at_most(ToolLoading(learned["tool_loading"]))
        return persona, ChosenModel(
            self._providers.get(config),
            config,
            model_facts(config, model_name, self._model_lists, stored),
            loading,
            overrides.max_output_tokens,
            overrides.prices,
        )

    def _turn(
        self,
        session: Session,
        agent: Agent,
        chosen: ChosenModel,
        settings: Settings,
        within: ToolContext | None = None,
        own: AgentLimits | None = None,
        hooks: TurnHooks | None = None,
    ) -> Turn:
        own = own or AgentLimits()
        most_rounds = (settings.turn_max_tool_rounds, agent.limits.max_tool_rounds, own.max_tool_rounds)
        reserve = chosen.max_output_tokens or min(chosen.info.max_output_tokens or RESERVED_TOKENS, RESERVED_TOKENS)
        limits = TurnLimits(
            deadline_seconds=settings.turn_deadline_seconds,
            max_tool_rounds=min(each for each in most_rounds if each is not None),
            result_max_characters=settings.tool_result_max_characters,
            context=ContextLimits(chosen.info.context_window, reserve, settings.history_max_characters),
            spending=SpendingLimits(
                turn_max_tokens=settings.turn_max_tokens,
                turn_max_cost=settings.turn_max_cost,
                day_max_tokens=settings.day_max_tokens,
                day_max_cost=settings.day_max_cost,
            ),
            agent_spending=SpendingLimits(
                turn_max_tokens=agent.limits.turn_max_tokens,
                turn_max_cost=agent.limits.turn_max_cost,
                agent=agent.name,
            ),
            own_spending=SpendingLimits(
                turn_max_tokens=own.turn_max_tokens, turn_max_cost=own.turn_max_cost, is_of_message=True
            ),
        )
        return Turn(
            self.store,
            self.catalog.registry,
            self._engine,
            chosen,
            agent,
            session,
            limits,
            self._fingerprints,
            within,
            self._tool_sizes,
            partial(self.plugins.prompt_sections, session_info(session)),
            partial(self.plugins.current_sections, session_info(session)),
            self._tool_sources.refresh,
            hooks,
        )


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


def _check_texts(**given: object) -> None:
    for name, value in given.items():
        if not isinstance(value, str | None):
            raise UsageError(f"{name} must be a text or None, not {type(value).__name__}")


def _decisions(stored: Mapping[str, str]) -> dict[str, Decision]:
    return {name: Decision(value) for name, value in stored.items() if value in set(Decision)}


def _current_directory() -> Path:
    try:
        return Path.cwd()
    except OSError:
        raise UsageError("the current directory is gone: change to one that exists") from None
