"""Fixtures of the tests of the kit."""

from databases import database_environ, postgres, postgres_server

__all__ = ["database_environ", "postgres", "postgres_server"]
