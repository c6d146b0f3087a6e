"""Fixtures for tests that run on each kind of database, and the backends of URLs."""

import pytest

from oneclaw_core.sessions.sqlite_backend import SqliteBackend, path_of

VARIABLE = "ONECLAW_TEST_POSTGRES"


def backend_of(url, **options):
    """Return the backend of a URL without looking for plugins; options are those of the backend."""
    if url.startswith("sqlite"):
        return SqliteBackend(path_of(url), **options)
    from oneclaw_postgres.address import parse
    from oneclaw_postgres.backend import PostgresBackend

    return PostgresBackend(parse(url), **options)


@pytest.fixture(scope="session")
def postgres_server():
    """A PostgreSQL server that runs until the end."""
    from postgres_server import PostgresServer

    server = PostgresServer()
    yield server
    server.stop()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=[pytest.mark.one_python, pytest.mark.long])])
def database_environ(request, tmp_path):
    """What an environment says about the database of the home in ``tmp_path``, of each kind."""
    if request.param == "sqlite":
        return {}
    from postgres_server import database_on_server

    return {"ONECLAW_DATABASE_URL": database_on_server(request.getfixturevalue("postgres").uri("postgres"), tmp_path)}


@pytest.fixture
def postgres(postgres_server, monkeypatch):
    """The same server for one test, and for the processes that it starts; it finds no databases of others."""
    monkeypatch.setenv(VARIABLE, postgres_server.uri("postgres"))
    yield postgres_server
    postgres_server.clear_databases()
