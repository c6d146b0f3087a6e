import asyncio
from dataclasses import asdict, replace

import pytest
from histories import opened

from oneclaw_core.errors import NotFoundError, StoreError
from oneclaw_core.sessions import Background, BackgroundWork
from oneclaw_core.sessions import background as background_module

WORK = BackgroundWork(id="nap-1", kind="agent", title="sleep", plugin="agents", session_id="s")


def test_work_is_known_to_other_processes_until_its_conversation_is_told(tmp_path):
    async def run():
        async with opened(tmp_path) as store:
            here, other = (Background(store, tmp_path / "locks") for _ in range(2))
            stopped = asyncio.Event()
            await here.begin(WORK, stopped.set)
            assert [(each.id, each.state) for each in await other.all_work()] == [("nap-1", "running")]
            assert await other.news_for("s", await store.settings()) == ("", [])

            stopping = asyncio.create_task(other.stop("nap-1"))
            await stopped.wait()
            await here.end("nap-1", "stopped")
            assert (await stopping).id == "nap-1"

            text, told = await other.news_for("s", await store.settings())
            assert text == "Ended in the background:\n- agent nap-1: stopped"
            await other.told(told)
            assert await here.all_work() == []
            with pytest.raises(NotFoundError, match="oneclaw background list"):
                await here.stop("nap-1")
            await here.aclose()

    asyncio.run(run())


def test_work_of_a_process_that_is_gone_is_interrupted_unless_it_ran_on_another_machine(tmp_path):
    async def run():
        async with opened(tmp_path) as store:
            gone = Background(store, tmp_path / "locks")
            await gone.begin(WORK, lambda: None)
            await gone.aclose()
            elsewhere = BackgroundWork(id="far-1", kind="agent", title="", plugin="agents", process="p", host="far")
            await store.set_setting("background:far-1", asdict(elsewhere))
            await store.set_setting("background:odd", {"of": "another version"})
            states = {each.id: each.state for each in await Background(store, tmp_path / "locks").all_work()}
            assert states == {"nap-1": "interrupted", "far-1": "running"}
            assert list((tmp_path / "locks").glob("process-*")) == []

    asyncio.run(run())


def test_work_outside_of_conversations_is_forgotten_when_it_ends(tmp_path):
    async def run():
        async with opened(tmp_path) as store:
            background, heard = Background(store, tmp_path / "locks"), []
            background.listen(heard.append)
            await background.begin(replace(WORK, session_id=None), lambda: None)
            await background.begin(replace(WORK, id="nap-2"), lambda: None)
            assert [each.id for each in background.here()] == ["nap-1", "nap-2"]
            await background.end("nap-1", "ended", "exit code 0")
            await background.end("nap-1", "ended")  # which says nothing twice
            assert [(each.id, each.state, each.outcome) for each in heard] == [("nap-1", "ended", "exit code 0")]
            assert [each.id for each in await background.all_work()] == ["nap-2"]
            assert background.untold == set()
            await background.aclose()

    asyncio.run(run())


def test_work_that_does_not_stop_in_time_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(background_module, "STOP_SECONDS", 0.2)

    async def run():
        async with opened(tmp_path) as store:
            background = Background(store, tmp_path / "locks")
            await background.begin(WORK, lambda: None)
            with pytest.raises(StoreError, match=r"nap-1 did not stop within 0.2 s; its process may hang"):
                await background.stop("nap-1")
            assert [each.state for each in await background.all_work()] == ["running"]
            await background.aclose()

    asyncio.run(run())


def test_another_process_has_work_stopped_here(tmp_path, monkeypatch):
    monkeypatch.setattr(background_module, "STOP_POLL_SECONDS", 0.001)

    async def run():
        async with opened(tmp_path) as store:
            here, other = (Background(store, tmp_path / "locks") for _ in range(2))
            stops = asyncio.Event()
            away = store.stop_requests
            requests = iter([StoreError("away")])

            async def stop_requests():
                for error in requests:
                    raise error
                return await away()

            store.stop_requests = stop_requests
            await here.begin(WORK, stops.set)
            stopping = asyncio.create_task(other.stop("nap-1"))
            await asyncio.wait_for(stops.wait(), 10)
            await here.end("nap-1", "stopped")
            assert (await stopping).state == "running"  # as it was
            assert await away() == set()
            assert here.untold == {"s"}
            await here.news_for("s", await store.settings())
            assert here.untold == set()
            while here._polling is not None:  # nothing looks for requests while nothing runs
                await asyncio.sleep(0.001)
            again = asyncio.Event()
            await here.begin(replace(WORK, id="nap-2"), again.set)
            await store.request_stop("nap-2")
            await asyncio.wait_for(again.wait(), 10)
            await here.end("nap-2", "stopped")
            await here.aclose()

    asyncio.run(run())


def test_old_ends_that_no_conversation_was_told_are_forgotten(tmp_path, monkeypatch):
    now = 1_800_000_000.0
    monkeypatch.setattr(background_module.time, "time", lambda: now)

    async def run():
        async with opened(tmp_path) as store:
            for name, days, state in (("old", 8, "ended"), ("new", 6, "ended"), ("long", 8, "running")):
                work = replace(WORK, id=name, state=state, process="p", host="far", began_at=now - days * 86_400)
                await store.set_setting(f"background:{name}", asdict(work))
            background = Background(store, tmp_path / "locks")
            await background.begin(replace(WORK, began_at=now), lambda: None)
            assert [each.id for each in await background.all_work()] == ["long", "new", "nap-1"]
            await background.aclose()

    asyncio.run(run())


def test_ends_are_told_in_words():
    for state, outcome, told in (
        ("ended", "", "agent nap-1: ended"),
        ("failed", "exit code 1", "agent nap-1: failed, exit code 1"),
        ("interrupted", "", "agent nap-1: interrupted, because the program ended"),
    ):
        assert replace(WORK, state=state, outcome=outcome).end_in_words() == told
