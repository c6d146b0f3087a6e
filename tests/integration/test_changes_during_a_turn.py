"""What another process changes or stops takes effect in a turn that runs."""

import asyncio
import os
import subprocess
import sys
import time
from contextlib import asynccontextmanager

import pytest
from how_long import some
from model_server import ModelServer, calls, silence, text

from oneclaw_core import MessageType, OneClaw, ToolResultEvent, TurnStoppedError, tool


def program(environ, *arguments):
    command = [sys.executable, "-m", "oneclaw_core", *arguments]
    return subprocess.run(command, env=os.environ | environ, capture_output=True, text=True, check=False)


@pytest.fixture
def environ(tmp_path):
    return {"ONECLAW_HOME": str(tmp_path / "home"), "OPENAI_API_KEY": "sk-0123456789"}


@asynccontextmanager
async def opened(environ, server, *tools):
    async with OneClaw.open(environ["ONECLAW_HOME"], environ=environ | {"OPENAI_BASE_URL": server.url}) as claw:
        claw.add_tools(*tools)
        yield claw


async def events_of(claw, text):
    return [each async for each in claw.send_message(text, session="demo", model="openai_compatible/test")]


@pytest.mark.parametrize(
    ("command", "error_type"),
    some(
        [
            (("permissions", "deny", "files.read"), "permission_denied"),
            (("tools", "disable", "read_file"), "not_available"),
            (("plugins", "disable", "pdf"), "not_available"),
        ],
        3,
    ),
)
def test_what_is_denied_or_disabled_elsewhere_counts_for_the_next_call(environ, command, error_type):
    @tool
    def change() -> str:
        """Have another process change something."""
        done = program(environ, *command)
        return done.stderr or "changed"

    last = ("pdf_info", {"path": "a.pdf"}) if "pdf" in command else ("read_file", {"path": "a.txt"})

    async def results():
        script = [calls(("load_tool_group", {"group_name": "pdf"})), calls(("change", {})), calls(last), text("Done.")]
        with ModelServer(script) as server:
            async with opened(environ, server, change) as claw:
                return [each.result for each in await events_of(claw, "Go.") if isinstance(each, ToolResultEvent)]

    _, changed, refused = asyncio.run(results())
    assert changed.text() == "changed"
    assert refused.error_type == error_type, refused


@pytest.mark.long
@pytest.mark.parametrize("is_blocking", [False, True], ids=["async tool", "tool in a thread"])
def test_a_turn_is_stopped_from_another_process(environ, database_environ, is_blocking):
    environ |= database_environ
    began = asyncio.Event()

    @tool(name="wait")
    async def wait_async() -> str:
        """Wait for long."""
        began.set()
        await asyncio.sleep(60)
        return "waited"

    async def turn():
        loop = asyncio.get_running_loop()

        @tool(name="wait")
        def wait_in_thread() -> str:
            """Wait for long."""
            loop.call_soon_threadsafe(began.set)
            time.sleep(30)
            return "waited"

        with ModelServer([calls(("wait", {})), text("Gone on.")]) as server:
            async with opened(environ, server, wait_in_thread if is_blocking else wait_async) as claw:
                running = asyncio.create_task(events_of(claw, "Wait for me."))
                await began.wait()
                stopped = await asyncio.to_thread(program, environ, "sessions", "stop", "demo")
                with pytest.raises(TurnStoppedError, match="stopped by the user"):
                    await running
                session = await claw.store.find_session("demo")
                history = await claw.store.messages(session.id)
                again = await events_of(claw, "Go on.")
                return stopped, history, again[-1].text

    stopped, history, answer = asyncio.run(turn())
    assert (stopped.returncode, stopped.stderr) == (0, "")
    assert stopped.stdout == "stopped the turn of session demo: Wait for me.\ninterrupted calls: wait\n"
    assert (history[-1].type, history[-1].error_type) == (MessageType.TOOL_RESULT, "interrupted")
    assert answer == "Gone on."


@pytest.mark.long
def test_a_turn_that_has_its_lock_but_has_not_begun_is_stopped(environ, database_environ):
    environ |= database_environ

    async def turn():
        with ModelServer([text("Hello."), silence()]) as server:
            async with opened(environ, server) as claw:
                await events_of(claw, "Hi.")
                await claw.store.request_stop((await claw.store.find_session("demo")).id)
                with pytest.raises(TurnStoppedError):
                    await events_of(claw, "Hi.")
                return await claw.store.stop_requests()

    assert asyncio.run(turn()) == set()


@pytest.mark.long
def test_nothing_is_stopped_where_no_turn_runs(environ, database_environ):
    environ |= database_environ

    async def turn():
        with ModelServer([text("Hello."), text("Hello again.")]) as server:
            async with opened(environ, server) as claw:
                await events_of(claw, "Hi.")
                done = await asyncio.to_thread(program, environ, "sessions", "stop", "demo")
                # A request left behind by a program that was killed does not stop the next turn.
                session = await claw.store.find_session("demo")
                await claw.store.set_setting(f"stop:{session.id}", time.time() - 3600)
                await events_of(claw, "Hi.")
                return done, await claw.store.stop_requests()

    done, requests = asyncio.run(turn())
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "oneclaw: no turn of session 'demo' is running: there is nothing to stop\n"
    assert requests == set()
