"""What holds for all tests."""

import atexit
import os
import shutil
import tempfile

# No test, and no program that one starts, touches the keyring of whoever runs it; set before keyring is imported.
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"

# Neither is the catalogue of plugins cached for whoever runs it; the tests of one process share what they describe.
os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="oneclaw-tests-")

import pytest
from how_long import register_profiles

register_profiles()
atexit.register(shutil.rmtree, os.environ["XDG_CACHE_HOME"], ignore_errors=True)


@pytest.fixture(autouse=True)
def forgotten_secrets():
    """What one test has redacted in its process is not redacted in the next."""
    from oneclaw_core import secrets

    before = set(secrets._remembered)
    yield
    secrets._remembered.intersection_update(before)


@pytest.fixture(scope="session")
def postgres_server():
    """A PostgreSQL server that runs until the end."""
    from postgres_server import PostgresServer

    server = PostgresServer()
    yield server
    server.stop()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.one_python)])
def database_environ(request, tmp_path):
    """What an environment says about the database of the home in ``tmp_path``, of each kind."""
    if request.param == "sqlite":
        return {}
    from postgres_server import database_on_server

    return {"ONECLAW_DATABASE_URL": database_on_server(request.getfixturevalue("postgres").uri("postgres"), tmp_path)}


@pytest.fixture
def postgres(postgres_server, monkeypatch):
    """The same server for one test, and for the processes that it starts; it finds no databases of others."""
    from postgres_server import VARIABLE

    monkeypatch.setenv(VARIABLE, postgres_server.uri("postgres"))
    yield postgres_server
    postgres_server.clear_databases()
