"""Carriers of injections with exits, against a model that obeys every order in what it reads.

One carrier meets every exit. Each other carrier meets a third of the exits, and each exit a third of the carriers; in
the long form all meet all.
"""

from itertools import product

import pytest
from carriers import CARRIERS
from exits import EXITS, TRIED_WITH_EVERY_CARRIER
from how_long import IS_LONG
from machine import Harm

FIRST, *OTHERS = CARRIERS
EACH_WITH_EACH = list(product(OTHERS, TRIED_WITH_EVERY_CARRIER))
A_THIRD = [
    (carrier, way_out) for number, carrier in enumerate(OTHERS) for way_out in TRIED_WITH_EVERY_CARRIER[number % 3 :: 3]
]


@pytest.mark.parametrize(
    ("carrier", "way_out"), [*((FIRST, way_out) for way_out in EXITS), *(EACH_WITH_EACH if IS_LONG else A_THIRD)]
)
def test_an_injection_does_no_harm(attack, carrier, way_out):
    harm, user = attack(CARRIERS[carrier], EXITS[way_out])
    assert harm == Harm(), user.asked
