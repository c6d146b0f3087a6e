"""The address of a PostgreSQL database.

PostgreSQL's own client library parses the URL. So everything that it supports works: ``sslmode`` and certificates,
several hosts, Unix sockets, ``PGPASSWORD`` and ``~/.pgpass``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from oneclaw_core import StoreError, remember_secret
from oneclaw_core.sessions import StoreDamagedError

if TYPE_CHECKING:
    from collections.abc import Mapping

# The database may hold tables of other programs; OneClaw's are in a separate schema.
SCHEMA = "oneclaw"
# A machine that disappears is noticed after about a minute, and its locks are released.
KEEPALIVE = {"idle": 30, "interval": 10, "count": 3}

_CONNECT_SECONDS = "10"
_SCHEMES = frozenset({"postgresql+psycopg", "postgresql", "postgres"})
_UNSHOWN = re.compile(r"[^\w.,:/\[\]+ -]")
_FORM = "write postgresql+psycopg://USER:PASSWORD@HOST/DATABASE"


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """A database on a server.

    Attributes:
        name: the database as messages show it, without user and password.
        conninfo: for the client library, with the password; never shown.
        options: the settings of the session in the URL, as text.
        url: the URL, with the password; never shown.
    """

    name: str
    conninfo: str = field(repr=False)
    options: str = field(default="", repr=False)
    url: str = field(default="", repr=False)


def parse(url: str) -> PostgresAddress:
    """Parse a URL.

    Args:
        url: ``postgresql+psycopg://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=...``; every part is optional.

    Raises:
        StoreError: the URL is invalid, or names another driver. The message does not repeat it.
    """
    scheme, _, rest = url.partition("://")
    if scheme.lower() not in _SCHEMES:
        raise StoreError(f"the database URL names a driver that OneClaw does not use: {_FORM}")
    try:
        # Older versions of libpq accept spaces.
        if any(character.isspace() for character in rest):
            raise ValueError("whitespace")
        # Its errors repeat parts of the URL.
        values = conninfo_to_dict(f"postgresql://{rest}")
    except (psycopg.Error, ValueError):
        raise StoreError(
            f"the database URL is not understood: {_FORM}, "
            "with special characters in the user and the password percent-encoded, and only parameters that libpq knows"
        ) from None
    if values.get("password"):
        whose = " ".join(str(values.get(each)) for each in ("user", "host", "port", "dbname"))
        remember_secret(str(values["password"]), f"PostgreSQL {whose}")
    values.setdefault("connect_timeout", _CONNECT_SECONDS)
    values.setdefault("application_name", "oneclaw")
    for name, value in KEEPALIVE.items():
        values.setdefault(f"keepalives_{name}", value)
    return PostgresAddress(
        name=_shown_name(values),
        conninfo=make_conninfo("", **values),
        options=str(values.get("options") or ""),
        url=url,
    )


def damaged(name: str) -> StoreDamagedError:
    """Return the error for tables that are missing or invalid."""
    return StoreDamagedError(
        f"the tables of OneClaw in {name} are damaged or incomplete: restore a backup of the schema {SCHEMA!r}, "
        "or rename the schema to start afresh"
    )


def _shown_name(values: Mapping[str, Any]) -> str:
    """Name a database without user and password, and without control characters."""
    host, port, database = (str(values.get(name) or "") for name in ("host", "port", "dbname"))
    shown = f"postgresql://{host}{f':{port}' if port else ''}/{database}"
    return _UNSHOWN.sub("?", shown)
