"""Errors of statements of plugins, which may use only the plugin's own tables."""

from __future__ import annotations

from oneclaw_core.errors import StoreError


def foreign_table(name: str, prefix: str) -> StoreError:
    """Return the error for a statement that uses a table without the plugin's prefix."""
    return StoreError(
        f"a plugin's statement may use tables and indexes whose names begin with {prefix!r} only, not {name!r}"
    )


def invalid_statement(reason: str) -> StoreError:
    """Return the error for a statement that the database cannot parse."""
    return StoreError(f"a plugin's statement is not understood: {' '.join(reason.split())[:300]}")
