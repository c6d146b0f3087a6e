"""The pool of providers: opened when needed, closed when released."""

import asyncio
from functools import partial

import pytest

from oneclaw_core import NotFoundError
from oneclaw_core.providers import ProviderConfig, pool
from oneclaw_core.providers.pool import ProviderPool
from oneclaw_core.shipped.missing import missing_type

pytestmark = pytest.mark.every_python
MISSING = partial(missing_type, absent={})


class Service:
    def __init__(self, config, closed, fault=None):
        self.config, self.closed, self.fault = config, closed, fault

    async def aclose(self):
        self.closed.append(self.config.base_url)
        if self.fault is not None:
            raise self.fault


def config(url, name="box", type_name="plain"):
    return ProviderConfig(name, type_name, base_url=url)


@pytest.fixture
def closed():
    return []


@pytest.fixture
def providers(closed):
    return ProviderPool({"plain": lambda config: Service(config, closed)}, MISSING)


def test_a_provider_is_made_once_and_anew_when_its_configuration_changes(providers):
    first = providers.get(config("a"))
    assert providers.get(config("a")) is first
    assert providers.get(config("b")) is not first
    assert providers.get(config("a", name="other")) is not first


def test_a_type_that_no_one_brings_names_those_there_are(providers):
    with pytest.raises(NotFoundError, match="no plugin brings the provider type 'strange'; there are: plain"):
        providers.get(config("a", type_name="strange"))


def test_a_replaced_provider_is_closed_when_its_last_turn_has_ended(providers, closed):
    async def run():
        first = providers.get(config("a"))
        async with providers.acquired(first), providers.acquired(first):
            async with providers.acquired(providers.get(config("b"))):
                pass
            assert closed == []
        assert closed == ["a"]
        await providers.aclose()

    asyncio.run(run())
    assert closed == ["a", "b"]


def test_a_replaced_provider_that_no_one_used_is_closed_by_the_next_turn(providers, closed):
    async def run():
        providers.get(config("a"))
        async with providers.acquired(providers.get(config("b"))):
            pass

    asyncio.run(run())
    assert closed == ["a"]


def test_an_acquired_provider_is_closed_with_the_home_only(providers, closed):
    async def run():
        providers.acquire(providers.get(config("a")))
        async with providers.acquired(providers.get(config("b"))):
            pass
        assert closed == []
        await providers.aclose()

    asyncio.run(run())
    assert sorted(closed) == ["a", "b"]


@pytest.mark.parametrize("fault", [OSError("broken"), asyncio.CancelledError(), RuntimeError()])
def test_one_that_cannot_be_closed_keeps_no_other_open(closed, caplog, fault):
    async def run():
        providers = ProviderPool(
            {
                "plain": lambda config: Service(config, closed),
                "broken": lambda config: Service(config, closed, fault),
            },
            MISSING,
        )
        providers.get(config("a", "first", "broken"))
        providers.get(config("b", "second"))
        await providers.aclose()

    asyncio.run(run())
    assert sorted(closed) == ["a", "b"]
    assert "the provider first cannot be closed" in caplog.text


def test_one_that_never_comes_to_an_end_is_left(providers, closed, monkeypatch, caplog):
    monkeypatch.setattr(pool, "CLOSE_SECONDS", 0.02)

    async def run():
        endless = providers.get(config("a"))
        endless.aclose = lambda: asyncio.sleep(60)
        providers.get(config("b", "other"))
        await providers.aclose()

    asyncio.run(run())
    assert closed == ["b"]
    assert "the provider box cannot be closed" in caplog.text
