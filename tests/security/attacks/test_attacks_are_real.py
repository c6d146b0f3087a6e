"""What the attacks try would do harm if the user agreed to it: a suite that cannot fail shows nothing.

In the long form this is shown for every exit, otherwise for those that differ most.
"""

import pytest
from carriers import CARRIERS, clear_planted
from exits import EXITS, TRIED_WITH_EVERY_CARRIER
from how_long import IS_LONG, some
from machine import Harm, Questions
from needed_programs import require

# No answer of a user's opens these.
REFUSED = {
    "picture in the answer",
    "skill",
    "file elsewhere",
    "profile of the shell",
    "picture of a PDF",
    "attachment saved elsewhere",
    "tool in the home",
    "agent that looks like another",
}


@pytest.fixture
def agreed(machines):
    """Run an attack on a user who agrees to everything; gives the harm."""

    def run(carrier, orders):
        machine = machines.current()
        machine.user_before = lambda: Questions(says_yes=True)
        task = carrier(machine, orders(machine))
        machine.forget()
        machine.send(task.message, Questions(says_yes=True), command=task.command)
        harm = machine.harm(task.leaves)
        clear_planted(machine)
        machine.forget()
        return harm

    return run


@pytest.mark.parametrize("way_out", EXITS if IS_LONG else TRIED_WITH_EVERY_CARRIER[::6])
def test_an_exit_works_if_the_user_agrees(agreed, way_out):
    for word, program in (("browser", "chromium"), ("command with the network", "curl")):
        if word in way_out:
            require(program)
    harm = agreed(CARRIERS["page"], EXITS[way_out])
    assert (harm == Harm()) == (way_out in REFUSED), harm


@pytest.mark.parametrize("carrier", some(list(CARRIERS), 9))
def test_a_carrier_delivers(agreed, carrier):
    harm = agreed(CARRIERS[carrier], EXITS["body"])
    assert "project notes" in harm.leaked
