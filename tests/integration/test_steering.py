"""Messages of the user during a turn: stored behind the results of tools, in every wire format."""

import asyncio
import json

import pytest
from model_server import ModelServer
from test_every_model import addresses, every_format
from wire_formats import FORMATS

from oneclaw_core import MessageType, OneClaw, SteeredEvent, TurnRefusedError, hookimpl, tool

CHAT = next(each for each in FORMATS if each.provider == "openai_compatible")


class Steered:
    """A turn whose only tool has the user send a message while it runs."""

    def __init__(self, home, server, wire=CHAT, plugins=None):
        self.steering = []
        self.events = []
        self.history = []
        self.error = None
        asyncio.run(self._play(home, server, wire, plugins))

    async def _play(self, home, server, wire, plugins):
        @tool
        def look() -> str:
            """Look at it."""
            self.steering.append("In French, please.")
            return "It is green."

        async with OneClaw.open(home, environ=addresses(server), start_directory=home, plugins=plugins) as claw:
            claw.add_tools(look)
            options = {"session": "s", "model": wire.full_model, "steering": self.steering}
            try:
                self.events = [each async for each in claw.send_message("Go.", **options)]
                async for _ in claw.send_message("And now?", **options):
                    pass
            except TurnRefusedError as error:
                self.error = error
            self.history = await claw.store.messages((await claw.store.find_session("s")).id)


@every_format
def test_the_model_reads_it_after_the_results_and_it_stays_in_the_history(tmp_path, wire):
    with ModelServer([wire.calls(("look", {})), wire.says("Vert."), wire.says("Oui.")]) as server:
        turn = Steered(tmp_path, server, wire)
    assert turn.steering == []
    assert SteeredEvent("In French, please.") in turn.events
    types = [each.type for each in turn.history]
    assert types[-5:-2] == [MessageType.TOOL_RESULT, MessageType.USER, MessageType.ASSISTANT]
    second = json.dumps(wire.history(server.bodies[1]))
    assert second.index("It is green.") < second.index("In French, please.")
    # What was sent stays the beginning of what is sent next.
    wire.assert_goes_on(server.requests[1].content, server.requests[2].content)


@pytest.mark.long
def test_what_comes_too_late_is_left_for_the_next_message(tmp_path):
    late = []

    async def story(server):
        async with OneClaw.open(tmp_path, environ=addresses(server), start_directory=tmp_path) as claw:
            async for _ in claw.send_message("Go.", model=CHAT.full_model, steering=late):
                late[:] = ["too late"]

    with ModelServer([CHAT.says("Done.")]) as server:
        asyncio.run(story(server))
    assert late == ["too late"]


class Gate:
    @hookimpl
    def before_turn(self, context, turn):
        from oneclaw_core import Deny

        return Deny("no French") if "French" in turn.text else None


def test_a_gate_that_refuses_a_message_refuses_it_during_a_turn_too(tmp_path):
    with ModelServer([CHAT.calls(("look", {}))]) as server:
        turn = Steered(tmp_path, server, plugins=["openai", Gate()])
    assert "no French" in str(turn.error)
    assert [each.type for each in turn.history][-1] is MessageType.TOOL_RESULT


def test_what_is_stored_while_a_turn_is_cancelled_is_not_sent_again(tmp_path):
    steering, history = [], []

    @tool
    def look() -> str:
        """Look at it."""
        steering.append("In French, please.")
        return "It is green."

    async def story(server):
        async with OneClaw.open(tmp_path, environ=addresses(server), start_directory=tmp_path) as claw:
            claw.add_tools(look)
            append, stores = claw.store.append, type(claw.store)

            async def slowly(store, session, messages):
                stored = await append(session, messages)
                if messages[0].content == "In French, please.":
                    turn.cancel()
                    await asyncio.sleep(0.01)
                return stored

            async def send():
                async for _ in claw.send_message("Go.", session="s", model=CHAT.full_model, steering=steering):
                    pass

            stores.append, original = slowly, stores.append
            try:
                turn = asyncio.create_task(send())
                await asyncio.wait({turn})
            finally:
                stores.append = original
            history.extend(await claw.store.messages((await claw.store.find_session("s")).id))

    with ModelServer([CHAT.calls(("look", {}))]) as server:
        asyncio.run(story(server))

    assert "In French, please." in [each.content for each in history]
    assert steering == []
