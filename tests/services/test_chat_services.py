"""Services of plugins beside a chat."""

import asyncio
import logging

from oneclaw_core import hookimpl
from oneclaw_core.services.manager import chat_services


class Plugin:
    def __init__(self, work, runs_in):
        self._work, self._runs_in = work, runs_in

    @hookimpl
    def register_services(self, register):
        register("work", self._work, runs_in=self._runs_in)


def chat_with(home, until, show=print):
    async def chat():
        async with home.opened() as claw, asyncio.timeout(30), chat_services(claw, show):
            while not until():
                await asyncio.sleep(0)

    asyncio.run(chat())


def test_a_service_works_until_the_chat_ends(oneclaw_factory):
    states = []

    async def work(context):
        states.append(context.runs_in)
        try:
            await asyncio.Event().wait()
        finally:
            states.append("ended")

    chat_with(oneclaw_factory([Plugin(work, ("chat", "serve"))]), lambda: states)

    assert states == ["chat", "ended"]


def test_a_service_that_breaks_ends_nothing_and_is_told(oneclaw_factory, caplog):
    caplog.set_level(logging.CRITICAL)
    shown = []

    async def work(context):
        context.show("so far")
        raise ValueError("broken")

    chat_with(oneclaw_factory([Plugin(work, ("chat",))]), lambda: len(shown) == 2, shown.append)

    assert shown == [
        "so far",
        "work of plugin Plugin failed (ValueError: broken; it is started again in 1 s)",
    ]


def test_a_service_of_the_server_alone_does_not_run(oneclaw_factory):
    async def work(context):
        raise AssertionError

    chat_with(oneclaw_factory([Plugin(work, ("serve",))]), lambda: True)
