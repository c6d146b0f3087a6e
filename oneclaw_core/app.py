"""OneClaw: opens a home, wires the parts, sends messages."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneclaw_core.agents import find_agent
from oneclaw_core.attachments import accepted_media_types, check_attachments
from oneclaw_core.chat.compaction import ContextLimits, with_summary
from oneclaw_core.chat.events import CompactedEvent, TurnFinishedEvent
from oneclaw_core.chat.fingerprints import Fingerprints
from oneclaw_core.chat.model_calls import ChosenModel
from oneclaw_core.chat.prompt import model_request, shown_history
from oneclaw_core.chat.turn import INTERRUPTED, Turn, TurnLimits
from oneclaw_core.errors import NotFoundError, UsageError
from oneclaw_core.home import Home, find_home
from oneclaw_core.keys import KeyStore
from oneclaw_core.messages import Message, MessageType, ToolCall
from oneclaw_core.model_lists import ModelLists
from oneclaw_core.model_overrides import model_facts, model_overrides
from oneclaw_core.models import LEARNED_SETTING, OFFLINE_MODEL, provider_configs, split_model, with_key
from oneclaw_core.plugins import Catalog, EntryPoint, disabled_plugins, load_plugins
from oneclaw_core.providers.base import ToolLoading, attachment_media_types
from oneclaw_core.settings import Settings, load_settings
from oneclaw_core.spending import SpendingLimits
from oneclaw_core.store.store import Store, TurnStart
from oneclaw_core.tools.engine import CallScope, ToolEngine
from oneclaw_core.tools.groups import ActiveTools, one_line, restore_loaded_groups
from oneclaw_core.tools.paths import PathGuard
from oneclaw_core.tools.permissions import Decision, PermissionPolicy

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping

    from oneclaw_core.agents import Agent
    from oneclaw_core.chat.events import TurnEvent
    from oneclaw_core.messages import Attachment
    from oneclaw_core.providers.base import ModelRequest, Provider, ProviderConfig
    from oneclaw_core.store.sessions import Session
    from oneclaw_core.tools.engine import ToolOutcome
    from oneclaw_core.tools.permissions import PermissionAnswer, PermissionRequest

TITLE_CHARACTERS = 50
# Kept free for the answer where nobody says how long one may become.
RESERVED_TOKENS = 16_000


class OneClaw:
    """An open home: sessions, tools, models. Made by :meth:`open`.

    Attributes:
        home: where everything lies.
        catalog: what plugins brought.
        store: sessions, messages and settings.
    """

    def __init__(
        self,
        home: Home,
        catalog: Catalog,
        store: Store,
        environ: Mapping[str, str],
        permissions: PermissionPolicy,
        start_directory: Path,
    ) -> None:
        self.home = home
        self.catalog = catalog
        self.store = store
        self._environ = environ
        self._permissions = permissions
        self._engine = ToolEngine(
            catalog.registry, permissions, home.path, PathGuard(home.workspace, start_directory, home.path), self
        )
        self._keys = KeyStore(home, environ)
        self._model_lists = ModelLists(home)
        self._fingerprints = Fingerprints()
        self._providers: dict[str, tuple[ProviderConfig, Provider]] = {}
        self._replaced_providers: list[Provider] = []

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
        plugins: Iterable[EntryPoint] | None = None,
    ) -> AsyncGenerator[OneClaw, None]:
        """Open a home, creating it if need be, and close everything at the end.

        Args:
            home: the directory; by default ``ONECLAW_HOME``, else the platform's place for user data.
            ask: asks the user for a permission; without it what is not granted is denied.
            allow: permissions granted for as long as the home is open.
            environ: the environment with keys and settings; by default the program's own.
            start_directory: where tools may read beside the workspace; by default the current directory.
            plugins: the plugins to load instead of all that are installed.

        Raises:
            OneClawError: the home or its database cannot be used.
        """
        environ = os.environ if environ is None else environ
        found = find_home(environ, home)
        found.create()
        start = Path(start_directory) if start_directory is not None else _current_directory()
        async with await Store.open(found.database_url, lock_directory=found.locks) as store:
            catalog = load_plugins(disabled_plugins(await store.settings(), environ), plugins)
            decisions = await store.permissions()

            async def remember(permission: str, decision: Decision) -> None:
                await store.set_permission(permission, "grant" if decision is Decision.GRANT else "deny")

            policy = PermissionPolicy(_decisions(decisions), remember, ask, allow)
            claw = cls(found, catalog, store, environ, policy, start)
            await claw.refresh_tool_states()
            try:
                yield claw
            finally:
                for provider in (*claw._replaced_providers, *(each for _, each in claw._providers.values())):
                    await provider.aclose()

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
        persona = find_agent(agent).name
        title = one_line(title, TITLE_CHARACTERS) if title is not None else None
        if name is None:
            return await self.store.create_session(agent=persona, model=model, title=title)
        return await self.store.find_or_create_session(name, agent=persona, model=model, title=title)

    async def send_message(
        self,
        text: str,
        *,
        session: str | None = None,
        agent: str | None = None,
        model: str | None = None,
        attachments: Iterable[Attachment] = (),
    ) -> AsyncGenerator[TurnEvent, None]:
        """Send a message and yield what happens until the model's final answer.

        Args:
            text: the message.
            session: the session's name or id; a new name begins a session, ``None`` one without a name.
            agent: the agent's name; by default the session's.
            model: ``PROVIDER/MODEL``; by default the session's, the agent's, the environment's or the setting's.
            attachments: files for the model to look at.

        Yields:
            ``TurnFinishedEvent`` last.

        Raises:
            UsageError: there is no such agent, provider or model, the message is empty, or the model cannot look at
                an attachment.
            SessionBusyError: another turn of the session did not end in time.
            ProviderError: the model could not be asked; the session is intact.
            TurnError: the turn reached a limit.
        """
        if not isinstance(text, str) or not text.strip():
            raise UsageError("the message is empty: say what you want")
        stored = await self.store.settings()
        settings = load_settings(stored, self._environ)
        found = await self.store.find_session(session) if session is not None else None
        persona, chosen = await self._agent_and_model(found, agent, model, stored)
        attached = tuple(attachments)
        accepted = accepted_media_types(attachment_media_types(chosen.provider), chosen.info.input_media_types)
        check_attachments(attached, accepted, chosen.full_name)
        if found is None:
            found = await self.begin_session(session, agent=persona.name, model=model, title=text)
        turn = self._turn(found, persona, chosen, settings)
        async with self.store.session_lock(found.id, settings.session_wait_seconds):
            message = Message(type=MessageType.USER, content=text, attachments=attached)
            start = await self.store.begin_turn(found.id, message, INTERRUPTED, settings.history_max_characters)
            self._take_over(start)
            async with aclosing(turn.run(start)) as events:
                async for event in events:
                    yield event

    async def compact(
        self, session: str, *, agent: str | None = None, model: str | None = None
    ) -> CompactedEvent | None:
        """Summarise all but the last turn of a session; ``None`` if there is nothing before it."""
        stored = await self.store.settings()
        settings = load_settings(stored, self._environ)
        found = await self.store.find_session(session)
        if found is None:
            raise NotFoundError(f"there is no session {session!r}; list them with: oneclaw sessions list")
        persona, chosen = await self._agent_and_model(found, agent, model, stored)
        turn = self._turn(found, persona, chosen, settings)
        compacted = None
        async with self.store.session_lock(found.id, settings.session_wait_seconds):
            start = await self.store.load_turn(found.id, settings.history_max_characters)
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
        stored = await self.store.settings()
        settings = load_settings(stored, self._environ)
        found = await self.store.find_session(session) if session is not None else None
        if session is not None and found is None:
            raise NotFoundError(f"there is no session {session!r}; list them with: oneclaw sessions list")
        persona, chosen = await self._agent_and_model(found, agent, model, stored)
        history: list[Message] = []
        groups: list[str] = []
        if found is not None:
            start = await self.store.load_turn(found.id, settings.history_max_characters)
            self._take_over(start)
            history = with_summary(shown_history(start.history), start.summary)
            groups = restore_loaded_groups(start.group_loads)
        request = model_request(
            persona, self.catalog.registry, chosen.info.name, found.id if found else "", history, groups
        )
        return request, chosen.full_name

    async def call_tool(self, name: str, arguments: str | Mapping[str, Any] = "{}") -> ToolOutcome:
        """Run one tool through the engine, outside a conversation; tools of all groups are active.

        Args:
            name: the tool's name.
            arguments: a JSON object, as text or as what JSON is read into.
        """
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        registry = self.catalog.registry
        scope = CallScope(ActiveTools(tuple(registry.get_all_tool_definitions())), find_agent(None).name)
        (outcome,) = await self._engine.execute([ToolCall("call_1", name, text)], scope)
        return outcome

    async def settings(self) -> Settings:
        """Read the settings as they are now.

        Raises:
            SettingsError: a value does not fit.
        """
        return load_settings(await self.store.settings(), self._environ)

    async def default_model(self) -> str:
        """Say which ``PROVIDER/MODEL`` a session uses for which none was chosen."""
        return (await self.settings()).model or OFFLINE_MODEL

    async def provider(self, name: str) -> Provider:
        """The model service of that name.

        Raises:
            NotFoundError: none is configured under that name, or no plugin brings its type.
        """
        configs = provider_configs(await self.store.settings(), self._environ)
        if name not in configs:
            raise NotFoundError(f"there is no provider {name!r}; the providers are: {', '.join(configs)}")
        return self._open_provider(await with_key(configs[name], self._keys))

    async def refresh_tool_states(self) -> None:
        """Take over which tools and groups are disabled; another process may have changed it."""
        states = await self.store.tool_states()
        self.catalog.registry.set_disabled(states.disabled_tools, states.disabled_groups)

    def _take_over(self, start: TurnStart) -> None:
        """Obey what the user has decided and disabled by now; another process may have changed it."""
        self._permissions.replace_decisions(_decisions(start.permissions))
        self.catalog.registry.set_disabled(start.tool_states.disabled_tools, start.tool_states.disabled_groups)

    async def _agent_and_model(
        self, session: Session | None, agent: str | None, model: str | None, stored: Mapping[str, Any]
    ) -> tuple[Agent, ChosenModel]:
        persona = find_agent(agent or (session.agent if session else None))
        name = model or (session.model if session else None) or persona.model
        if name is None:
            name = load_settings(stored, self._environ).model or OFFLINE_MODEL
        config, model_name = split_model(name, provider_configs(stored, self._environ))
        config = await with_key(config, self._keys)
        full_name = f"{config.name}/{model_name}"
        overrides = model_overrides(stored, full_name)
        learned = stored.get(LEARNED_SETTING + full_name)
        # What a server refused says nothing of another one at another address.
        if not isinstance(learned, dict) or learned.get("base_url") != config.base_url:
            learned = {}
        loading = overrides.tool_loading or learned.get("tool_loading")
        if loading not in set(ToolLoading):  # learned by another version
            loading = None
        return persona, ChosenModel(
            self._open_provider(config),
            config,
            model_facts(config, model_name, self._model_lists, stored),
            ToolLoading(loading or ToolLoading.NATIVE),
            overrides.max_output_tokens,
        )

    def _turn(self, session: Session, agent: Agent, chosen: ChosenModel, settings: Settings) -> Turn:
        reserve = chosen.max_output_tokens or min(chosen.info.max_output_tokens or RESERVED_TOKENS, RESERVED_TOKENS)
        limits = TurnLimits(
            deadline_seconds=settings.turn_deadline_seconds,
            max_tool_rounds=settings.turn_max_tool_rounds,
            result_max_characters=settings.tool_result_max_characters,
            context=ContextLimits(chosen.info.context_window, reserve, settings.history_max_characters),
            spending=SpendingLimits(
                turn_max_tokens=settings.turn_max_tokens,
                turn_max_cost=settings.turn_max_cost,
                day_max_tokens=settings.day_max_tokens,
                day_max_cost=settings.day_max_cost,
            ),
        )
        return Turn(self.store, self.catalog.registry, self._engine, chosen, agent, session, limits, self._fingerprints)

    def _open_provider(self, config: ProviderConfig) -> Provider:
        """Connect to a model service when it is first needed, and again when its configuration has changed."""
        known_config, provider = self._providers.get(config.name, (None, None))
        if provider is not None and known_config == config:
            return provider
        factory = self.catalog.provider_types.get(config.type)
        if factory is None:
            known = ", ".join(self.catalog.provider_types)
            raise NotFoundError(f"no plugin brings the provider type {config.type!r}; there are: {known}")
        if provider is not None:
            # Another session's turn may be in the middle of an answer from it.
            self._replaced_providers.append(provider)
        provider = factory(config)
        self._providers[config.name] = (config, provider)
        return provider


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
        async with OneClaw.open(**options) as claw:
            async for event in claw.send_message(text, **message_options):
                if isinstance(event, TurnFinishedEvent):
                    return event.text
        return ""

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(answer())
    raise UsageError("ask() cannot be used inside an event loop: use 'async with OneClaw.open() as claw' there")


def _decisions(stored: Mapping[str, str]) -> dict[str, Decision]:
    return {name: Decision(value) for name, value in stored.items() if value in set(Decision)}


def _current_directory() -> Path:
    try:
        return Path.cwd()
    except OSError:
        raise UsageError("the current directory is gone: change to one that exists") from None
