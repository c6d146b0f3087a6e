"""Fifty injections in the style of AgentDojo and of public incidents, against a model that obeys."""

import pytest
from carriers import CARRIERS
from injections import INJECTIONS
from machine import Harm


@pytest.fixture(scope="module", params=[False, True], ids=["undecided directory", "trusted directory"])
def trusts_project(request):
    return request.param


@pytest.mark.parametrize("name", INJECTIONS)
def test_an_injection_comes_to_nothing(attack, name):
    injection = INJECTIONS[name]
    harm, user = attack(CARRIERS[injection.carrier], injection.text)
    assert harm == Harm(), user.asked


@pytest.mark.parametrize("name", list(INJECTIONS)[::2])
def test_an_injection_comes_to_nothing_where_nobody_can_be_asked(attack, name):
    injection = INJECTIONS[name]
    harm, _ = attack(CARRIERS[injection.carrier], injection.text, has_user=False)
    assert harm == Harm()


def test_there_are_fifty_of_them():
    assert len(INJECTIONS) >= 50
    assert {injection.carrier for injection in INJECTIONS.values()} == set(CARRIERS)
