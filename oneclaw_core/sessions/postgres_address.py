"""Where a PostgreSQL database is, connecting to it, and whose it is.

A URL is read by PostgreSQL's own client library. So whatever that understands works: ``sslmode`` and certificates,
several hosts, Unix sockets, ``PGPASSWORD`` and ``~/.pgpass``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import StoreDamagedError, StoreError, StoreVersionError
from oneclaw_core.secrets.redaction import remember_secret
from oneclaw_core.sessions.sqlite_file import SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import ModuleType

    import psycopg

# The database may hold other programs' tables; OneClaw's are in a schema of their own.
SCHEMA = "oneclaw"

STATEMENT_SECONDS = 60.0
_CONNECT_SECONDS = "10"
# A machine that is gone without a word is noticed after about a minute, and its locks are freed.
_KEEPALIVE = {"idle": 30, "interval": 10, "count": 3}
_MEANT = re.compile(r"postgres(?:ql)?(?:\+[A-Za-z0-9_]+)?://")
_PREFIXES = ("postgresql+psycopg://", "postgresql://", "postgres://")
_UNSHOWN = re.compile(r"[^\w.,:/\[\]+ -]")
_FORM = "write postgresql+psycopg://USER:PASSWORD@HOST/DATABASE"
_FIND_TABLES = "SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = 'oneclaw'"
_FIND_VERSION = "SELECT version FROM oneclaw.schema_version"
_TELLING_TABLES = frozenset({"schema_version", "sessions", "messages"})


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """A database on a server.

    Attributes:
        name: as messages show it, without user and password.
        conninfo: for the client library, with the password; never to be shown.
        options: of the session, that the URL sets itself, as text.
        url: as it was written, with the password; never to be shown.
    """

    name: str
    conninfo: str = field(repr=False)
    options: str = field(default="", repr=False)
    url: str = field(default="", repr=False)


def is_meant(url: str) -> bool:
    """Whether a URL is one of PostgreSQL's."""
    return _MEANT.match(url) is not None


def parse(url: str) -> PostgresAddress:
    """Read a URL.

    Args:
        url: ``postgresql+psycopg://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=...``; every part may be missing.

    Raises:
        StoreError: it cannot be read, it names another driver, or the driver is missing. The URL is not repeated.
    """
    rest = next((url.removeprefix(each) for each in _PREFIXES if url.startswith(each)), None)
    if rest is None:
        raise StoreError(f"the database URL names a driver that OneClaw does not use: {_FORM}")
    psycopg = _driver()
    try:
        # Older versions of libpq take spaces as they are.
        if any(character.isspace() for character in rest):
            raise ValueError("whitespace")
        # Its errors repeat parts of the URL.
        values = psycopg.conninfo.conninfo_to_dict(f"postgresql://{rest}")
    except (psycopg.Error, ValueError):
        raise StoreError(
            f"the database URL is not understood: {_FORM}, "
            "with special characters in the user and the password percent-encoded, and only parameters that libpq knows"
        ) from None
    if values.get("password"):
        remember_secret(str(values["password"]))
    values.setdefault("connect_timeout", _CONNECT_SECONDS)
    values.setdefault("application_name", "oneclaw")
    for name, value in (
        ("keepalives_idle", "idle"),
        ("keepalives_interval", "interval"),
        ("keepalives_count", "count"),
    ):
        values.setdefault(name, _KEEPALIVE[value])
    return PostgresAddress(
        name=_shown_name(values),
        conninfo=psycopg.conninfo.make_conninfo("", **values),
        options=str(values.get("options") or ""),
        url=url,
    )


def connect(address: PostgresAddress, busy_seconds: float) -> psycopg.Connection[tuple[Any, ...]]:
    """Connect; every statement is a transaction of its own until one is begun.

    Args:
        address: from :func:`parse`.
        busy_seconds: how long a statement waits for others that write.

    Raises:
        psycopg.Error: the server cannot be reached, or refuses.
        StoreError: it is behind a pooler that does not keep a connection's session.
    """
    connection: psycopg.Connection[tuple[Any, ...]] = _driver().connect(address.conninfo, autocommit=True)
    try:
        settings = {
            "search_path": SCHEMA,
            "lock_timeout": f"{round(busy_seconds * 1000)}ms",
            "statement_timeout": f"{round(STATEMENT_SECONDS * 1000)}ms",
            "client_encoding": "UTF8",
            **{f"tcp_keepalives_{name}": str(value) for name, value in _KEEPALIVE.items()},
        }
        # What the URL sets itself stays.
        chosen = {name: value for name, value in settings.items() if f"{name}=" not in address.options}
        calls = ", ".join(["set_config(%s, %s, false)"] * len(chosen))
        values = [each for pair in chosen.items() for each in pair]
        # Nothing is set behind a pooler before it is known whose session this is.
        is_direct = f"SELECT {calls} WHERE pg_backend_pid() = %s"
        if not connection.execute(is_direct, [*values, connection.info.backend_pid]).fetchall():
            from oneclaw_core.sessions.postgres_pooling import refuse_shared_sessions

            refuse_shared_sessions(connection, address.conninfo, address.name)
            connection.execute(f"SELECT {calls}", values)
    except BaseException:
        connection.close()
        raise
    return connection


def lock_key(what: str) -> int:
    """Make the number of an advisory lock, which all programs that use a database share."""
    import hashlib

    return int.from_bytes(hashlib.blake2b(f"oneclaw:{what}".encode(), digest_size=8).digest(), "big", signed=True)


def stored_version(
    query: Callable[[str], Iterable[Sequence[Any]]], name: str, known_version: int = SCHEMA_VERSION
) -> int:
    """Find out which version of the tables a database holds.

    Args:
        query: runs a statement and gives its rows.
        name: of the database, for messages.
        known_version: the newest version that this program can use.

    Returns:
        The version, 0 for a database without OneClaw's tables.

    Raises:
        StoreVersionError: the tables were made by a newer OneClaw.
        StoreDamagedError: the schema belongs to another program, or lacks its version.
    """
    tables = {table for (table,) in query(_FIND_TABLES)}
    if not tables:
        return 0
    if not tables >= _TELLING_TABLES:
        if tables & _TELLING_TABLES:
            raise damaged(name)
        raise StoreDamagedError(
            f"the schema {SCHEMA!r} of {name} belongs to another program and is left untouched: "
            "choose another database for OneClaw's"
        )
    rows = [tuple(row) for row in query(_FIND_VERSION)]
    if len(rows) != 1 or not isinstance(rows[0][0], int) or rows[0][0] < 1:
        raise damaged(name)
    version = int(rows[0][0])
    if version > known_version:
        raise StoreVersionError(
            f"the database {name} was written by a newer OneClaw (schema {version}, this one knows {known_version}): "
            "upgrade oneclaw-core"
        )
    return version


def damaged(name: str) -> StoreDamagedError:
    """Make the error for tables that are missing or are not as they should be."""
    return StoreDamagedError(
        f"the tables of OneClaw in {name} are damaged or incomplete: restore a backup of the schema {SCHEMA!r}, "
        "or rename the schema to start afresh"
    )


def _driver() -> ModuleType:
    try:
        import psycopg
        import psycopg.conninfo
    except ImportError as error:
        raise StoreError(
            f"PostgreSQL needs a driver that cannot be imported ({' '.join(str(error).split())[:200]}): "
            "install it with: pip install 'oneclaw-core[postgres]'"
        ) from None
    return psycopg


def _shown_name(values: dict[str, Any]) -> str:
    """Name a database without user and password, and without what a terminal would obey."""
    host, port, database = (str(values.get(name) or "") for name in ("host", "port", "dbname"))
    shown = f"postgresql://{host}{f':{port}' if port else ''}/{database}"
    return _UNSHOWN.sub("?", shown)
