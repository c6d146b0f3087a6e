"""Reading what the user has set from PostgreSQL without SQLAlchemy, whose import takes half a second."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from oneclaw_core.store.postgres_address import connect, parse, stored_version
from oneclaw_core.store.postgres_errors import explained

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Query = Callable[[str], Sequence[Sequence[Any]]]

_BUSY_SECONDS = 10.0


@contextmanager
def one_state(url: str) -> Iterator[tuple[str, int, Query]]:
    """Look into a database, all at one moment.

    Args:
        url: of the database.

    Yields:
        Its name for messages, the version of its tables, 0 if there are none, and what runs a statement.

    Raises:
        StoreVersionError: a newer OneClaw wrote it.
        StoreDamagedError: the schema is another program's, or damaged.
        StoreError: it cannot be read.
    """
    address = parse(url)
    import psycopg

    try:
        connection = connect(address, _BUSY_SECONDS)
        try:

            def query(statement: str) -> Sequence[Sequence[Any]]:
                return connection.execute(statement.encode()).fetchall()

            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield address.name, stored_version(query, address.name), query
        finally:
            connection.close()
    except psycopg.Error as error:
        raise explained(error, address.name) from error
