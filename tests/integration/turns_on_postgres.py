"""Processes that send messages to sessions, all at once; a program for test_turns_on_postgres.py.

Argument: a JSON list with, of each process, its home and the names of the sessions that it sends one message each. The
processes are forked with everything imported, and begin when all are ready; each prints what became of its turns.
"""

import asyncio
import json
import os
import sys
from importlib import import_module

from oneclaw_core import OneClaw

IMPORTED = (
    "jsonschema",
    "oneclaw_core.builtin.clock",
    "oneclaw_offline.rules",
    "oneclaw_postgres.backend",
)


async def run_turns(home: str, names: list[str], ready: int, begin: int) -> None:
    async with OneClaw.open(home, start_directory=home) as claw:

        async def turn(number: int, name: str) -> None:
            text = f"What time is it in Tokyo? {number} {home}"
            async for _ in claw.send_message(text, session=name, model="offline/rules"):
                pass

        os.write(ready, b".")
        os.close(ready)
        await asyncio.to_thread(os.read, begin, 1)
        outcomes = await asyncio.gather(*(turn(*each) for each in enumerate(names)), return_exceptions=True)
        faults = [outcome for outcome in outcomes if outcome is not None]
        sys.stdout.write(f"{len(outcomes) - len(faults)} done {faults[:3]}\n")
        sys.stdout.flush()


def main() -> None:
    processes = json.loads(sys.argv[1])
    for name in IMPORTED:
        import_module(name)
    is_ready, ready = os.pipe()
    begin, to_begin = os.pipe()
    children = []
    for home, names in processes:
        child = os.fork()
        if child == 0:
            os.close(to_begin)
            asyncio.run(run_turns(home, names, ready, begin))
            os._exit(0)
        children.append(child)
    os.close(ready)
    # Ends when each is ready, or has failed, which it says itself.
    while os.read(is_ready, len(children)):
        pass
    # Whoever reads from it sees its end now.
    os.close(to_begin)
    for child in children:
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
