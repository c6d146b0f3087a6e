"""Fixtures for the tests of the examples, in the work tree."""

from databases import database_environ, postgres, postgres_server

__all__ = ["database_environ", "postgres", "postgres_server"]
