"""Make the context of a plugin of an open home."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from oneclaw_core.config.keys import PluginSecrets, secret_store
from oneclaw_core.config.plugin_settings import registered_settings
from oneclaw_core.config.setting_fields import variable_of
from oneclaw_core.config.settings import CurrentSettings
from oneclaw_core.contract.context import PluginContext
from oneclaw_core.loops.worker_loop import WorkerLoop
from oneclaw_core.permissions.requests import PermissionRequest
from oneclaw_core.permissions.rules import private_place
from oneclaw_core.shipped.missing import EARLIER_KEYS

if TYPE_CHECKING:
    from oneclaw_core.contract.home_services import HomeServices
    from oneclaw_core.permissions.policy import PermissionPolicy
    from oneclaw_core.plugins.plugin import Plugin
    from oneclaw_core.sessions.plugin_storage import PluginStorage
    from oneclaw_core.system.home import Home

AskModel = Callable[[str, str, Mapping[str, Any] | None], Awaitable[Any]]


def make_context(
    name: str,
    *,
    home: Home,
    plugins: Iterable[Plugin],
    environ: Mapping[str, str],
    permissions: PermissionPolicy,
    storage: PluginStorage,
    read_settings: Callable[[], Awaitable[Mapping[str, Any]]],
    ask_model: AskModel,
    services: HomeServices,
) -> PluginContext:
    """Make the context of a plugin of an open home.

    Args:
        name: of the plugin.
        home: its directories.
        plugins: the loaded plugins.
        environ: settings and secrets of the environment.
        permissions: the user's decisions.
        storage: of the plugin.
        read_settings: reads the stored settings.
        ask_model: has the default model answer a plugin.
        services: of the open home.
    """
    environ = _with_earlier_variables(environ)
    own = [each for each in plugins if each.name == name]
    registered = next(iter(registered_settings(own)), None)
    declaration = own[0].declaration if own else None
    fields = [] if registered is None else [each.name for each in registered.fields]
    secrets = PluginSecrets(name, secret_store(home), environ, declaration, fields)
    settings = None if registered is None else CurrentSettings(registered, environ, secrets.get, read_settings)

    async def allow_address(host: str, address: str, port: int) -> None:
        subject = private_place(host, address, port)
        detail = f"connect to {host} at the private address {address}"
        await permissions.require(PermissionRequest("network.private", f"plugin {name}", {}, detail, subject=subject))

    context = PluginContext(
        name,
        home.plugin_folder(name),
        allow_address,
        secrets=secrets,
        settings=settings,
        storage=storage,
        locks=home.locks,
        ask_model=partial(ask_model, name),
        services=services,
        declaration=declaration,
    )
    if own and own[0].has_own_loop:
        context.worker = WorkerLoop(name)
    return context


def _with_earlier_variables(environ: Mapping[str, str]) -> Mapping[str, str]:
    """Let settings that another plugin had before also have their variables of then."""
    earlier = {variable_of(key): environ.get(variable_of(before)) for key, before in EARLIER_KEYS.items()}
    given = {name: value for name, value in earlier.items() if value and not environ.get(name)}
    return {**environ, **given} if given else environ
