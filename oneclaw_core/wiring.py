"""Open a home: load the plugins and wire the parts of OneClaw to one another."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneclaw_core.compaction.compacting import Compactor, compact_session, compacting
from oneclaw_core.compaction.summary import explained
from oneclaw_core.config.catalog_configuration import configuration_of
from oneclaw_core.config.keys import KeyStore, known_secret_check
from oneclaw_core.config.model_service import ModelLists
from oneclaw_core.config.settings import read_settings
from oneclaw_core.config.user_choices import UserChoices, disabled_plugins, hook_timeouts, listed_setting
from oneclaw_core.contract.home_services import HomeServices
from oneclaw_core.files.paths import PathGuard
from oneclaw_core.installation.given_plugins import given_plugins
from oneclaw_core.installation.plugin_context import make_context
from oneclaw_core.installation.reviews import reviews_of
from oneclaw_core.installation.stores import home_with_backend
from oneclaw_core.json_schema.valid import Validators, result_checked, valid
from oneclaw_core.loops.blocking import BlockMeter, LoopBlocks
from oneclaw_core.loops.services_across import for_other_loop
from oneclaw_core.models.adapted import adapted
from oneclaw_core.models.chooser import ModelChooser
from oneclaw_core.models.fallback import falls_back
from oneclaw_core.models.recovery import healed, kept, not_empty
from oneclaw_core.models.spending import Costs, counted, spending
from oneclaw_core.outputs.turn_output import ending_of, output_shown
from oneclaw_core.permissions.asking import Asking, denied, exposed, permitted, text_asked
from oneclaw_core.permissions.decisions import Decisions, TaskPermissions
from oneclaw_core.permissions.policy import People, PermissionPolicy
from oneclaw_core.plugins.loading import load_plugins
from oneclaw_core.plugins.running.hook_timeouts import HookTimeouts
from oneclaw_core.plugins.running.runtime import Plugins
from oneclaw_core.previews.preview import Previews
from oneclaw_core.project.trust import Project
from oneclaw_core.prompts.kept import Prompts
from oneclaw_core.prompts.new_tools import new_tools_told
from oneclaw_core.provenance.marks import CallOrigins
from oneclaw_core.providers.pool import ProviderPool
from oneclaw_core.scripts.inner_calls import InnerCalls
from oneclaw_core.secrets.redaction import redacted
from oneclaw_core.services.outside import ToolCalls, answer_plugin
from oneclaw_core.sessions.background import Background
from oneclaw_core.sessions.conversations import Conversations, Sessions
from oneclaw_core.sessions.store import Store
from oneclaw_core.shipped.missing import missing_part, missing_type
from oneclaw_core.system.home import Home, current_directory, find_home
from oneclaw_core.system.threads import run_in_thread
from oneclaw_core.tool_sources.published_tools import PublishedTools
from oneclaw_core.tool_sources.tool_sources import ToolSources
from oneclaw_core.tools.calls.running import HomeOfTools, Running
from oneclaw_core.tools.calls.steps import (
    answered,
    available,
    declared,
    denial_answered,
    gated,
    marked,
    observed,
    result_rewritten,
    rewritten,
)
from oneclaw_core.tools.executor import ToolExecutor
from oneclaw_core.turn.call_records import patient
from oneclaw_core.turn.state import Answer, Ask, TurnParts
from oneclaw_core.turn.steps import built, hooked, streamed
from oneclaw_core.turn.turn_request import TurnRequest
from oneclaw_core.turn.turns import Turns
from oneclaw_core.types.steps import Step, chain

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping

    from oneclaw_core.contract.contact_points import Channel
    from oneclaw_core.contract.context import PluginContext
    from oneclaw_core.contract.tool_source import ToolSource
    from oneclaw_core.permissions.requests import PermissionAnswer, PermissionRequest
    from oneclaw_core.plugins.catalog import Catalog
    from oneclaw_core.process.sandbox.choice import ChosenSandbox
    from oneclaw_core.scripts.journal import ScriptRecords
    from oneclaw_core.tools.calls.call import Call
    from oneclaw_core.tools.calls.running_call import Questions
    from oneclaw_core.tools.registry import ToolRegistry
    from oneclaw_core.types.events import CompactedEvent, TurnEvent
    from oneclaw_core.types.user_question import UserAsker


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenHome:
    """The parts of an open home.

    Attributes:
        catalog: what plugins brought.
        parts: that every turn works with.
        services: that tools and plugins may use.
        permissions: decides what tools may do.
        choices: what the user has set.
        models: that can answer.
        conversations: begins, branches and deletes sessions.
        turns: runs turns.
        compact: summarises all but the last turn of a session.
        calls: runs tools outside of conversations.
        previews: shows what would be sent next.
    """

    catalog: Catalog
    parts: TurnParts
    services: HomeServices
    permissions: PermissionPolicy
    choices: UserChoices
    models: ModelChooser
    conversations: Conversations
    turns: Turns
    compact: Callable[[TurnRequest], Awaitable[CompactedEvent | None]]
    calls: ToolCalls
    previews: Previews


@asynccontextmanager
async def open_home(
    home: str | Path | None,
    *,
    ask: Callable[[PermissionRequest], Awaitable[PermissionAnswer]] | None,
    ask_user: UserAsker | None,
    allow: Iterable[str],
    environ: Mapping[str, str] | None,
    start_directory: str | Path | None,
    plugins: Iterable[object] | None,
    deps: object,
) -> AsyncGenerator[OpenHome, None]:
    """Open a home, and close its parts at the end; see :meth:`oneclaw_core.OneClaw.open`."""
    environ = os.environ if environ is None else environ
    found = find_home(environ, home)
    found.create()
    points = None if plugins is None else given_plugins(plugins)
    found, backend = await run_in_thread(partial(home_with_backend, found, environ, points))
    start = Path(start_directory) if start_directory is not None else current_directory()
    async with await Store.open(backend, lock_directory=found.locks) as store:
        stored = await store.settings()
        disabled = disabled_plugins(stored, environ)
        # In a thread: a subprocess may have to look at a plugin first.
        catalog = await run_in_thread(partial(load_plugins, disabled, points, reviews_of(stored, environ)))
        decisions = Decisions(await store.grants(), allow)
        permissions = PermissionPolicy(patient(store), decisions, People(ask, ask_user))
        opened = _wired(found, catalog, store, stored, environ, permissions, start, deps)
        parts = opened.parts
        await opened.choices.refresh_tools()
        try:
            parts.tool_sources.add(disabled)
            await parts.tool_sources.start()
            yield opened
        finally:
            await opened.turns.tracker.end()
            await parts.tool_sources.aclose()
            await parts.plugins.aclose()
            await parts.background.aclose()
            await opened.models.aclose()


def _wired(
    home: Home,
    catalog: Catalog,
    store: Store,
    stored: Mapping[str, Any],
    environ: Mapping[str, str],
    permissions: PermissionPolicy,
    start_directory: Path,
    deps: object,
) -> OpenHome:
    """Make the parts of a home. The inner functions use parts that are made later in this function."""

    async def channel(name: str) -> Channel:
        return await plugins.channel(name)

    async def tool_source(plugin: str, name: str) -> ToolSource | None:
        return await tool_sources.get(plugin, name)

    async def sandbox() -> ChosenSandbox:
        from oneclaw_core.process.sandbox.choice import choose_sandbox

        setting = read_settings(await store.settings(), environ).sandbox
        return await run_in_thread(lambda: choose_sandbox(setting))

    def send_message(text: str, **options: Any) -> AsyncGenerator[TurnEvent, None]:
        return turns.send(TurnRequest(text=text, **options))

    def context_of(plugin: str) -> PluginContext:
        return make_context(
            plugin,
            home=home,
            plugins=catalog.plugins,
            environ=environ,
            permissions=permissions,
            storage=store.plugin_storage(plugin),
            read_settings=store.settings,
            ask_model=lambda *question: answer_plugin(parts, *question),
            services=services,
        )

    def how_to_get(kind: str, name: str) -> str | None:
        return missing_part(kind, name, catalog.absent_plugins)

    catalog.registry.how_to_get = how_to_get

    async def free_requests() -> int:
        return read_settings(await store.settings(), environ).free_requests

    configuration = configuration_of(catalog, home, store, environ)
    project = Project(start_directory, permissions, home.path / "projects", store.change_setting)
    background = Background(store, home.locks)
    services = HomeServices(
        home=home,
        agents=configuration.agents,
        configuration=configuration,
        registry=catalog.registry,
        sessions=Sessions(store),
        tool_source=tool_source,
        project=project,
        skills=catalog.skills,
        holds_secret=known_secret_check(home, environ),
        send_message=send_message,
        task_permissions=TaskPermissions(store),
        channel=channel,
        triggers=lambda: plugins.triggers(),
        trigger=lambda name: plugins.trigger(name),
        background=background,
        sandbox=sandbox,
        loop=asyncio.get_running_loop(),
        _across=for_other_loop,
    )
    plugins = Plugins(
        catalog.plugins,
        context_of,
        order=listed_setting(stored, environ, "plugin_order"),
        limits=hook_timeouts(stored, environ),
        timeouts=HookTimeouts(home.hook_timeouts),
        how_to_get=how_to_get,
    )
    tool_sources = ToolSources(PublishedTools(catalog.registry, catalog.plugins), home.tool_sources, plugins)
    providers = ProviderPool(catalog.provider_types, partial(missing_type, absent=catalog.absent_plugins))
    known = catalog.known_providers
    keys, model_lists = KeyStore(home, environ, known), ModelLists(home)
    paths = PathGuard(home.workspace, start_directory, home.path)
    choices = UserChoices(store, environ, catalog.registry, permissions.decisions, tool_sources, project)
    models = ModelChooser(configuration.agents, environ, known, keys, model_lists, providers)
    compactor = Compactor()
    parts = TurnParts(
        store=store,
        registry=catalog.registry,
        executor=tool_executor(
            catalog.registry,
            permissions,
            CallOrigins(paths, patient(store), project, free_requests),
            home.path,
            services=services,
            plugins=plugins,
            deps=deps,
            scripts=patient(store),
        ),
        plugins=plugins,
        people=permissions.people,
        choices=choices,
        models=models,
        tool_sources=tool_sources,
        background=background,
        prompts=Prompts(store, catalog.registry, plugins, tool_sources),
        ask=chain(model_steps(compactor, Costs()), streamed),
        ending_of=ending_of,
    )
    conversations = Conversations(store, plugins, project.path)
    turns = Turns(parts, conversations)
    return OpenHome(
        catalog=catalog,
        parts=parts,
        services=services,
        permissions=permissions,
        choices=choices,
        models=models,
        conversations=conversations,
        turns=turns,
        compact=partial(compact_session, turns, compactor),
        calls=ToolCalls(parts, turns.tracker),
        previews=Previews(parts),
    )


def tool_executor(
    registry: ToolRegistry,
    permissions: PermissionPolicy | None,
    origins: CallOrigins,
    home: Path,
    *,
    services: HomeServices | None = None,
    plugins: Plugins | None = None,
    deps: object = None,
    scripts: ScriptRecords | None = None,
) -> ToolExecutor:
    """Make the executor of a home, and list the steps of a call, the outermost first.

    ``checks`` are the steps before the permissions; ``run`` has those between the permissions and the tool.

    Args:
        registry: the tools there are.
        permissions: decides what they may do; ``None`` to deny every call.
        origins: knows where text comes from.
        home: the user's directory.
        services: of the open home, for tools; ``None`` without one.
        plugins: at work, which govern and observe calls; ``None`` for none.
        deps: what the embedding program gives to its tools.
        scripts: store of the calls of scripts; ``None`` without one.
    """
    validators = Validators()
    hooked = plugins if plugins is not None and plugins.governs_calls else None
    if permissions is None:
        checks = chain((redacted, answered, marked(registry), available(registry), valid(validators)), denied)
        return ToolExecutor(registry, hooked, origins, checks)
    asking = Asking(permissions, registry)

    def inner_calls(call: Call, questions: Questions) -> InnerCalls:
        has_room = None if hooked is None else hooked.observers_have_room
        return InnerCalls(call, questions, executor, registry, has_room, scripts)

    checked = result_checked()
    run = chain(
        (result_rewritten, redacted, declared, checked) if hooked else (declared, checked),
        Running(asking, inner_calls, plugins, HomeOfTools(home, services, deps), partial(BlockMeter, LoopBlocks())),
    )
    checks = chain(
        (
            *([observed] if hooked else []),  # of every call, also one that is refused or cut off
            redacted,  # an error may quote a key
            answered,  # every exception becomes a result
            marked(registry),  # refusals have marks too
            available(registry),
            valid(validators),
            *([rewritten(validators.faults)] if hooked else []),  # from here on the arguments are final
            denial_answered,
            *([gated(asking)] if hooked else []),
            text_asked(asking),
            exposed(asking),
        ),
        permitted(asking, run),  # the only way to run
    )
    executor = ToolExecutor(registry, hooked, origins, checks)
    return executor


def model_steps(compactor: Compactor, costs: Costs) -> tuple[Step[Ask, Answer], ...]:
    """Return the steps of a request to a model, the outermost first; at their end ``streamed`` asks the provider.

    Args:
        compactor: keeps conversations within what their models read.
        costs: of requests.
    """
    return (
        output_shown,  # shows the part of an output that has arrived
        explained,  # has a model explain, without tools, why its turn makes no progress
        not_empty,  # asks again for an answer that is empty, or has a call that cannot be read
        falls_back,  # asks the next model behind the one that was asked for
        healed(compactor),  # changes a session that the service refuses
        kept,  # stores what was read of an answer that broke off
        new_tools_told,  # tells the model of tools that came to be in the session
        compacting(compactor),  # keeps the conversation within what the model reads
        built,  # builds the request of the conversation
        spending(costs),  # refuses a request beyond the limits, and counts what it used
        adapted,  # makes the request one for the model, without what the service refuses
        hooked,  # shows the request and its events to plugins
        counted(costs),  # counts the attempts whose answer does not end
    )
