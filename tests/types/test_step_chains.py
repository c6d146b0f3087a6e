"""Chains of steps."""

import asyncio

from oneclaw_core.types.steps import chain


def adding(letter):
    async def step(given, rest):
        return f"{await rest(given + letter)}{letter}"

    return step


async def end(given):
    return f"({given})"


def test_the_first_step_is_the_outermost():
    assert asyncio.run(chain([adding("a"), adding("b")], end)("")) == "(ab)ba"


def test_without_steps_the_end_answers():
    assert asyncio.run(chain([], end)("x")) == "(x)"


def test_a_step_that_answers_keeps_the_rest_from_running():
    async def refuses(given, rest):
        return "no"

    assert asyncio.run(chain([adding("a"), refuses, adding("b")], end)("")) == "noa"
