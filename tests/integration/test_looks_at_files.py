"""A turn looks at tools once for each request, at skills once, and not at what cannot have changed."""

import asyncio
import os
import sys
from collections import Counter

import pytest

from oneclaw_core import OneClaw, TurnFinishedEvent
from oneclaw_core.providers import ModelResponse
from oneclaw_core.types.messages import ToolCall

REQUESTS = 3
_watching = []


def _hook(event, arguments):
    if event == "os.scandir" and _watching:
        _watching[-1][str(arguments[0])] += 1


class Model:
    """Calls a tool twice, then answers."""

    async def stream(self, request):
        called = [each.tool_name for each in request.messages].count("get_current_time") // 2
        if called < REQUESTS - 1:
            yield ModelResponse(tool_calls=(ToolCall(f"c{called}", "get_current_time", "{}"),))
        else:
            yield ModelResponse(text="done")

    async def list_models(self):
        return []

    async def aclose(self):
        pass


@pytest.fixture
def looks(monkeypatch):
    """Count by path how often a file or a folder is looked at."""
    counts = Counter()
    stat = os.stat

    def counting(path, *arguments, **options):
        counts[str(path)] += 1
        return stat(path, *arguments, **options)

    monkeypatch.setattr(os, "stat", counting)
    sys.addaudithook(_hook)  # it stays for the life of the process
    _watching.append(counts)
    yield counts
    _watching.remove(counts)


def test_a_request_looks_at_a_folder_once(tmp_path, looks):
    async def main():
        async with OneClaw.open(tmp_path / "home", environ={}, start_directory=tmp_path) as claw:
            claw.catalog.provider_types["instant"] = lambda config: Model()
            await claw.store.set_setting("provider:instant", {"type": "instant"})
            for _ in range(2):
                looks.clear()
                events = [event async for event in claw.send_message("what time is it?", model="instant/model")]
                assert isinstance(events[-1], TurnFinishedEvent)

    asyncio.run(main())
    home = str(tmp_path / "home")
    assert looks[f"{home}/tools"] == REQUESTS
    assert looks[f"{home}/skills"] == 1  # a session keeps the list that it began with
    assert max(looks.values()) == REQUESTS, looks
    # The folder of tools; beside it three of skills and what else a turn looks at once.
    assert looks.total() <= REQUESTS + 3 + 12, looks
