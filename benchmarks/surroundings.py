"""Fixtures of contestants, made at first use: a database server, and homes of programs."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Self

from benchmarks.mcp_homes import McpHomes
from benchmarks.postgresql import PostgresServer
from benchmarks.programs import ProgramHomes
from benchmarks.running import UnavailableError

if TYPE_CHECKING:
    from types import TracebackType


class ProcessState:
    """They last until the ``with`` block ends.

    Attributes:
        server_version: of the database server, empty if there is none.
    """

    def __init__(self) -> None:
        self.server_version = ""
        self._stack = ExitStack()
        self._server: PostgresServer | UnavailableError | None = None
        self._programs: ProgramHomes | None = None
        self._mcp: McpHomes | None = None

    def __enter__(self) -> Self:
        """Nothing is made yet."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop and remove everything."""
        self._stack.close()

    def new_database(self) -> str:
        """Make an empty database on the server.

        Raises:
            UnavailableError: there is no server.
        """
        if self._server is None:
            print("starting a PostgreSQL server", file=sys.stderr, flush=True)
            try:
                self._server = self._stack.enter_context(PostgresServer())
                self.server_version = self._server.version
            except Exception as error:  # noqa: BLE001  # a package may be missing, a server fail in any way
                self._server = UnavailableError(f"no PostgreSQL server: {error}")
        if isinstance(self._server, UnavailableError):
            raise self._server
        return self._server.new_database()

    def programs(self) -> ProgramHomes:
        """Make the homes of programs that are measured as a whole."""
        if self._programs is None:
            self._programs = self._stack.enter_context(ProgramHomes())
        return self._programs

    def mcp(self) -> McpHomes:
        """Make the homes that have MCP servers."""
        if self._mcp is None:
            self._mcp = self._stack.enter_context(McpHomes())
        return self._mcp
