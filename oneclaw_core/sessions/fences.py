"""Refusing what a turn still writes after its session went to another one.

PostgreSQL frees the lock of a session when the holder's connection is lost, and the holder may be alive. So whoever
takes the lock signs the session's row with a token of its own, and the statements with which a turn begins to write ask
for that token: it takes no further one. The locks beside a SQLite file cannot be lost, and have no tokens.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from oneclaw_core.sessions.connection import Connection

Arguments = ParamSpec("Arguments")
Value = TypeVar("Value")


def fenced(
    work: Callable[Concatenate[Connection, Arguments], Value], token: int | None
) -> Callable[Concatenate[Connection, Arguments], Value]:
    """Let a function write to a session only as long as the session's row bears a token.

    Args:
        work: writes to one session.
        token: of the lock under which it runs; ``None`` changes nothing.
    """
    if token is None:
        return work

    @wraps(work)
    def with_token(connection: Connection, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Value:
        connection.token = token
        try:
            return work(connection, *args, **kwargs)
        finally:
            connection.token = None

    return with_token


def update_own(connection: Connection, statement: str, parameters: Mapping[str, Any]) -> int:
    """Change the row of a session, unless it is another turn's by now.

    Args:
        connection: the transaction.
        statement: an ``UPDATE`` of ``sessions`` that ends with the condition which finds the row.
        parameters: by the names in the statement.

    Returns:
        How many rows were changed.
    """
    if connection.token is None:
        return connection.execute(statement, parameters).rowcount
    own = f"{statement} AND lock_token = :token"
    return connection.execute(own, {**parameters, "token": connection.token}).rowcount
