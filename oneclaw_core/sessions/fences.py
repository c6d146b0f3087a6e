"""Fencing tokens: reject writes of a turn whose session lock went to another turn.

A server releases the lock of a session when the holder's connection is lost, while the holder may be alive. So
acquiring the lock stores a new token in the session's row, and writes of a turn check that token. Lock files beside a
SQLite database cannot be lost, and have no tokens.
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
    """Return a function that writes to a session only while the session's row has a token.

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
    """Change the row of a session, unless another turn has its lock.

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
