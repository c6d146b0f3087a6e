"""The models behind one model: which is asked first, which after a failure, and which is set aside for how long."""

import asyncio
from types import SimpleNamespace

import pytest

from oneclaw_core.config.providers import SET_ASIDE_SETTING
from oneclaw_core.errors import (
    NotFoundError,
    ProviderAuthenticationError,
    ProviderRateLimitError,
    ProviderRequestError,
    ProviderUnavailableError,
    StoreError,
)
from oneclaw_core.models.fallback import Fallback, SetAside, set_aside_now
from oneclaw_core.providers import ModelInfo, ProviderConfig
from oneclaw_core.providers.route import FailureKind, Route
from oneclaw_core.turn.model import ChosenModel
from oneclaw_core.types.messages import Attachment
from oneclaw_core.types.model_requests import RetryNotice

NOW = 1_800_000_000.0
AWAY = ProviderUnavailableError("away")
CAT = Attachment("cat.gif", "IMAGE/GIF", b"GIF89a")


class Pool:
    def __init__(self):
        self.acquired, self.released = [], []

    def acquire(self, provider):
        self.acquired.append(provider.name)

    async def release(self, provider):
        self.released.append(provider.name)


class NotedStore:
    def __init__(self):
        self.settings = {}
        self.fault = None

    async def set_setting(self, key, value):
        if self.fault is not None:
            raise self.fault
        self.settings[key] = value


class Chain:
    """A chain of models; those that are unusable cannot be opened, those that are blind take no files."""

    def __init__(self, *models, unusable=(), blind=(), stored=None, **route):
        self.clock, self.pool, self.store, self.opened = NOW, Pool(), NotedStore(), []
        self.unusable, self.blind = unusable, blind
        names = tuple(f"{each}/m" for each in models)
        self.fallback = Fallback(
            "chain/daily", Route(models=names, **route), self.open, self.pool, stored or {}, lambda: self.clock
        )

    async def open(self, name):
        self.opened.append(name)
        provider, _, model = name.partition("/")
        if provider in self.unusable:
            raise NotFoundError(f"{provider} has no key")
        types = () if provider in self.blind else ("image/",)
        return ChosenModel(
            SimpleNamespace(name=provider, attachment_media_types=types),
            ProviderConfig(provider, "scripted"),
            ModelInfo(name=model),
        )

    def first(self, *attachments):
        return asyncio.run(self.fallback.first(attachments))

    def after(self, error, failed, *, is_final=False):
        return asyncio.run(self.fallback.after(error, failed, self.store, is_final=is_final))


def test_models_are_asked_in_their_order():
    chain = Chain("a", "b", "c")
    first = chain.first()
    assert (first.full_name, first.fallback) == ("a/m", chain.fallback)
    second = chain.after(AWAY, first)
    assert (second.full_name, second.fallback) == ("b/m", chain.fallback)
    assert chain.after(AWAY, second).full_name == "c/m"
    assert chain.opened == ["a/m", "b/m", "c/m"]
    assert chain.pool.acquired == ["b", "c"]


def test_providers_that_were_asked_are_let_go_with_the_turn():
    chain = Chain("a", "b", "c")

    async def turn():
        first = await chain.fallback.first()
        second = await chain.fallback.after(AWAY, first, chain.store, is_final=False)
        await chain.fallback.after(AWAY, second, chain.store, is_final=False)
        assert chain.pool.released == []
        await chain.fallback.release()
        assert chain.pool.released == ["b", "c"]
        await chain.fallback.release()

    asyncio.run(turn())
    assert chain.pool.released == ["b", "c"]


def test_after_an_answer_any_other_model_may_be_asked_again():
    chain = Chain("a", "b", cool_down_seconds=0)
    second = chain.after(AWAY, chain.first())
    chain.fallback.answered("b/m")
    back = chain.after(AWAY, second)
    assert back.full_name == "a/m"
    with pytest.raises(ProviderUnavailableError, match=r"^no model of chain/daily answered: b/m: away; a/m: gone$"):
        chain.after(ProviderUnavailableError("gone"), back)


def test_a_failure_that_is_no_reason_is_raised_and_sets_nothing_aside():
    refused = ProviderRequestError("no")
    for chain, error in (
        (Chain("a", "b"), refused),
        (Chain("a", "b", after=frozenset({FailureKind.KEY})), AWAY),
    ):
        with pytest.raises(type(error)) as caught:
            chain.after(error, chain.first())
        assert caught.value is error
        assert (chain.store.settings, chain.opened) == ({}, ["a/m"])


def test_what_was_shown_is_not_answered_again_but_noted():
    chain = Chain("a", "b")
    with pytest.raises(ProviderUnavailableError) as caught:
        chain.after(AWAY, chain.first(), is_final=True)
    assert caught.value is AWAY
    assert chain.opened == ["a/m"]
    assert list(chain.store.settings) == [f"{SET_ASIDE_SETTING}a/m"]


def test_when_all_have_failed_the_error_names_each():
    chain = Chain("a", "b")
    second = chain.after(ProviderAuthenticationError("no key"), chain.first())
    busy = ProviderRateLimitError("busy")
    busy.retry_after_seconds = 7
    with pytest.raises(ProviderRateLimitError) as caught:
        chain.after(busy, second)
    assert str(caught.value) == "no model of chain/daily answered: a/m: no key; b/m: busy"
    assert caught.value.retry_after_seconds == 7


def test_one_model_fails_with_its_own_words():
    chain = Chain("a")
    with pytest.raises(ProviderUnavailableError) as caught:
        chain.after(AWAY, chain.first())
    assert caught.value is AWAY


def test_a_model_that_cannot_be_opened_is_left_out(caplog):
    chain = Chain("a", "b", "c", unusable=("a", "c"))
    second = chain.first()
    assert second.full_name == "b/m"
    assert "a/m is left out of chain/daily: a has no key" in caplog.text
    with pytest.raises(ProviderUnavailableError) as caught:
        chain.after(AWAY, second)
    assert str(caught.value) == "no model of chain/daily answered: a/m: a has no key; b/m: away; c/m: c has no key"
    caplog.clear()
    chain.first()
    assert "left out" not in caplog.text


def test_where_none_can_be_opened_each_reason_is_given():
    chain = Chain("a", "b", unusable=("a", "b"))
    for attachments in ((), (CAT,)):
        with pytest.raises(NotFoundError) as caught:
            chain.first(*attachments)
        assert str(caught.value) == "no model of chain/daily can be asked: a/m: a has no key; b/m: b has no key"


def test_files_go_to_a_model_that_can_look_at_them():
    chain = Chain("a", "b", "c", blind=("a", "c"))
    second = chain.first(CAT)
    assert second.full_name == "b/m"
    with pytest.raises(ProviderUnavailableError) as caught:
        chain.after(AWAY, second)
    assert str(caught.value) == (
        "no model of chain/daily answered: a/m: it cannot look at the attached files; b/m: away; "
        "c/m: it cannot look at the attached files"
    )
    assert chain.first().full_name == "a/m"


def test_files_that_no_model_can_look_at_go_to_the_first():
    chain = Chain("a", "b", blind=("a", "b"))
    first = chain.first(CAT)
    assert first.full_name == "a/m"
    assert chain.after(AWAY, first).full_name == "b/m"


@pytest.mark.parametrize(
    ("cool_down", "wanted", "seconds"),
    [(600, None, 600), (600, 30, 600), (600, 900, 900), (0, 30, 30), (600, 10**9, 7 * 24 * 3_600)],
)
def test_a_model_that_failed_is_set_aside_for_a_while(cool_down, wanted, seconds):
    chain = Chain("a", "b", cool_down_seconds=cool_down)
    error = ProviderRateLimitError("busy")
    error.retry_after_seconds = wanted
    chain.after(error, chain.first())
    assert chain.store.settings == {f"{SET_ASIDE_SETTING}a/m": {"until": NOW + seconds, "failure": "rate_limit"}}
    # In a later turn it is asked last, until then.
    later = Chain("a", "b", stored=chain.store.settings)
    later.clock = NOW + seconds - 1
    assert later.first().full_name == "b/m"
    later.clock = NOW + seconds
    assert later.first().full_name == "a/m"


def test_without_a_time_to_cool_down_nothing_is_noted():
    chain = Chain("a", "b", cool_down_seconds=0)
    chain.after(AWAY, chain.first())
    assert chain.store.settings == {}


def test_of_models_set_aside_the_one_that_is_back_first_is_asked_first():
    stored = {
        f"{SET_ASIDE_SETTING}{name}/m": {"until": NOW + seconds, "failure": "key"}
        for name, seconds in (("a", 300), ("b", 100))
    }
    chain = Chain("a", "b", "c", stored=stored)
    first = chain.first()
    second = chain.after(AWAY, first)
    assert [first.full_name, second.full_name, chain.after(AWAY, second).full_name] == ["c/m", "b/m", "a/m"]


def test_a_failure_that_cannot_be_noted_is_no_hindrance(caplog):
    chain = Chain("a", "b")
    chain.store.fault = StoreError("away")
    assert chain.after(AWAY, chain.first()).full_name == "b/m"
    assert "that a/m failed is not noted for later turns" in caplog.text


def gives_up(chain, count, delay_seconds=0.0, error=AWAY):
    return [chain.fallback.gives_up(RetryNotice("busy", delay_seconds, error)) for _ in range(count)]


def test_a_model_is_asked_again_as_often_as_the_route_says():
    for retries in (0, 2):
        chain = Chain("a", "b", retries=retries)
        first = chain.first()
        assert gives_up(chain, 3) == [count >= retries for count in range(3)]
        chain.after(AWAY, first)
        # The last one is asked for as long as it takes.
        assert gives_up(chain, 3) == [False] * 3


def test_the_count_begins_anew_with_each_answer_and_model():
    chain = Chain("a", "b", "c", retries=1)
    first = chain.first()
    assert gives_up(chain, 1) == [False]
    chain.fallback.answered("a/m")
    assert gives_up(chain, 2) == [False, True]
    chain.after(AWAY, first)
    assert gives_up(chain, 2) == [False, True]


@pytest.mark.parametrize(("delay", "is_too_long"), [(10, False), (10.1, True)])
def test_a_long_pause_is_not_waited_for(delay, is_too_long):
    chain = Chain("a", "b")
    chain.first()
    assert gives_up(chain, 1, delay) == [is_too_long]


def test_a_retry_that_is_no_reason_is_none():
    chain = Chain("a", "b", retries=0, after=frozenset({FailureKind.KEY}))
    chain.first()
    assert gives_up(chain, 1) == [False]
    assert gives_up(chain, 1, error=None) == [False]
    assert gives_up(chain, 1, error=ProviderAuthenticationError("no key")) == [True]


def test_the_last_model_may_be_silent_for_long():
    chain = Chain("a", "b", silence_seconds=9)
    first = chain.first()
    assert chain.fallback.silence_seconds == 9
    chain.after(AWAY, first)
    assert chain.fallback.silence_seconds is None
    chain = Chain("a", "b", silence_seconds=9, after=frozenset({FailureKind.KEY}))
    chain.first()
    assert chain.fallback.silence_seconds is None


def test_a_model_is_measured_before_it_is_asked():
    chain = Chain("a", "b")
    opened = chain.fallback._open

    async def open_measured(name):
        async def find_context_window(model):
            assert model == "m"
            return 4_096

        found = await opened(name)
        found.provider.find_context_window = find_context_window
        return found

    chain.fallback._open = open_measured
    assert chain.first().info.context_window == 4_096


@pytest.mark.parametrize(
    ("stored", "until"),
    [
        (None, None),
        ("a text", None),
        ({}, None),
        ({"until": "soon"}, None),
        ({"until": NOW}, None),
        ({"until": NOW + 1}, NOW + 1),
        ({"until": NOW + 366 * 24 * 3_600 - 1}, NOW + 366 * 24 * 3_600 - 1),
        ({"until": NOW + 366 * 24 * 3_600}, None),
    ],
)
def test_what_is_stored_is_read_with_care(stored, until):
    found = SetAside.read(stored, NOW)
    assert (found and found.until) == until
    assert set_aside_now(["a/m", "b/m"], {f"{SET_ASIDE_SETTING}a/m": stored}, NOW) == (
        {} if until is None else {"a/m": found}
    )


def test_a_model_set_aside_is_told_with_its_time_and_reason():
    assert str(SetAside.read({"until": NOW + 60, "failure": "key"}, NOW)) == (
        "is asked last until 2027-01-15 08:01 UTC (key)"
    )
    assert SetAside.read({"until": NOW + 60}, NOW).failure == ""
