"""Skills with every wire format: what brings a group along leaves what was sent before as it was."""

import asyncio
import itertools

import pytest
from how_long import some
from model_server import ModelServer
from wire_formats import FORMATS, PDF, THOUGHT, each_of

from oneclaw_core import OneClaw

SKILL = """---
name: page-count
description: Count pages. Use for pages.
allowed-tools: pdf_info
---
Count the pages of {{file}}.
"""

some_formats = pytest.mark.parametrize("wire", each_of(some(FORMATS, 2)))


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "home" / "skills" / "page-count"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL)
    return tmp_path / "home"


def sent(home, server, wire, *messages):
    """Send messages to one session, each in a home opened anew; give the requests."""
    names = ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL")
    environ = dict.fromkeys(names, server.url)

    async def send(text, command):
        async with OneClaw.open(home, environ=environ, start_directory=home) as claw:
            options = {"session": "s", "model": wire.full_model, "command": command}
            return [event async for event in claw.send_message(text, **options)]

    for text, command in messages:
        asyncio.run(send(text, command))
    return server.bodies


@some_formats
def test_a_skill_that_the_model_loads_brings_its_group(home, wire):
    script = [
        wire.calls(("load_skill", {"name": "page-count", "arguments": "a.pdf"}), thought=THOUGHT),
        wire.calls(("pdf_info", {"path": "a.pdf"}), thought=THOUGHT),
        wire.says("No such file.", thought=THOUGHT),
        wire.says("Hello."),
    ]
    with ModelServer(script) as server:
        bodies = sent(home, server, wire, ("How many pages has a.pdf?", None), ("Hello", None))
        assert "Count the pages of a.pdf." in server.contents[1].decode()
        assert "- page-count: Count pages. Use for pages." in wire.system_prompt(bodies[0])
        assert [set(PDF) <= set(wire.at_hand(body)) for body in bodies] == [False, True, True, True]
        for earlier, later in itertools.pairwise(server.contents):
            wire.assert_goes_on(earlier, later)


@pytest.mark.long
@some_formats
def test_a_skill_that_the_user_chooses_brings_its_group(home, wire):
    script = [
        wire.calls(("pdf_info", {"path": "a.pdf"}), thought=THOUGHT),
        wire.says("No such file.", thought=THOUGHT),
        wire.says("Hello."),
    ]
    with ModelServer(script) as server:
        bodies = sent(home, server, wire, ("a.pdf", "page-count"), ("Hello", None))
        assert "Count the pages of a.pdf." in server.contents[0].decode()
        assert all(set(PDF) <= set(wire.at_hand(body)) for body in bodies)
        for earlier, later in itertools.pairwise(server.contents):
            wire.assert_goes_on(earlier, later)
