"""Databases that a plugin finds: what ``ONECLAW_DATABASE_URL`` names with a scheme of the plugin."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from oneclaw_core.errors import PluginError, StoreError, describe_error
from oneclaw_core.plugins.loading.load_plugins import disabled_plugins, load_plugins

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from oneclaw_core.config.home import Home
    from oneclaw_core.plugins.loading.load_plugins import EntryPoint

STORE_HOOK = "register_stores"
_OWN = re.compile(r"(?:sqlite|postgres|postgresql)(?:\+\w+)?:", re.IGNORECASE)
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)


def needs_plugin(url: str) -> bool:
    """Return True if a database URL has a scheme that OneClaw does not know itself."""
    return _SCHEME.match(url) is not None and _OWN.match(url) is None


def with_found_store(home: Home, environ: Mapping[str, str], plugins: Iterable[EntryPoint] | None = None) -> Home:
    """Return the home with the URL of the database that a plugin finds for its own.

    A home with a URL that OneClaw understands itself is returned as it is. Plugins that only a stored setting disables
    take part: the settings are not read yet.

    Args:
        home: the home.
        environ: the environment.
        plugins: the plugins to load instead of all that are installed.

    Raises:
        StoreError: no plugin knows the scheme, or the plugin that does fails.
    """
    scheme = _SCHEME.match(home.database_url)
    if scheme is None or not needs_plugin(home.database_url):
        return home
    name = scheme[1].lower()
    for record in load_plugins(disabled_plugins({}, environ), plugins, home.loading).plugins:
        for registration in record.registrations:
            if registration.hook != STORE_HOOK or registration.name != name:
                continue
            try:
                found = record.load_object_now(registration)(home.database_url)
            except (StoreError, PluginError) as error:
                raise StoreError(str(error)) from error
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                # What it raised is not repeated: it may quote a password in the URL.
                raise StoreError(
                    f"plugin {record.name} cannot find the database of ONECLAW_DATABASE_URL "
                    f"({describe_error(error).partition(':')[0]}); the log may say why"
                ) from error
            if not isinstance(found, str) or not _OWN.match(found):
                raise StoreError(f"plugin {record.name} returned no URL of SQLite or PostgreSQL for {name!r}")
            return replace(home, database_url=found)
    raise StoreError(
        f"no installed plugin knows databases of type {name!r}: install the package that does, with: oneclaw plugins "
        "install PACKAGE; or write sqlite:///PATH, or postgresql+psycopg://USER:PASSWORD@HOST/DATABASE"
    )
