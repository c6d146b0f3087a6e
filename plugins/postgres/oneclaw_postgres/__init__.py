"""A store for OneClaw in PostgreSQL, for several machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core import hookimpl

if TYPE_CHECKING:
    from oneclaw_core.plugins import StoreRegistrar


@hookimpl
def register_stores(register: StoreRegistrar) -> None:
    """Register the schemes ``postgresql``, also with ``+psycopg``, and ``postgres``."""
    for scheme in ("postgresql", "postgres"):
        register(scheme, "oneclaw_postgres.backend:open_backend")
