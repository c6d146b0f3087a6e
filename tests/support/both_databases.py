"""Run tests on SQLite and on PostgreSQL; those about one kind of database say so. For a conftest module."""

import pytest


def pytest_configure(config):
    config.addinivalue_line("markers", "only(kind): a test of what is particular to sqlite")


def pytest_generate_tests(metafunc):
    marker = metafunc.definition.get_closest_marker("only")
    kinds = ["sqlite", "postgresql"] if marker is None else [marker.args[0]]
    marks = {"sqlite": (), "postgresql": pytest.mark.one_python}
    chosen = [pytest.param(kind, marks=marks[kind]) for kind in kinds]
    metafunc.parametrize("database_kind", chosen, indirect=True)


@pytest.fixture(autouse=True)
def database_kind(request):
    """The kind of database that histories.opened() opens."""
    if request.param == "postgresql":
        request.getfixturevalue("postgres")
    return request.param
