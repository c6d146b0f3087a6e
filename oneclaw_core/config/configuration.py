"""Services for everything that users configure, shared by the command line, tools and programs.

Each service reads what is stored when it is asked, so that the change of another process counts at once, and refuses
what would leave the user locked out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from oneclaw_core.agents.service import AgentService
from oneclaw_core.config.keys import EnvironmentVariables, KeyStore
from oneclaw_core.config.model_service import ModelLists, ModelService
from oneclaw_core.config.provider_service import CompositionService, ProviderService
from oneclaw_core.config.providers import ProviderSource
from oneclaw_core.config.settings import SettingService
from oneclaw_core.errors import NotFoundError, ProtectedError, UsageError
from oneclaw_core.shipped.missing import unknown_name
from oneclaw_core.types.tool_groups import LOAD_TOOL_GROUP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from oneclaw_core.config.setting_fields import SettingsModel
    from oneclaw_core.providers.known import KnownProviders, ProviderFactory
    from oneclaw_core.sessions.settings import SwitchKind
    from oneclaw_core.sessions.store import Store
    from oneclaw_core.system.home import Home
    from oneclaw_core.tools.registry import ToolRegistry


class ToolSwitches:
    """Enables and disables tools and tool groups.

    Args:
        store: where that is stored.
        registry: the tools there are, which is told at once.
    """

    def __init__(self, store: Store, registry: ToolRegistry) -> None:
        self._store = store
        self._registry = registry

    async def check(self, kind: SwitchKind, name: str, *, is_enabled: bool) -> None:
        """Refuse what :meth:`switch` would refuse.

        Raises:
            NotFoundError: there is none of that name.
            ProtectedError: it must stay enabled.
            UsageError: the name is of the other kind.
        """
        states = await self._store.tool_states()
        disabled = states.disabled_groups if kind == "group" else states.disabled_tools
        if not is_enabled and kind == "tool" and name == LOAD_TOOL_GROUP:
            raise ProtectedError(f"{LOAD_TOOL_GROUP} cannot be disabled: without it a model can load no tool group")
        if not (is_enabled and name in disabled):
            check_known(self._registry, kind, name)

    async def switch(self, kind: SwitchKind, name: str, *, is_enabled: bool) -> None:
        """Enable or disable a tool or a tool group.

        What was disabled and is not installed any more can be enabled, and is forgotten in this way.

        Raises:
            UsageError: as for :meth:`check`.
        """
        await self.check(kind, name, is_enabled=is_enabled)
        await self._store.set_tool_enabled(kind, name, is_enabled)
        states = await self._store.tool_states()
        self._registry.set_disabled(states.disabled_tools, states.disabled_groups)


def check_known(registry: ToolRegistry, kind: SwitchKind, name: str) -> None:
    """Refuse what is not installed.

    Raises:
        NotFoundError: there is none of that name.
        UsageError: the name is of the other kind.
    """
    groups = [group.name for group in registry.get_all_group_definitions()]
    known, what = (groups, "tool group") if kind == "group" else (registry.get_all_tool_names(), "tool")
    if name in known:
        return
    if name in groups:
        raise UsageError(f"{name!r} is a tool group, not a tool: add --group")
    raise NotFoundError(unknown_name(what, name, known, f"oneclaw {kind}s list", registry.absent_plugins))


@dataclass(frozen=True, slots=True)
class Configuration:
    """The services for what the user sets.

    Attributes:
        providers: the model services.
        compositions: the models that stand for others, such as chains.
        models: their models, and the default.
        settings: the settings.
        tools: which tools and tool groups are enabled.
        environment: the environment variables of the user's own tools.
        agents: the agents.
    """

    providers: ProviderService
    compositions: CompositionService
    models: ModelService
    settings: SettingService
    tools: ToolSwitches
    environment: EnvironmentVariables
    agents: AgentService

    @classmethod
    def of(
        cls,
        home: Home,
        store: Store,
        environ: Mapping[str, str],
        *,
        registry: ToolRegistry,
        provider_types: Mapping[str, ProviderFactory],
        known_providers: KnownProviders,
        plugin_settings: Callable[[], Iterable[SettingsModel]],
        plugin_names: Iterable[str],
    ) -> Self:
        """Make the services for an open home.

        Args:
            home: where files lie.
            store: where the rest is stored.
            environ: the environment.
            registry: the tools.
            provider_types: of plugins.
            known_providers: what plugins say about providers.
            plugin_settings: returns the settings of plugins.
            plugin_names: of the installed plugins.
        """
        keys = KeyStore(home, environ, known_providers)
        source = ProviderSource(store, provider_types, known_providers, keys, environ)
        models = ModelService(source, ModelLists(home))
        return cls(
            providers=ProviderService(source),
            compositions=CompositionService(source),
            models=models,
            settings=SettingService(store, environ, plugin_settings, plugin_names, keys.stored),
            tools=ToolSwitches(store, registry),
            environment=EnvironmentVariables(home),
            agents=AgentService(store, registry, models.check_provider),
        )
