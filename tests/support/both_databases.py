"""Run tests on SQLite and on PostgreSQL; those about one kind of database say so. For a conftest module."""

import pytest

# What these do on PostgreSQL goes through the same code as in the other files, so it is tried in the long form.
LONG_ON_POSTGRESQL = frozenset(
    f"test_store_{name}"
    for name in (
        *("agents", "attachments", "background", "branches", "database", "endings", "history", "plugin_values"),
        *("scripts", "sessions", "settings", "usage"),
    )
)


def pytest_configure(config):
    config.addinivalue_line("markers", "only(kind): a test of what is particular to sqlite")


def pytest_generate_tests(metafunc):
    marker = metafunc.definition.get_closest_marker("only")
    kinds = ["sqlite", "postgresql"] if marker is None else [marker.args[0]]
    on_postgresql = [pytest.mark.one_python]
    if metafunc.module.__name__.rpartition(".")[2] in LONG_ON_POSTGRESQL:
        on_postgresql.append(pytest.mark.long)
    marks = {"sqlite": (), "postgresql": on_postgresql}
    chosen = [pytest.param(kind, marks=marks[kind]) for kind in kinds]
    metafunc.parametrize("database_kind", chosen, indirect=True)


@pytest.fixture(autouse=True)
def database_kind(request):
    """The kind of database that histories.opened() opens."""
    if request.param == "postgresql":
        request.getfixturevalue("postgres")
    return request.param
