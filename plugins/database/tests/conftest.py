"""All tests run on SQLite and on PostgreSQL; those about one kind of database say so."""

from both_databases import database_kind, pytest_configure, pytest_generate_tests
from databases import postgres, postgres_server

__all__ = ["database_kind", "postgres", "postgres_server", "pytest_configure", "pytest_generate_tests"]
