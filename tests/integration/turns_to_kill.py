"""Runs turns of one session in child processes and kills each at a random time; a program for test_kill.py.

Arguments: the home, how many turns to kill, how many to try at most. The program forks after a separate turn, with
everything imported, so that the time of a turn's process is the turn's. It prints how each process ended.
"""

import asyncio
import os
import random
import signal
import sys
import time

from oneclaw_core import OneClaw

TIMED = 2
# In so many equal parts of a turn's time, one turn each is killed.
PARTS = 10


async def turn(home: str) -> None:
    async with OneClaw.open(home) as claw:
        async for _ in claw.send_message("go on", session="story", model="openai_compatible/test"):
            pass


def turn_in_child(home: str, delay: float | None = None) -> tuple[bool, float]:
    """Run a turn, and kill it after a time in seconds; give whether it was killed, and how long it ran."""
    started = time.monotonic()
    child = os.fork()
    if child == 0:
        asyncio.run(turn(home))
        os._exit(0)
    if delay is not None:
        time.sleep(delay)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    is_killed = os.WIFSIGNALED(status)
    sys.stdout.write("killed\n" if is_killed else f"ended {os.waitstatus_to_exitcode(status)}\n")
    sys.stdout.flush()
    return is_killed, time.monotonic() - started


def main() -> None:
    home, kills, most = sys.argv[1], *map(int, sys.argv[2:])
    asyncio.run(turn(home))
    duration = min(turn_in_child(home)[1] for _ in range(TIMED))
    chance = random.Random(40)
    delays: list[float] = []
    killed = 0
    for _ in range(most):
        if killed == kills:
            break
        if not delays:
            delays = [(number + chance.random()) / PARTS for number in range(PARTS)]
            chance.shuffle(delays)
        is_killed, lasted = turn_in_child(home, delays.pop() * duration)
        killed += is_killed
        # A busy machine may have become faster since the time was taken.
        duration = duration if is_killed else min(duration, lasted)
    turn_in_child(home)


if __name__ == "__main__":
    main()
