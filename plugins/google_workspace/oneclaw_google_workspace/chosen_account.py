"""The account that a tool call names, for whatever makes its client."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PARAMETER = "account"
"""The parameter of every tool; the metadata of each manifest describe it."""

_chosen: ContextVar[str | None] = ContextVar("google_account_chosen", default=None)


@contextmanager
def choosing(name: str | None) -> Iterator[None]:
    """Have clients made within be for an account.

    Args:
        name: as the call names it; ``None`` for the default account.
    """
    token = _chosen.set(name)
    try:
        yield
    finally:
        _chosen.reset(token)


def chosen() -> str | None:
    """Return the account that the running call names; ``None`` for the default one."""
    return _chosen.get()
