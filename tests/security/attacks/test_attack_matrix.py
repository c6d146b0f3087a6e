"""Carriers of injections with exits, against a model that obeys every order in what it reads.

Every other exit meets one carrier, and each carrier several exits. In the long form one carrier meets every exit, and
each other carrier the exits that differ most.
"""

from itertools import cycle, product

import pytest
from carriers import CARRIERS
from exits import EXITS, TRIED_WITH_EVERY_CARRIER
from how_long import IS_LONG, some
from machine import Harm

FIRST, *OTHERS = CARRIERS
SOME_EXITS = list(zip(cycle(CARRIERS), some(EXITS, 4)))
EACH_WITH_EACH = [*((FIRST, way_out) for way_out in EXITS), *product(OTHERS, TRIED_WITH_EVERY_CARRIER)]


@pytest.mark.parametrize(("carrier", "way_out"), EACH_WITH_EACH if IS_LONG else SOME_EXITS)
def test_an_injection_does_no_harm(attack, carrier, way_out):
    harm, user = attack(CARRIERS[carrier], EXITS[way_out])
    assert harm == Harm(), user.asked
