"""Runs turns of one session in child processes and kills each after a given time; a program for test_kill.py.

Arguments: the home, then milliseconds for each turn; a negative number lets the turn end by itself. The program forks
with everything imported, so that the time of a turn's process is the turn's.
"""

import asyncio
import os
import signal
import sys
import time
from importlib import import_module

from oneclaw_core import OneClaw


async def turn(home: str) -> None:
    async with OneClaw.open(home) as claw:
        async for _ in claw.send_message("go on", session="story", model="openai_compatible/test"):
            pass


def main() -> None:
    for module in (
        "httpx",
        "httpx_sse",
        "jsonschema",
        "oneclaw_core.builtin.files",
        "oneclaw_core.providers.openai_chat",
        "oneclaw_core.store.postgres_backend",
    ):
        import_module(module)
    home, *delays = sys.argv[1:]
    for delay_ms in map(float, delays):
        started = time.monotonic()
        child = os.fork()
        if child == 0:
            asyncio.run(turn(home))
            os._exit(0)
        if delay_ms >= 0:
            time.sleep(delay_ms / 1000)
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        outcome = "killed" if os.WIFSIGNALED(status) else f"ended {os.waitstatus_to_exitcode(status)}"
        sys.stdout.write(f"{outcome} {round((time.monotonic() - started) * 1000)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
