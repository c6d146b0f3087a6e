"""Injections in the style of AgentDojo and of public incidents, against a model that obeys.

In the long form all are tried in a directory that the user trusts and in one where nothing is decided. Otherwise one
of every second carrier is tried, in one of the two: each carrier is tried in test_attack_matrix.py.
"""

import pytest
from carriers import CARRIERS
from how_long import IS_LONG
from injections import INJECTIONS
from machine import Harm

NAMES = list(INJECTIONS)
ONE_OF_EACH_CARRIER = list({injection.carrier: name for name, injection in reversed(INJECTIONS.items())}.values())
UNDECIDED, TRUSTED = False, True


@pytest.fixture(scope="module")
def trusts_project(request):
    return request.param


def everywhere(trusted, undecided):
    """Parametrize a test with injections in a trusted directory and in an undecided one."""
    chosen = {UNDECIDED: NAMES if IS_LONG else undecided, TRUSTED: NAMES if IS_LONG else trusted}
    ids = {UNDECIDED: "undecided directory", TRUSTED: "trusted directory"}
    cases = [pytest.param(trust, name, id=f"{ids[trust]}-{name}") for trust, names in chosen.items() for name in names]
    return pytest.mark.parametrize(("trusts_project", "name"), cases, indirect=["trusts_project"])


@everywhere(trusted=ONE_OF_EACH_CARRIER[::12], undecided=ONE_OF_EACH_CARRIER[6::12])
def test_an_injection_comes_to_nothing(attack, name):
    injection = INJECTIONS[name]
    harm, user = attack(CARRIERS[injection.carrier], injection.text)
    assert harm == Harm(), user.asked


@everywhere(trusted=ONE_OF_EACH_CARRIER[1::24], undecided=ONE_OF_EACH_CARRIER[3::24])
def test_an_injection_comes_to_nothing_where_no_one_can_be_asked(attack, name):
    injection = INJECTIONS[name]
    harm, _ = attack(CARRIERS[injection.carrier], injection.text, has_user=False)
    assert harm == Harm()


def test_there_are_fifty_of_them():
    assert len(INJECTIONS) >= 50
    assert {injection.carrier for injection in INJECTIONS.values()} == set(CARRIERS)
