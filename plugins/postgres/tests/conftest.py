"""All tests run with a PostgreSQL server; see tests/support."""

import pytest
from databases import postgres, postgres_server

__all__ = ["postgres", "postgres_server"]


@pytest.fixture(autouse=True)
def server(postgres):
    """Let histories.opened() open databases on the server."""
