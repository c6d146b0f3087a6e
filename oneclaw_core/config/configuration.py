"""Services for everything that users configure, shared by the command line, tools and programs.

Each service reads what is stored when it is asked, so that the change of another process counts at once, and refuses
what would leave the user locked out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from oneclaw_core.config.environment import EnvironmentVariables
from oneclaw_core.config.keys import KeyStore
from oneclaw_core.config.models.lists import ModelLists
from oneclaw_core.config.models.service import ModelService
from oneclaw_core.config.providers import ProviderService
from oneclaw_core.config.settings.service import SettingService
from oneclaw_core.config.tools import ToolSwitches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from oneclaw_core.config.home import Home
    from oneclaw_core.config.settings.model import SettingsModel
    from oneclaw_core.providers.factory import ProviderFactory
    from oneclaw_core.providers.known import KnownProviders
    from oneclaw_core.sessions.store import Store
    from oneclaw_core.tools.registry import ToolRegistry


@dataclass(frozen=True, slots=True)
class Configuration:
    """The services for what the user sets.

    Attributes:
        providers: the model services.
        models: their models, and the default.
        settings: the settings.
        tools: which tools and tool groups are enabled.
        environment: the environment variables of the user's own tools.
    """

    providers: ProviderService
    models: ModelService
    settings: SettingService
    tools: ToolSwitches
    environment: EnvironmentVariables

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
        keys, lists = KeyStore(home, environ, known_providers), ModelLists(home)
        return cls(
            providers=ProviderService(store, provider_types, known_providers, keys, environ),
            models=ModelService(store, provider_types, known_providers, keys, lists, environ),
            settings=SettingService(store, environ, plugin_settings, plugin_names),
            tools=ToolSwitches(store, registry),
            environment=EnvironmentVariables(home),
        )
