"""Helpers for the tests of triggers: a trigger at work, and the events that it reports."""

import asyncio

SECONDS = 60


class Fired:
    """Notes events."""

    def __init__(self):
        self.events = []
        self.changed = asyncio.Event()

    async def __call__(self, text, *, key=None):
        self.events.append((text, key))
        self.changed.set()
        return True

    async def next(self):
        async with asyncio.timeout(SECONDS):
            await self.changed.wait()
        self.changed.clear()
        return self.events[-1][0]


class Following:
    """A trigger at work."""

    def __init__(self, claw, name, **parameters):
        (self.trigger,) = [each for each in claw.services.triggers() if each.name == name]
        self.parameters = parameters
        self.fired = Fired()

    async def __aenter__(self):
        self.task = asyncio.create_task(self.trigger.run(self.parameters, self.fired))
        return self.fired

    async def __aexit__(self, *raised):
        self.task.cancel()
        await asyncio.wait([self.task])


async def until_stored(claw, prefix, plugin="triggers"):
    """Wait until a trigger has looked for the first time."""
    context = await claw.plugins.context_of(plugin)
    async with asyncio.timeout(SECONDS):
        while not await context.storage.list(prefix):
            await asyncio.sleep(0.02)
