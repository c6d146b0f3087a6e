"""No agent gets a name that a person takes for that of another one."""

import asyncio

import pytest
from how_long import some

from oneclaw_core.errors import AgentError, DuplicateError


def made(oneclaw_factory, *names):
    home = oneclaw_factory([])

    async def work():
        async with home.opened() as claw:
            for name in names:
                await claw.services.agents.create(name, "You help.")
            return [each.name for each in await claw.services.agents.list()]

    return asyncio.run(work())


ALIKE = [
    ("Poet", "\u0420oet"),  # Cyrillic
    ("Poet", "P\u03bfet"),  # Greek
    ("Poet", "poe\u0442"),
    ("Poet", "\uff30oet"),  # full width
    ("Poet", "\U0001d40foet"),  # mathematical
    ("Poet", "\u1d18oet"),  # small capital
    ("Alice", "AIice"),
    ("Alice", "A1ice"),
    ("Modern", "Modem"),
    ("Mail reader", "Mail\u00a0\u00a0reader"),
    ("Mail-reader", "Mail\u2011reader"),
    ("Ada's", "Ada\u2019s"),
    ("\u0421\u0430\u0440\u0430", "Capa"),
]


@pytest.mark.parametrize(("one", "other"), some(list(ALIKE), 6))
def test_names_that_look_alike_are_refused(oneclaw_factory, one, other):
    with pytest.raises(DuplicateError):
        made(oneclaw_factory, one, other)
    with pytest.raises(DuplicateError):
        made(oneclaw_factory, other, one)


@pytest.mark.parametrize("name", ["General Assista\u0578t", "G\u0435neral Assistant", "General  Assistant"])
def test_no_agent_looks_like_the_built_in_one(oneclaw_factory, name):
    with pytest.raises(DuplicateError):
        made(oneclaw_factory, name)


@pytest.mark.parametrize("unseen", ["\u200b", "\u202e", "\u00ad", "\ufe0f", "\u3164", "\u2800", "\u2060", "\U000e0041"])
def test_characters_that_cannot_be_seen_are_refused(oneclaw_factory, unseen):
    with pytest.raises(AgentError, match=r"cannot be seen|control characters"):
        made(oneclaw_factory, f"Po{unseen}et")


def test_other_names_are_free(oneclaw_factory):
    names = ["Ali", "All", "Poet", "Po\u00e9t", "\u041f\u043e\u044d\u0442", "\u8a69\u4eba", "Agent 2", "Agent 3"]
    assert set(names) < set(made(oneclaw_factory, *names))
