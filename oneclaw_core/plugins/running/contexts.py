"""Make the contexts of plugins in an open home."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from oneclaw_core.config.keys import secret_store
from oneclaw_core.config.settings import CurrentSettings
from oneclaw_core.plugins.contract.context import PluginContext
from oneclaw_core.plugins.contract.secrets import PluginSecrets
from oneclaw_core.plugins.registration.settings import registered_settings
from oneclaw_core.tools.permissions import PermissionRequest

if TYPE_CHECKING:
    from oneclaw_core.config.home import Home
    from oneclaw_core.plugins.contract.home_services import HomeServices
    from oneclaw_core.plugins.registration.record import PluginRecord
    from oneclaw_core.sessions.plugin_storage import PluginStorage
    from oneclaw_core.tools.permissions import PermissionPolicy

AskModel = Callable[[str, str, Mapping[str, Any] | None], Awaitable[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginContexts:
    """Make the contexts of the plugins of a home.

    Attributes:
        home: its directories.
        plugins: the loaded plugins.
        environ: settings and secrets of the environment.
        permissions: the user's decisions.
        read_settings: reads the stored settings.
        storage: opens the storage of a plugin.
        ask_model: has the default model answer a plugin.
        services: of the open home.
    """

    home: Home
    plugins: list[PluginRecord]
    environ: Mapping[str, str]
    permissions: PermissionPolicy
    read_settings: Callable[[], Awaitable[Mapping[str, Any]]]
    storage: Callable[[str], PluginStorage]
    ask_model: AskModel
    services: HomeServices

    def make(self, name: str) -> PluginContext:
        """Make the context of a plugin."""
        secrets = PluginSecrets(name, secret_store(self.home), self.environ)
        registered = next((each for each in registered_settings(self.plugins) if each.plugin == name), None)
        settings = None
        if registered is not None:
            settings = CurrentSettings(registered, self.environ, secrets.get, self.read_settings)

        async def allow_address(host: str, address: str) -> None:
            detail = f"connect to {host} at the private address {address}"
            await self.permissions.require(PermissionRequest("network.private", f"plugin {name}", {}, detail))

        return PluginContext(
            name,
            self.home.plugin_folder(name),
            allow_address,
            secrets=secrets,
            settings=settings,
            storage=self.storage(name),
            locks=self.home.locks,
            ask_model=partial(self.ask_model, name),
            services=self.services,
        )
