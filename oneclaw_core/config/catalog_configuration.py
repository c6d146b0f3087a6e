"""The configuration of a home with the plugins of a catalog."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from oneclaw_core.config.configuration import Configuration
from oneclaw_core.config.plugin_settings import registered_settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_core.plugins.catalog import Catalog
    from oneclaw_core.sessions.store import Store
    from oneclaw_core.system.home import Home


def configuration_of(catalog: Catalog, home: Home, store: Store, environ: Mapping[str, str]) -> Configuration:
    """Make the services for an open home with the plugins of a catalog; see :meth:`Configuration.of`."""
    return Configuration.of(
        home,
        store,
        environ,
        registry=catalog.registry,
        provider_types=catalog.provider_types,
        known_providers=catalog.known_providers,
        plugin_settings=partial(registered_settings, catalog.plugins),
        plugin_names=[plugin.name for plugin in catalog.plugins],
    )
