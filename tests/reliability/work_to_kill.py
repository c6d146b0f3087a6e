"""Does one kind of work in child processes and kills each after a given time; a program for test_kills.py.

Arguments: the kind of work, what it works on, then milliseconds for each child; a negative number lets it end by
itself. The program forks with everything imported, so that the time of a child is the work's. After each it prints what
became of it, and waits for a line, so that what is there can be looked at.
"""

import asyncio
import os
import signal
import sys
import time
from importlib import import_module

STORE_MODULES = (
    "sqlite3",
    "oneclaw_core.installation.stores",
    "oneclaw_database.copying",
    "oneclaw_core.sessions.migrations",
    "oneclaw_core.sessions.locks",
    "oneclaw_core.sessions.sqlite_backend",
    "oneclaw_core.sessions.store",
)
TURN_MODULES = (
    "anyio._backends._asyncio",
    "encodings.idna",
    "genai_prices.data",
    "genai_prices.data_snapshot",
    "genai_prices.data_units",
    "h11",
    "httpcore",
    "httpx",
    "jsonschema",
    "yaml",
    "oneclaw_core.app",
    "oneclaw_core.builtin.clock",
    "oneclaw_core.builtin.files",
    "oneclaw_shell.execute",
    "oneclaw_javascript.js_eval",
    "oneclaw_javascript.running",
    "oneclaw_javascript.tool_bridges",
    "oneclaw_openai.chat",
    "oneclaw_core.json_schema.validation",
    "oneclaw_core.tool_functions.function",
)

TURNS = ("turn", "resume")


async def take_turn(home: str) -> None:
    from oneclaw_core import OneClaw

    async with OneClaw.open(home, allow=("shell.execute",), plugins=None) as claw:
        async for _ in claw.send_message("go on", session="story", model="openai_compatible/test"):
            pass


async def resume_or_take_turn(home: str) -> None:
    """Finish the turn that was killed; where none was, take one."""
    from oneclaw_core import NotFoundError, OneClaw, ToolContext, TurnFinishedEvent, tool

    @tool(idempotent=True)
    def note(mark: str, context: ToolContext) -> str:
        """Note a mark."""
        with (context.home / "notes.txt").open("a") as file:
            file.write(f"{mark} {context.idempotency_key}\n")
        time.sleep(0.01)
        return mark

    async with OneClaw.open(home, plugins=["builtin", "openai"]) as claw:
        claw.add_tools(note)
        options = {"session": "story", "model": "openai_compatible/test"}
        try:
            events = [event async for event in claw.resume(**options)]
        except NotFoundError:
            events = []
        if all(isinstance(event, TurnFinishedEvent) for event in events):
            async for _ in claw.send_message("go on", **options):
                pass


async def migrate(url: str) -> None:
    from oneclaw_core.installation.stores import backend_of
    from oneclaw_core.sessions.database import Database

    await (await Database.open(backend_of(url, {}))).close()


async def copy(urls: str) -> None:
    from oneclaw_database import copying

    from oneclaw_core.installation.stores import backend_of

    source, target = urls.split(" ")
    copying.copy(backend_of(source, {}), backend_of(target, {}), lambda name, count: None)


WORK = {"turn": take_turn, "resume": resume_or_take_turn, "migrate": migrate, "copy": copy}


def main() -> None:
    kind, what, *delays = sys.argv[1:]
    for module in STORE_MODULES + (TURN_MODULES if kind in TURNS else ()):
        import_module(module)
    if kind in TURNS:
        from oneclaw_core.http.clients import create_client

        create_client()  # reads the certificates, once for all children
    for delay_ms in map(float, delays):
        started = time.monotonic()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                asyncio.run(WORK[kind](what))
                status = 0
            finally:
                os._exit(status)
        if delay_ms >= 0:
            time.sleep(delay_ms / 1000)
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        outcome = "killed" if os.WIFSIGNALED(status) else f"ended {os.waitstatus_to_exitcode(status)}"
        sys.stdout.write(f"{outcome} {round((time.monotonic() - started) * 1000)}\n")
        sys.stdout.flush()
        sys.stdin.readline()


if __name__ == "__main__":
    main()
