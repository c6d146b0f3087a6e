"""Records of sub-agents while they begin and end."""

import asyncio
from types import SimpleNamespace

import pytest
from oneclaw_agents.runs import Runs, Task

from oneclaw_core import AgentLimits, ToolSelection

TASK = Task(
    text="doze", name="doze", agent=None, selection=ToolSelection(), groups=None, limits=AgentLimits(), max_seconds=9
)


class Home:
    """A home whose background work may end at any moment."""

    def __init__(self):
        self.values, self.live, self.when_asked = {}, set(), lambda: None
        self.runs = Runs(
            SimpleNamespace(
                storage=SimpleNamespace(of_session=lambda session_id: self),
                services=SimpleNamespace(background=self),
                settings=SimpleNamespace(max_running=3),
                name="agents",
                start_task=lambda work, name: work.close(),
            )
        )

    async def list(self, prefix):
        return {f"{prefix}{run_id}": dict(document) for run_id, document in self.values.items()}

    async def set(self, key, document):
        self.values[key.removeprefix("agent:")] = dict(document)
        self.seen_while_stored = await self.runs.documents("s")

    async def delete(self, key):
        del self.values[key.removeprefix("agent:")]

    async def all_work(self):
        self.when_asked()
        return [SimpleNamespace(id=each, is_running=True) for each in self.live]

    async def begin(self, work, stop):
        self.live.add(work.id)

    def documents(self):
        return asyncio.run(self.runs.documents("s"))

    def start(self):
        context = SimpleNamespace(services=self.runs.plugin.services, agent_name="Ada", marks=[])
        return asyncio.run(self.runs.start(TASK, context, "s"))


def test_one_that_ends_while_it_is_looked_for_has_its_own_end():
    home = Home()
    home.values, home.live = {"doze-1": {"state": "running"}}, {"doze-1"}

    def end():
        home.values["doze-1"] = {"state": "stopped", "error": "it was stopped"}
        home.live.clear()

    home.when_asked = end
    assert home.documents() == {"doze-1": {"state": "stopped", "error": "it was stopped"}}


def test_one_whose_process_is_gone_is_interrupted():
    home = Home()
    home.values, home.live = {"doze-1": {"state": "running"}, "doze-2": {"state": "running"}}, {"doze-2"}
    gone, other = home.documents().values()
    assert gone == {"state": "interrupted", "error": "the program ended before it had"}
    assert other == {"state": "running"}


def test_one_that_is_about_to_begin_is_not_interrupted():
    home = Home()
    run_id = home.start()
    assert home.seen_while_stored[run_id]["state"] == "running"
    assert list(home.runs.running) == [run_id]


def test_one_that_cannot_begin_leaves_room_for_another():
    home = Home()

    async def fail(work, stop):
        raise RuntimeError("away")

    home.begin = fail
    with pytest.raises(RuntimeError):
        home.start()
    assert home.runs.running == {}
    assert home.values == {}
