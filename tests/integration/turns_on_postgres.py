"""Sends messages to sessions, all at once; a program for test_turns_on_postgres.py.

Arguments: the home, the most turns at a time, then the names of the sessions. It begins when it is told to.
"""

import asyncio
import sys

from oneclaw_core import OneClaw


async def main() -> None:
    home, width, *names = sys.argv[1:]
    places = asyncio.Semaphore(int(width))
    async with OneClaw.open(home, start_directory=home) as claw:

        async def turn(number: int, name: str) -> None:
            async with places:
                text = f"What time is it in Tokyo? {number} {home}"
                async for _ in claw.send_message(text, session=name, model="offline/rules"):
                    pass

        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.readline)
        outcomes = await asyncio.gather(*(turn(*each) for each in enumerate(names)), return_exceptions=True)
        faults = [outcome for outcome in outcomes if outcome is not None]
        sys.stdout.write(f"{len(outcomes) - len(faults)} done {faults[:3]}\n")


asyncio.run(main())
