"""Refusing what a turn still writes after its session went to another one.

PostgreSQL frees the lock of a session when the holder's connection is lost, and the holder may be alive. So whoever
takes the lock signs the session's row with a token of its own, and the statements with which a turn begins to write ask
for that token: it takes no further one. The locks beside a SQLite file cannot be lost, and have no tokens.
"""

from __future__ import annotations

from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection, bindparam

from oneclaw_core.store.schema import sessions
from oneclaw_core.store.statements import run

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sqlalchemy import Update

Arguments = ParamSpec("Arguments")
Value = TypeVar("Value")

_OPTION = "oneclaw_token"


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
        connection.execution_options(**{_OPTION: token})
        try:
            return work(connection, *args, **kwargs)
        finally:
            connection.execution_options(**{_OPTION: None})

    return with_token


def token_of(connection: Connection) -> int | None:
    """Get the token under which a transaction writes at the moment, ``None`` if it may write to any session."""
    token: int | None = connection.get_execution_options().get(_OPTION)
    return token


def update_own(connection: Connection, statement: Update, parameters: Mapping[str, Any]) -> int:
    """Change the row of a session, unless it is another turn's by now.

    Args:
        connection: the transaction.
        statement: a constant of its module, which finds the row.
        parameters: by the names in the statement.

    Returns:
        How many rows were changed.
    """
    token = token_of(connection)
    if token is None:
        return run(connection, statement, parameters).rowcount
    return run(connection, _bearing_token(statement), {**parameters, "token": token}).rowcount


@lru_cache(maxsize=16)
def _bearing_token(statement: Update) -> Update:
    return statement.where(sessions.c.lock_token == bindparam("token"))
