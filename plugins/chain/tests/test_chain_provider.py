"""Chains as they are stored and read."""

from __future__ import annotations

import asyncio

import pytest
from oneclaw_chain.provider import ChainProvider, read_chain

from oneclaw_core import NotFoundError, SettingsError
from oneclaw_core.providers import FailureKind, ProviderConfig

MODELS = ["anthropic/claude-sonnet-5", "openai/gpt-6"]


def provider_of(**chains):
    return ChainProvider(ProviderConfig("chain", "chain", models=chains, is_local=True))


def test_a_chain_says_which_models_are_asked_and_when():
    route = provider_of(daily={"models": MODELS, "after": ["key"], "retries": 0, "silence_seconds": 5}).route("daily")
    assert (route.models, route.after) == (tuple(MODELS), {FailureKind.KEY})
    assert (route.retries, route.silence_seconds, route.cool_down_seconds) == (0, 5, 600)
    assert read_chain({"models": MODELS}).after == frozenset(FailureKind)


def test_a_chain_that_is_not_there_names_those_that_are():
    with pytest.raises(NotFoundError, match=r"there are: chain/daily\. Add one with: oneclaw providers add chain/x "):
        provider_of(daily={"models": MODELS}).route("x")


def test_the_models_of_chains_are_listed_and_an_invalid_one_has_none():
    listed = asyncio.run(provider_of(daily={"models": MODELS}, broken=7).list_models())
    assert [(each.name, each.models) for each in listed] == [("daily", tuple(MODELS)), ("broken", ())]


@pytest.mark.parametrize(
    ("document", "fault"),
    [
        (7, "not a JSON object"),
        ({}, "at least two models"),
        ({"models": MODELS[:1]}, "at least two models"),
        ({"models": [*MODELS, MODELS[0]]}, "each of them once"),
        ({"models": ["anthropic/a", "openai"]}, "not 'openai'"),
        ({"models": [f"openai/{number}" for number in range(11)]}, "1 to 10 models"),
        ({"models": MODELS, "after": ["bad mood"]}, "are some of: rate_limit"),
        ({"models": MODELS, "after": []}, "are some of: rate_limit"),
        ({"models": MODELS, "after": [[]]}, "are some of: rate_limit"),
        ({"models": MODELS, "retries": "two"}, "retries is a number"),
        ({"models": MODELS, "retries": -1}, "0 to 10 times"),
        ({"models": MODELS, "silence_seconds": 1e9}, "may be silent for"),
        ({"models": MODELS, "cool_down_seconds": float("nan")}, "cools down for"),
        ({"models": MODELS, "price": 1}, "unknown member 'price'"),
    ],
)
def test_an_invalid_chain_is_refused_with_the_reason(document, fault):
    with pytest.raises(SettingsError, match=fault):
        read_chain(document)
