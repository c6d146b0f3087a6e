"""Fixtures for the tests of the core."""

from all_tests import forgotten_secrets, own_cache, pytest_configure, tmp_path
from databases import database_environ, postgres, postgres_server

__all__ = [
    "database_environ",
    "forgotten_secrets",
    "own_cache",
    "postgres",
    "postgres_server",
    "pytest_configure",
    "tmp_path",
]
