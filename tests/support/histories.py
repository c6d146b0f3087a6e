"""Short ways to write down entries of a history, and to open a store."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from contextlib import asynccontextmanager, closing, contextmanager
from typing import TYPE_CHECKING, Any

from databases import VARIABLE, backend_of

from oneclaw_core.sessions.store import Store
from oneclaw_core.types.messages import Message, MessageType, ToolCallStatus

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
    from pathlib import Path


def user(text: str = "hello") -> Message:
    return Message(type=MessageType.USER, content=text)


def assistant(text: str = "hello yourself") -> Message:
    return Message(type=MessageType.ASSISTANT, content=text)


def call(call_id: str, name: str = "read_file", arguments: str = "{}") -> Message:
    return Message(
        type=MessageType.TOOL_CALL,
        tool_call_id=call_id,
        tool_name=name,
        tool_input=arguments,
        tool_status=ToolCallStatus.PENDING,
    )


def success(call_id: str, text: str = "done", name: str = "read_file") -> Message:
    return Message(
        type=MessageType.TOOL_RESULT,
        content=text,
        tool_call_id=call_id,
        tool_name=name,
        tool_status=ToolCallStatus.SUCCESS,
        duration_ms=1.5,
    )


def failure(call_id: str, error_type: str = "execution_error", name: str = "read_file") -> Message:
    return Message(
        type=MessageType.TOOL_RESULT,
        content="it broke",
        tool_call_id=call_id,
        tool_name=name,
        tool_status=ToolCallStatus.ERROR,
        error_type=error_type,
    )


def database_path(home: Path) -> Path:
    return home / "oneclaw.db"


def url_of(path: Path) -> str:
    return f"sqlite:///{path}"


def database_url(home: Path) -> str:
    """The database of a home: a SQLite file in it, or one on the PostgreSQL server that the test runs with."""
    server = os.environ.get(VARIABLE)
    if server is None:
        return url_of(database_path(home))
    from postgres_server import database_on_server

    return database_on_server(server, home)


def change(home: Path, statement: str, *parameters: object) -> None:
    """Change a home's database behind the store's back."""
    rows(home, statement, *parameters)


def rows(home: Path, statement: str, *parameters: object) -> list[tuple[Any, ...]]:
    """Read a home's database behind the store's back; parameters are written as ``?``."""
    if VARIABLE in os.environ:
        import psycopg

        url = database_url(home).replace("+psycopg", "")
        with psycopg.connect(url, options="-c search_path=oneclaw") as server:
            cursor = server.execute(statement.replace("?", "%s").encode(), parameters or None)
            return cursor.fetchall() if cursor.description else []
    with closing(sqlite3.connect(database_path(home))) as connection, connection:
        return connection.execute(statement, parameters).fetchall()


@asynccontextmanager
async def opened(home: Path) -> AsyncIterator[Store]:
    async with await Store.open(backend_of(database_url(home)), lock_directory=home / "locks") as store:
        yield store


@contextmanager
def opened_for_examples(home: Path) -> Iterator[Callable[..., None]]:
    """Open a store once for all examples that a property is tried with.

    Yields:
        What runs ``check(store, *arguments)``.
    """
    with asyncio.Runner() as runner:
        store = runner.run(Store.open(backend_of(database_url(home)), lock_directory=home / "locks"))

        def run(check: Callable[..., Coroutine[Any, Any, None]], *arguments: object) -> None:
            runner.run(check(store, *arguments))

        try:
            yield run
        finally:
            runner.run(store.close())


async def history(store: Store, session_id: str, max_characters: int | None = None) -> list[Message]:
    """The newest turns that fit, as a turn would be given them."""
    return list((await store.load_turn(session_id, max_characters)).history)


async def pending_calls(store: Store, session_id: str) -> list[Message]:
    """The calls without a result."""
    return list((await store.load_turn(session_id, 0)).pending_calls)
