"""Databases that plugins find by the scheme of a URL."""

import asyncio

import pytest

from oneclaw_core import OneClaw, StoreError, hookimpl
from oneclaw_core.installation.given_plugins import given_plugin
from oneclaw_core.installation.stores import backend_of, home_with_backend
from oneclaw_core.sessions.sqlite_backend import SqliteBackend
from oneclaw_core.system.home import find_home


class Plugin:
    def __init__(self, find):
        self._find = find

    @hookimpl
    def register_stores(self, register):
        register("shelf", self._find)


def opened(tmp_path, find, url="shelf://books"):
    environ = {"ONECLAW_DATABASE_URL": url}
    return OneClaw.open(tmp_path / "home", environ=environ, plugins=[given_plugin(Plugin(find), "library")])


def test_a_plugin_finds_the_database_of_its_scheme(tmp_path):
    asked = []

    def find(url):
        asked.append(url)
        return f"sqlite:///{tmp_path}/{url.removeprefix('shelf://')}.db"

    async def work():
        async with opened(tmp_path, find) as claw:
            await claw.begin_session("kept")
            return claw.home.database_path

    assert asyncio.run(work()) == tmp_path / "books.db"
    assert asked == ["shelf://books"]
    assert (tmp_path / "books.db").exists()
    assert not (tmp_path / "home" / "oneclaw.db").exists()


def fails(url):
    raise ValueError(f"{url} is closed")


@pytest.mark.parametrize(
    ("find", "message"),
    [
        (fails, "plugin library cannot open the database of ONECLAW_DATABASE_URL (ValueError)"),
        (lambda url: 7, "plugin library returned neither a backend nor another URL for 'shelf'"),
        (lambda url: url, "plugin library returned neither a backend nor another URL for 'shelf'"),
        (lambda url: f"{url}/a", "plugins return URLs of each other for databases of type 'shelf'"),
    ],
)
def test_one_that_cannot_find_it_is_named_and_no_password_is_repeated(tmp_path, find, message):
    async def work():
        async with opened(tmp_path, find, "shelf://user:secret@books"):
            pass

    with pytest.raises(StoreError) as caught:
        asyncio.run(work())

    assert message in str(caught.value)
    assert "secret" not in str(caught.value)


class Shelf(SqliteBackend):
    """A backend of a plugin, for a separate scheme."""

    def __init__(self, url, path):
        super().__init__(path)
        self.url = url
        self.name = "the shelf"


def test_a_plugin_opens_a_database_of_its_own_kind(tmp_path):
    async def work():
        async with opened(tmp_path, lambda url: Shelf(url, tmp_path / "shelf.db")) as claw:
            await claw.begin_session("kept")
            return claw.store.name, claw.home.database_url

    assert asyncio.run(work()) == ("the shelf", "shelf://books")
    assert (tmp_path / "shelf.db").exists()


def test_a_driver_in_the_scheme_may_be_left_to_the_plugin(tmp_path):
    async def work():
        async with opened(tmp_path, lambda url: Shelf(url, tmp_path / "shelf.db"), "SHELF+oak://books") as claw:
            return claw.home.database_url

    assert asyncio.run(work()) == "SHELF+oak://books"


def test_plugins_that_are_given_come_before_installed_ones(tmp_path):
    given = [given_plugin(Plugin(lambda url: f"sqlite:///{tmp_path}/a.db"), "library")]

    backend = backend_of("shelf://books", {}, given)

    assert backend.name == str(tmp_path / "a.db")


def test_an_unknown_scheme_says_what_to_install(tmp_path):
    home = find_home({"ONECLAW_DATABASE_URL": "shelf://books"}, tmp_path)

    with pytest.raises(StoreError, match=r"no installed plugin knows databases of type 'shelf': install the package"):
        home_with_backend(home, {}, [])


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_postgresql_without_its_plugin_names_the_distribution(scheme):
    without = {"ONECLAW_DISABLED_PLUGINS": "postgres"}

    with pytest.raises(StoreError) as caught:
        backend_of(f"{scheme}://user:secret@host/database", without)

    assert str(caught.value) == (
        "PostgreSQL needs the plugin postgres: install it with: oneclaw plugins install oneclaw-postgres"
    )


@pytest.mark.parametrize("scheme", ["sqlite", "sqlite+pysqlite"])
def test_sqlite_needs_no_plugin(tmp_path, scheme):
    home = find_home({"ONECLAW_DATABASE_URL": f"{scheme}:///{tmp_path}/x.db"}, tmp_path)

    found, backend = home_with_backend(home, {}, [])

    assert isinstance(backend, SqliteBackend)
    assert found.database_path == tmp_path / "x.db"
