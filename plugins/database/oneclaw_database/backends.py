"""The database that a command is about."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from oneclaw_core import NotFoundError, find_home
from oneclaw_core.cli import backend_of, home_with_backend

if TYPE_CHECKING:
    from oneclaw_core.sessions import Backend


def database_backend(url: str | None = None) -> Backend:
    """Return the backend of an existing database.

    A missing file is refused: a typo in its path would create a new database, and look like a loss of all data.

    Args:
        url: of the database; ``None`` for the one that OneClaw uses, which may have to be made yet.

    Raises:
        NotFoundError: there is no such file.
        StoreError: the URL is invalid.
    """
    if url is None:
        return home_with_backend(find_home(), os.environ)[1]
    backend = backend_of(url, os.environ)
    if not backend.exists():
        raise NotFoundError(f"there is no database {backend.name}; to make one: oneclaw db migrate sqlite:///PATH")
    return backend
