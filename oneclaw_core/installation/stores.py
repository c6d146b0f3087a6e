"""The backend of a database URL: SQLite, or one of a plugin."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from oneclaw_core.config.user_choices import disabled_plugins
from oneclaw_core.errors import PluginError, StoreError, describe_error
from oneclaw_core.installation.reviews import reviews_of
from oneclaw_core.plugins.first_use import load_object_now
from oneclaw_core.plugins.loading import EntryPoint, load_plugins
from oneclaw_core.sessions.backend import Backend

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from oneclaw_core.plugins.plugin import Plugin, Registration
    from oneclaw_core.system.home import Home

STORE_HOOK = "register_stores"
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)
_POSTGRES_SCHEMES = frozenset({"postgres", "postgresql"})
# A plugin may return a URL that another plugin opens.
_MOST_PLUGINS = 3


def _needs_plugin(url: str) -> bool:
    """Return True if a plugin opens the database of a URL."""
    scheme = _SCHEME.match(url)
    return scheme is not None and scheme[1].lower().partition("+")[0] != "sqlite"


def home_with_backend(
    home: Home, environ: Mapping[str, str], plugins: Iterable[Plugin | EntryPoint] | None = None
) -> tuple[Home, Backend]:
    """Find the database of a home.

    Returns:
        The home with the URL of that database, and its backend.

    Raises:
        StoreError: as for :func:`backend_of`.
    """
    backend = backend_of(home.database_url, environ, plugins)
    return replace(home, database_url=backend.url), backend


def backend_of(url: str, environ: Mapping[str, str], plugins: Iterable[Plugin | EntryPoint] | None = None) -> Backend:
    """Return the backend of a database URL.

    Plugins that only a stored setting disables take part: the settings are not read yet.

    Args:
        url: ``sqlite:///PATH``, or a URL with a scheme of a plugin.
        environ: the environment.
        plugins: plugins to search before those that are installed.

    Raises:
        StoreError: the URL is invalid, or no plugin opens it. The message does not repeat it: it may hold a password.
    """
    disabled = disabled_plugins({}, environ)
    given = None if plugins is None else list(plugins)
    for _ in range(_MOST_PLUGINS):
        if not _needs_plugin(url):
            from oneclaw_core.sessions.sqlite_backend import SqliteBackend, path_of

            return SqliteBackend(path_of(url))
        scheme = url.partition("://")[0].lower()
        for points in (None,) if given is None else (given, None):
            found = _registered(scheme, load_plugins(disabled, points, reviews_of({}, environ)).plugins)
            if found is not None:
                break
        else:
            raise _unknown(scheme)
        opened = _opened(url, scheme, *found)
        if isinstance(opened, Backend):
            return opened
        url = opened
    raise StoreError(f"plugins return URLs of each other for databases of type {scheme!r}: disable one of them")


def _registered(scheme: str, records: Iterable[Plugin]) -> tuple[Plugin, Registration] | None:
    """Find the store for a scheme such as ``postgresql+psycopg``, or else for the part before ``+``."""
    found: dict[str, tuple[Plugin, Registration]] = {}
    for record in records:
        for registration in record.registrations:
            if registration.hook == STORE_HOOK:
                found.setdefault(registration.name, (record, registration))
    return found.get(scheme) or found.get(scheme.partition("+")[0])


def _opened(url: str, scheme: str, record: Plugin, registration: Registration) -> Backend | str:
    try:
        opened = load_object_now(record, registration)(url)
    except (StoreError, PluginError) as error:
        raise StoreError(str(error)) from error
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        # What it raised is not repeated: it may quote a password in the URL.
        raise StoreError(
            f"plugin {record.name} cannot open the database of ONECLAW_DATABASE_URL "
            f"({describe_error(error).partition(':')[0]}); the log may say why"
        ) from error
    if isinstance(opened, Backend) or (isinstance(opened, str) and opened != url):
        return opened
    raise StoreError(f"plugin {record.name} returned neither a backend nor another URL for {scheme!r}")


def _unknown(scheme: str) -> StoreError:
    if scheme.partition("+")[0] in _POSTGRES_SCHEMES:
        from oneclaw_core.shipped.missing import how_to_install

        return StoreError(f"PostgreSQL needs the plugin postgres: {how_to_install('postgres')}")
    return StoreError(
        f"no installed plugin knows databases of type {scheme!r}: install the package that does, with: oneclaw plugins "
        "install PACKAGE; or write sqlite:///PATH, or postgresql+psycopg://USER:PASSWORD@HOST/DATABASE"
    )
