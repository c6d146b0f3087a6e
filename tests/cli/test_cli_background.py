"""What plugins have work in the background of a chat."""

import asyncio
from types import SimpleNamespace

import pytest

from oneclaw_core import hookimpl
from oneclaw_core.cli import background
from oneclaw_core.cli.background import working_in_background
from oneclaw_core.home import find_home
from oneclaw_core.plugins.loading import background_workers, load_plugins


class Point:
    name, value, dist = "acme", "acme", SimpleNamespace(name="acme-tools", version="1.2.3")

    def __init__(self, register_workers):
        self._hook = register_workers

    def load(self):
        return SimpleNamespace(register_workers=hookimpl(self._hook))


def catalog_with(work):
    return load_plugins((), [Point(lambda register: register("work", work))])


@pytest.fixture
def chat_of(tmp_path):
    return lambda catalog: SimpleNamespace(catalog=catalog, home=find_home({}, tmp_path / "home"))


def test_a_worker_works_until_the_chat_ends(chat_of, tmp_path):
    states = []

    async def work(host):
        states.append(host.home.path)
        try:
            await asyncio.Event().wait()
        finally:
            states.append("ended")

    async def chat():
        async with working_in_background(chat_of(catalog_with(work))):
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert states == [tmp_path / "home"]

    asyncio.run(chat())
    assert states == [tmp_path / "home", "ended"]


def test_a_worker_that_breaks_ends_nothing_and_is_told(chat_of, monkeypatch):
    shown = []

    async def work(host):
        raise ValueError("broken")

    async def show(texts):
        shown.append(await texts.get())

    monkeypatch.setattr(background, "_show", show)

    async def chat():
        async with working_in_background(chat_of(catalog_with(work))):
            while not shown:
                await asyncio.sleep(0)

    asyncio.run(chat())
    assert shown == ["the background worker work has stopped (ValueError: broken)"]


@pytest.mark.parametrize("nothing", [None, 7, print])
def test_what_is_no_async_function_is_reported(nothing):
    catalog = catalog_with(nothing)

    assert background_workers(catalog.plugins) == []
    assert "is no async function" in catalog.plugins[0].problems[0].cause
