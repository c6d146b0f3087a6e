"""Agents that one process changes while another is in the middle of a conversation with them."""

import asyncio
import os
import subprocess
import sys
from contextlib import aclosing

import pytest
from model_server import ModelServer, text

from oneclaw_core import OneClaw

pytestmark = pytest.mark.one_python


def oneclaw(home, database_environ, *arguments):
    environ = {name: value for name, value in os.environ.items() if not name.startswith("ONECLAW_")}
    subprocess.run(
        [sys.executable, "-m", "oneclaw_core", *arguments],
        env={**environ, **database_environ, "ONECLAW_HOME": str(home)},
        check=True,
        capture_output=True,
        timeout=300,
    )


async def turn(claw):
    async with aclosing(claw.send_message("hello", session="s")) as events:
        async for _ in events:
            pass


@pytest.mark.long
def test_what_another_process_changes_holds_from_the_next_turn_on(tmp_path, database_environ):
    async def main(server):
        environ = {"OPENAI_BASE_URL": server.url, "ONECLAW_MODEL": "openai_compatible/test", **database_environ}
        async with OneClaw.open(tmp_path, environ=environ, start_directory=tmp_path) as claw:
            await claw.agents.create("Poet", "You write poems.")
            await claw.begin_session("s", agent="Poet")
            await turn(claw)
            changes = ("--name", "Bard", "--system-prompt", "You sing.", "--tools", "read_file", "--temperature", "0.5")
            await asyncio.to_thread(oneclaw, tmp_path, database_environ, "agents", "edit", "Poet", *changes)
            await turn(claw)
            async with OneClaw.open(tmp_path, environ=environ, start_directory=tmp_path) as other:
                await other.agents.delete("Bard")
            await turn(claw)

    with ModelServer(lambda body: text("ok")) as server:
        asyncio.run(main(server))
    first, second, third = server.bodies
    assert first["messages"][0]["content"].startswith("You write poems.")
    assert len(first["tools"]) > 1
    assert second["messages"][0]["content"].startswith("You sing.")
    assert [tool["function"]["name"] for tool in second["tools"]] == ["read_file"]
    assert second["temperature"] == 0.5
    assert third["messages"][0]["content"].startswith("You are a helpful assistant")
    assert third["tools"] == first["tools"]
    assert len(third["messages"]) == 6
