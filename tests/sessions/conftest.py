"""All tests of the store run on SQLite and on PostgreSQL; those about one kind of database say so."""

from both_databases import database_kind, pytest_configure, pytest_generate_tests

__all__ = ["database_kind", "pytest_configure", "pytest_generate_tests"]
