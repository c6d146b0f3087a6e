"""What the user sets, changed in one way by the command line, by tools and by programs.

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
    from collections.abc import Mapping

    from oneclaw_core.config.home import Home
    from oneclaw_core.plugins.catalogue.merging import Catalog
    from oneclaw_core.sessions.store import Store


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
    def of(cls, home: Home, store: Store, catalog: Catalog, environ: Mapping[str, str]) -> Self:
        """Make the services for an open home.

        Args:
            home: where files lie.
            store: where the rest is stored.
            catalog: what is installed.
            environ: the environment.
        """
        keys, lists = KeyStore(home, environ), ModelLists(home)
        return cls(
            providers=ProviderService(store, catalog.provider_types, keys, environ),
            models=ModelService(store, catalog.provider_types, keys, lists, environ),
            settings=SettingService(store, environ, catalog.plugins),
            tools=ToolSwitches(store, catalog.registry),
            environment=EnvironmentVariables(home),
        )
