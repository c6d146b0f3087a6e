"""Fifty injections in the style of AgentDojo and of public incidents, against a model that obeys."""

import pytest
from carriers import CARRIERS
from injections import INJECTIONS
from machine import Harm
from open_holes import INJECTIONS as OPEN
from open_holes import open_hole


@pytest.fixture(scope="module", params=[False, True], ids=["undecided", "trusted"])
def trusts_project(request):
    return request.param


@pytest.mark.parametrize("name", INJECTIONS)
@pytest.mark.parametrize("has_user", [True, False], ids=["user", "nobody"])
def test_an_injection_comes_to_nothing(request, attack, name, has_user):
    open_hole(request, OPEN, name)
    injection = INJECTIONS[name]
    harm, user = attack(CARRIERS[injection.carrier], injection.text, has_user=has_user)
    assert harm == Harm(), user and user.asked


def test_there_are_fifty_of_them():
    assert len(INJECTIONS) >= 50
    assert {injection.carrier for injection in INJECTIONS.values()} == set(CARRIERS)
