"""Databases that plugins find by the scheme of a URL."""

import asyncio

import pytest

from oneclaw_core import OneClaw, StoreError, hookimpl
from oneclaw_core.config.home import find_home
from oneclaw_core.plugins.loading.stores import with_found_store
from oneclaw_core.testing.chosen_plugins import GivenPlugin


class Plugin:
    def __init__(self, find):
        self._find = find

    @hookimpl
    def register_stores(self, register):
        register("shelf", self._find)


def opened(tmp_path, find, url="shelf://books"):
    environ = {"ONECLAW_DATABASE_URL": url}
    return OneClaw.open(tmp_path / "home", environ=environ, plugins=[GivenPlugin("library", Plugin(find))])


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
        (fails, "plugin library cannot find the database of ONECLAW_DATABASE_URL (ValueError)"),
        (lambda url: 7, "plugin library returned no URL of SQLite or PostgreSQL for 'shelf'"),
        (lambda url: url, "plugin library returned no URL of SQLite or PostgreSQL for 'shelf'"),
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


def test_an_unknown_scheme_says_what_to_install(tmp_path):
    home = find_home({"ONECLAW_DATABASE_URL": "shelf://books"}, tmp_path)

    with pytest.raises(StoreError, match=r"no installed plugin knows databases of type 'shelf': install the package"):
        with_found_store(home, {}, [])


@pytest.mark.parametrize(
    "url", ["sqlite:///x.db", "postgresql+psycopg://user@host/database", "postgres://host/db", "x"]
)
def test_what_oneclaw_opens_itself_needs_no_plugin(tmp_path, url):
    home = find_home({"ONECLAW_DATABASE_URL": url}, tmp_path)

    assert with_found_store(home, {}, None) is home
