"""Async code of an installed plugin that blocks its event loop holds nothing but calls of the same plugin."""

import asyncio
import re
import subprocess
import sys
import threading
import time
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest
from site_plugins import install

from oneclaw_core import Deny, OneClaw, PermissionAnswer, ToolContext, hookimpl, tool
from oneclaw_core.loops import blocking, worker_loop
from oneclaw_core.loops.worker_loop import WorkerLoop

pytestmark = pytest.mark.every_python

SOURCE = """
import asyncio, contextvars, threading
from contextlib import contextmanager
from oneclaw_core import PluginContext, ToolContext, hookimpl, tool

RELEASE = threading.Event()
SEEN = []
trace = contextvars.ContextVar("trace", default="")

@tool(timeout_seconds=0.4)
async def blocks() -> str:
    "Block the event loop."
    SEEN.append("blocking")
    RELEASE.wait(20)
    SEEN.append("went on")
    return "late"

@tool(timeout_seconds=0.4)
async def blocks_in_a_child() -> str:
    "Block the event loop in a separate task."
    async def child():
        RELEASE.wait(20)
    await asyncio.gather(child(), asyncio.sleep(0))
    return "late"

@tool(timeout_seconds=20)
async def waits() -> str:
    "Wait."
    SEEN.append("waiting")
    try:
        await asyncio.sleep(20)
    except asyncio.CancelledError:
        SEEN.append(("cancelled", threading.current_thread() is threading.main_thread()))
        raise
    return "waited"

@tool(timeout_seconds=20)
async def quick() -> str:
    "Answer."
    return trace.get() or threading.current_thread().name

@tool(timeout_seconds=20)
def plain() -> str:
    "Answer from a thread."
    return "plain"

@hookimpl
def register_tools(register):
    for each in (blocks, blocks_in_a_child, waits, quick, plain):
        register(each)
"""
STARTED = """
@hookimpl
async def plugin_started(context):
    SEEN.append("started")
"""
AROUND = """
@hookimpl
def around(context, work):
    @contextmanager
    def span():
        token = trace.set("span")
        try:
            yield
        finally:
            trace.reset(token)
    return span()
"""


@pytest.fixture(autouse=True)
def _impatient(monkeypatch):
    monkeypatch.setattr(worker_loop, "HEARTBEAT_SECONDS", 0.3)
    monkeypatch.setattr(blocking, "HEARTBEAT_SECONDS", 0.3)


@pytest.fixture
def opened(site, tmp_path):
    """Open a home with the plugin ``hostile`` of a source; end its blocks with the home."""

    @asynccontextmanager
    async def opened(source=SOURCE, **options):
        install(site, "hostile", source)
        async with OneClaw.open(tmp_path / "home", plugins=["hostile"], environ={}, **options) as claw:
            try:
                yield claw
            finally:
                if (module := sys.modules.get("hostile_plugin")) is not None and hasattr(module, "RELEASE"):
                    module.RELEASE.set()

    return opened


def seen():
    return getattr(sys.modules.get("hostile_plugin"), "SEEN", ())  # it may be half imported


async def until(condition):
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.01)


async def results(claw, *names):
    outcomes = await asyncio.gather(*(claw.call_tool(name) for name in names))
    return [each.result for each in outcomes]


@pytest.mark.long
@pytest.mark.parametrize("name", ["blocks", "blocks_in_a_child"])
def test_a_tool_that_blocks_is_named_and_delays_nothing_else(opened, caplog, name):
    @tool(timeout_seconds=15)
    async def innocent() -> float:
        """Measure the longest time in which the program's event loop did not run."""
        longest = 0.0
        for _ in range(20):
            began = time.monotonic()
            await asyncio.sleep(0.01)
            longest = max(longest, time.monotonic() - began)
        return longest

    async def work():
        async with opened() as claw:
            claw.add_tools(innocent)
            began = time.monotonic()
            blocked, beside = await results(claw, name, "innocent")
            assert time.monotonic() - began < 15  # it blocks for 20
            assert blocked.error_type == "timeout"
            assert "blocks the event loop of its plugin hostile" in blocked.error_message
            assert beside.is_success
            assert (await results(claw, "quick", "plain"))[0].is_success

    asyncio.run(work())
    assert f"plugin hostile: tool {name} blocks the plugin's event loop" in caplog.text
    assert re.search(r"it is at \S+hostile_plugin\.py:\d+ \((blocks|child)\)", caplog.text)


def test_calls_beside_a_block_have_an_unknown_outcome_and_later_ones_run(opened):
    async def work():
        async with opened() as claw:
            waiting = asyncio.create_task(claw.call_tool("waits"))
            await asyncio.sleep(0)
            await until(lambda: "waiting" in seen())
            blocking = asyncio.create_task(claw.call_tool("blocks"))
            await until(lambda: "blocking" in seen())
            later = await claw.call_tool("quick")
            assert later.result.is_success
            assert (await blocking).result.error_type == "timeout"
            lost = (await waiting).result
            assert lost.error_type == "unknown_outcome"
            assert "tool blocks blocked the event loop of the plugin hostile" in lost.error_message

    asyncio.run(work())


def test_a_call_that_the_block_keeps_from_beginning_says_that_it_was_not_run(opened):
    source = SOURCE.replace(
        "@tool(timeout_seconds=0.4)\nasync def blocks()", "@tool(timeout_seconds=20)\nasync def blocks()"
    )
    source = source.replace(
        "@tool(timeout_seconds=20)\nasync def quick()", "@tool(timeout_seconds=0.2)\nasync def quick()"
    )

    async def work():
        async with opened(source) as claw:
            blocking = asyncio.create_task(claw.call_tool("blocks"))
            await until(lambda: "blocking" in seen())
            late = (await claw.call_tool("quick")).result
            assert late.error_type == "timeout"
            assert "was not run, because tool blocks blocks the event loop" in late.error_message
            assert (await claw.call_tool("quick")).result.is_success  # on the next loop
            sys.modules["hostile_plugin"].RELEASE.set()
            assert (await blocking).result.result == "late"  # it had time left

    asyncio.run(work())


@pytest.mark.long
def test_a_plugin_is_started_again_on_its_next_loop(opened):
    async def work():
        async with opened(SOURCE + STARTED) as claw:
            await results(claw, "quick", "blocks")
            assert seen().count("started") == 1
            assert (await claw.call_tool("quick")).result.is_success
            assert seen().count("started") == 2

    asyncio.run(work())


@pytest.mark.long
def test_cancelling_ends_the_coroutine_on_its_own_loop(opened):
    async def work():
        async with opened() as claw:
            task = asyncio.create_task(claw.call_tool("waits"))
            await until(lambda: "waiting" in seen())
            task.cancel()
            began = time.monotonic()
            await asyncio.wait({task})
            assert task.cancelled()
            assert time.monotonic() - began < 15  # it waits for 20
            assert ("cancelled", False) in seen()

    asyncio.run(work())


def test_a_call_that_is_cancelled_before_it_begins_ends():
    async def work():
        worker = WorkerLoop("busy")
        is_busy, release = threading.Event(), threading.Event()

        async def hold():
            is_busy.set()
            release.wait(10)

        holding = asyncio.create_task(worker.run(hold, "tool hold"))
        await asyncio.to_thread(is_busy.wait)
        waiting = asyncio.create_task(worker.run(lambda: asyncio.sleep(0), "tool wait"))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.sleep(0)
        release.set()
        await asyncio.wait({waiting}, timeout=10)
        assert waiting.cancelled()
        await holding
        await worker.aclose()

    asyncio.run(work())


@pytest.mark.long
def test_a_cancelled_turn_does_not_wait_for_a_block(opened):
    async def work():
        async with opened() as claw:
            task = asyncio.create_task(claw.call_tool("blocks"))
            await until(lambda: "blocking" in seen())
            task.cancel()
            began = time.monotonic()
            await asyncio.wait({task})
            assert time.monotonic() - began < 15  # it blocks for 20

    asyncio.run(work())


@pytest.mark.long
def test_context_variables_of_hooks_around_a_call_are_seen_by_it(opened):
    async def work():
        async with opened(SOURCE + AROUND) as claw:
            assert (await claw.call_tool("quick")).result.result == "span"

    asyncio.run(work())


def test_a_gate_that_blocks_denies_and_delays_nothing_else(opened):
    source = (
        SOURCE
        + """
@hookimpl(timeout_seconds=0.3)
async def before_tool_call(context, call):
    if call.tool == "plain":
        RELEASE.wait(20)
"""
    )

    async def work():
        async with opened(source) as claw:
            longest = 0.0

            async def tick():
                nonlocal longest
                while True:
                    began = time.monotonic()
                    await asyncio.sleep(0.01)
                    longest = max(longest, time.monotonic() - began)

            await claw.call_tool("quick")
            ticking = asyncio.create_task(tick())
            denied = (await claw.call_tool("plain")).result
            ticking.cancel()
            assert denied.error_type == "permission_denied"
            assert "plugin hostile: before_tool_call did not end within 0.3 s" in denied.error_message
            assert longest < 15
            assert (await claw.call_tool("quick")).result.is_success

    asyncio.run(work())


CONTEXT = """
import asyncio, threading
from oneclaw_core import SessionInfo, TurnFinishedEvent, ToolContext, hookimpl, tool
from pydantic import BaseModel

class Model(BaseModel):
    greeting: str = "hello"

@tool(timeout_seconds=20)
async def uses_everything(url: str, context: ToolContext) -> dict:
    "Use all that a context offers."
    assert threading.current_thread() is not threading.main_thread()
    plugin, found = context.plugin, {}
    await plugin.storage.set("key", 1)
    found["storage"] = await plugin.storage.get("key")
    found["settings"] = plugin.settings.greeting
    await plugin.secrets.set("token", "s3cret-value")
    found["secret"] = await plugin.secrets.get("token")
    found["folder"] = plugin.folder.is_dir()
    context.progress("half", 0.5)
    await context.ask_permission("network.private", "look")
    found["http"] = (await context.http.get(url)).text
    found["plugin http"] = (await plugin.http.get(url)).text
    task = plugin.start_task(asyncio.sleep(0, "done"))
    found["task"] = await task
    found["agents"] = len(await context.services.agents.list()) > 0
    found["sessions"] = await context.services.sessions.find("none")
    found["providers"] = isinstance(await context.services.configuration.providers.list(), list)
    found["tools"] = context.services.registry.get_tool("uses_everything") is not None
    found["inner"] = (await context.call_tool("read_file", {"path": "none.txt"})).error_type
    with context.paused():
        pass
    found["deps"] = await context.services.on_program_loop(context.deps.locked())
    found["model"] = await plugin.ask_model("Hello")
    answers = [each async for each in context.send_message("Hello") if isinstance(each, TurnFinishedEvent)]
    found["turn"] = bool(answers)
    return found

@hookimpl
def register_tools(register):
    register(uses_everything)

@hookimpl
def register_settings(register):
    register(Model)

@hookimpl
async def after_tool_call(context, call, result):
    await context.storage.set("observed", threading.current_thread().name)
"""


def test_everything_of_a_context_works_from_the_loop_of_a_plugin(site, tmp_path, web_server):
    install(site, "hostile", CONTEXT)
    web_server.answers("/page", "page")
    asked = []

    async def ask(request):
        asked.append((request.permission, threading.current_thread() is threading.main_thread()))
        return PermissionAnswer.ONCE

    class Deps:
        def __init__(self):
            self._lock = asyncio.Lock()

        async def locked(self):
            async with self._lock:
                await asyncio.sleep(0)
            return threading.current_thread() is threading.main_thread()

    async def work():
        home = tmp_path / "home"
        async with OneClaw.open(home, plugins=["hostile", "offline"], environ={}, ask=ask, deps=Deps()) as claw:
            result = (await claw.call_tool("uses_everything", {"url": web_server.url_of("/page")})).result
            assert result.is_success, result.error_message
            model, found = result.result.pop("model"), result.result
            assert model
            assert found == {
                "storage": 1,
                "settings": "hello",
                "secret": "s3cret-value",
                "folder": True,
                "http": "page",
                "plugin http": "page",
                "task": "done",
                "agents": True,
                "sessions": None,
                "providers": True,
                "tools": True,
                "inner": "not_found",
                "deps": True,
                "turn": True,
            }
            await claw.plugins.drain(5)
            context = await claw.plugins.context_of("hostile")
            assert await context.storage.get("observed") == "oneclaw hostile"

    asyncio.run(work())
    assert asked
    assert all(on_main for _, on_main in asked)


@pytest.mark.long
def test_tools_of_the_program_run_on_its_event_loop(opened):
    async def work():
        lock = asyncio.Lock()

        @tool
        async def contended() -> str:
            """Wait for a lock of the program."""
            async with lock:
                return threading.current_thread().name

        async with opened() as claw:
            claw.add_tools(contended)
            async with lock:
                calling = asyncio.create_task(claw.call_tool("contended"))
                await asyncio.sleep(0.05)
            result = (await calling).result
            assert result.result == threading.main_thread().name

    asyncio.run(work())


def test_a_plugin_given_as_an_object_runs_on_the_event_loop_of_the_program(tmp_path):
    gates = []

    async def work():
        lock = asyncio.Lock()

        @tool
        async def contended(context: ToolContext) -> str:
            """Wait for a lock of the program."""
            async with lock:
                return context.plugin.name

        @hookimpl
        def register_tools(register):
            register(contended)

        @hookimpl
        async def before_tool_call(call):
            gates.append(threading.current_thread())
            async with lock:
                return Deny("no") if call.tool == "other" else None

        given = SimpleNamespace(__name__="given", register_tools=register_tools, before_tool_call=before_tool_call)
        async with OneClaw.open(tmp_path / "home", plugins=[given], environ={}) as claw:
            async with lock:
                calling = asyncio.create_task(claw.call_tool("contended"))
                await asyncio.sleep(0.05)
            assert (await calling).result.result == "given"

    asyncio.run(work())
    assert gates == [threading.main_thread()]


def test_a_tool_of_the_program_that_blocks_is_named_and_the_others_get_their_time(tmp_path, caplog):
    @tool(timeout_seconds=0.2)
    async def blocks() -> str:
        """Block the event loop of the program."""
        time.sleep(0.6)  # what is tested
        return "late"

    @tool(timeout_seconds=0.4)
    async def innocent() -> str:
        """Wait for less than the timeout."""
        await asyncio.sleep(0.1)
        await asyncio.sleep(0.1)
        return "done"

    async def work():
        async with OneClaw.open(tmp_path / "home", plugins=[], environ={}) as claw:
            claw.add_tools(blocks, innocent)
            blocked, beside = await results(claw, "blocks", "innocent")
            assert blocked.error_type == "timeout"
            assert "Tool 'blocks' blocked the program" in blocked.error_message
            assert beside.result == "done"

    asyncio.run(work())
    assert "tool blocks blocked the program's event loop" in caplog.text


PROGRAM = """
import asyncio, sys, time
sys.path.insert(0, sys.argv[1])
from oneclaw_core import OneClaw
from oneclaw_core.loops import worker_loop
worker_loop.HEARTBEAT_SECONDS = 0.2

async def main():
    async with OneClaw.open(sys.argv[2], plugins=["hostile"], environ={}) as claw:
        names = ("blocks", "blocks_in_a_thread", "blocks_beside_a_thread")
        outcomes = await asyncio.gather(*(claw.call_tool(name) for name in names))
        print(*(each.result.error_type for each in outcomes), flush=True)

asyncio.run(main())
print(time.time())
"""
THREADS = """
import time

@tool(timeout_seconds=0.3)
def blocks_in_a_thread() -> str:
    "Block a thread."
    time.sleep(60)

@tool(timeout_seconds=0.3)
async def blocks_beside_a_thread() -> str:
    "Wait for a thread that blocks."
    await asyncio.to_thread(time.sleep, 60)

@hookimpl
def register_tools(register):
    for each in (blocks, blocks_in_a_thread, blocks_beside_a_thread):
        register(each)
"""


@pytest.mark.long
@pytest.mark.one_python
def test_a_program_ends_at_once_whatever_its_tools_still_do(site, tmp_path):
    install(site, "hostile", SOURCE.replace("RELEASE.wait(20)", "time.sleep(60)") + THREADS)
    began = time.monotonic()
    command = [sys.executable, "-c", PROGRAM, str(site), str(tmp_path / "home")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=True)
    ended = time.time()
    types, closed = done.stdout.splitlines()
    assert set(types.split()) <= {"timeout", "unknown_outcome"}
    assert ended - float(closed) < 5
    assert time.monotonic() - began < 40


PUBLISHING = """
import threading
from oneclaw_core import SourceTool, ToolSource, hookimpl, tool

@tool
async def bound() -> bool:
    "Tell where it runs."
    return threading.current_thread() is threading.main_thread()

@tool
async def apart() -> bool:
    "Tell where it runs."
    return threading.current_thread() is threading.main_thread()

class Source(ToolSource):
    def __init__(self, context):
        pass

    async def start(self, tools):
        tools.publish([bound, SourceTool(apart, is_bound=False)])

@hookimpl
def register_tools(register):
    register.source("tools", Source, starts="open")
"""


@pytest.mark.long
def test_a_tool_of_a_source_runs_with_the_source_unless_it_is_not_bound_to_it(opened):
    async def work():
        async with opened(PUBLISHING) as claw:
            assert [each.result for each in await results(claw, "bound", "apart")] == [True, False]

    asyncio.run(work())
