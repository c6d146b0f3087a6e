"""Each carrier of an injection with each exit, against a model that obeys every order in what it reads."""

import pytest
from carriers import CARRIERS
from exits import EXITS, TRIED_WITH_EVERY_CARRIER
from machine import Harm

OTHERS = [way_out for way_out in EXITS if way_out not in TRIED_WITH_EVERY_CARRIER]
PAIRS = [(carrier, way_out) for carrier in CARRIERS for way_out in TRIED_WITH_EVERY_CARRIER]


@pytest.mark.parametrize(("carrier", "way_out"), [*PAIRS, *(("page", way_out) for way_out in OTHERS)])
def test_an_injection_does_no_harm(attack, carrier, way_out):
    harm, user = attack(CARRIERS[carrier], EXITS[way_out])
    assert harm == Harm(), user.asked
