"""Sessions of requests to ``/v1`` that name no session are deleted some time after their last use."""

from __future__ import annotations

import asyncio

import pytest

from oneclaw_core import hookimpl

DAY = 86_400


@pytest.fixture
def clock(monkeypatch):
    """The time of the server's sessions, in days from now."""
    from oneclaw_serve import stateless_sessions

    real, ahead = stateless_sessions.time.time, [0.0]

    class Clock:
        time = staticmethod(lambda: real() + ahead[0] * DAY)

    monkeypatch.setattr(stateless_sessions, "time", Clock)
    return ahead


@pytest.fixture
def looking(clock, monkeypatch):
    """Have the server look for unused sessions: ``await looking(days)``."""
    from oneclaw_serve.stateless_sessions import StatelessSessions

    servers = []
    keep_deleting = StatelessSessions.keep_deleting

    async def noted(self):
        servers.append(self)
        await keep_deleting(self)

    monkeypatch.setattr(StatelessSessions, "keep_deleting", noted)

    async def look(days):
        clock[0] = days
        await servers[-1].delete_unused()

    return look


async def ask(client, *texts, **headers):
    roles = ("user", "assistant")
    messages = [{"role": roles[number % 2], "content": text} for number, text in enumerate(texts)]
    body = {"model": "General Assistant", "messages": messages}
    return await client.post("/v1/chat/completions", json=body, headers=headers)


async def sessions(rig):
    return {each.id for each in await rig.claw.services.sessions.list()}


def test_a_session_without_a_name_is_deleted_after_its_time(serving, looking):
    serving.model.says("One.").says("Two.").says("Three.")

    async def work(rig):
        async with await rig.program() as client:
            plain = (await ask(client, "Hi")).headers["x-oneclaw-session"]
            named = (await ask(client, "Hi", **{"X-OneClaw-Session": "mine"})).headers["x-oneclaw-session"]
            begun = (await client.post("/api/sessions", json={})).json()["id"]
            await looking(29)
            assert {plain, named, begun} <= await sessions(rig)
            await looking(31)
            assert not {plain} & await sessions(rig)
            assert {named, begun} <= await sessions(rig)
            page = await client.get(f"/api/sessions/{plain}/messages")
            later = await ask(client, "Hi", **{"X-OneClaw-Session": plain})
            whole = await ask(client, "Hi", "One.", "And?")
            return page, later, whole, plain

    page, later, whole, plain = serving.run(work)
    assert (page.status_code, page.json()["error"]["type"]) == (404, "not_found")
    assert (later.status_code, later.json()["error"]["code"]) == (404, "session_not_found")
    assert f"session {plain} was deleted" in later.json()["error"]["message"]
    assert whole.status_code == 200  # it sends all that was said, so nothing is lost
    assert whole.headers["x-oneclaw-session"] != plain


def test_each_use_counts_and_so_does_a_name(serving, looking, clock):
    serving.model.says("One.").says("Two.").says("Three.").says("Four.")

    async def work(rig):
        async with await rig.program() as client:
            continued = (await ask(client, "Hi")).headers["x-oneclaw-session"]
            adopted = (await ask(client, "Hello")).headers["x-oneclaw-session"]
            await rig.claw.store.rename_session(adopted, "kept")
            clock[0] = 20
            again = await ask(client, "Hi", "One.", "And?")
            assert again.headers["x-oneclaw-session"] == continued
            by_id = await ask(client, "More", **{"X-OneClaw-Session": continued})
            assert by_id.headers["x-oneclaw-session"] == continued
            await looking(45)
            assert {continued, adopted} <= await sessions(rig)
            await looking(51)
            assert await sessions(rig) & {continued, adopted} == {adopted}

    serving.run(work)


def test_the_time_is_a_setting(serving, looking):
    serving.model.says("One.")

    async def work(rig):
        async with await rig.program() as client:
            await rig.claw.store.set_setting("serve.stateless_session_days", 0)
            session = (await ask(client, "Hi")).headers["x-oneclaw-session"]
            await looking(400)
            assert session in await sessions(rig)
            await rig.claw.store.set_setting("serve.stateless_session_days", 0.5)
            await looking(1)
            assert session not in await sessions(rig)

    serving.run(work)


@pytest.mark.long
def test_the_id_of_a_session_leads_no_one_else_there(serving, looking):
    serving.model.says("One.").says("Two.")

    async def work(rig):
        async with await rig.program() as client, await rig.program(name="other") as other:
            session = (await ask(client, "Hi")).headers["x-oneclaw-session"]
            theirs = (await ask(other, "Hi", **{"X-OneClaw-Session": session})).headers["x-oneclaw-session"]
            assert theirs != session

    serving.run(work)


@pytest.mark.long
def test_deleted_sessions_are_announced_to_plugins(serving, looking, oneclaw_factory):
    deleted = []

    class Watcher:
        @hookimpl
        def session_deleted(self, session):
            deleted.append(session.id)

    home = oneclaw_factory(["serve", Watcher()], environ={"ONECLAW_MODEL": "scripted/model"})
    home.model.says("One.")

    async def work():
        async with home.opened() as claw, asyncio.timeout(30), serving.server(claw) as rig:
            async with await rig.program() as client:
                session = (await ask(client, "Hi")).headers["x-oneclaw-session"]
            await looking(31)
            await claw.plugins.drain(10)
            return session

    assert asyncio.run(work()) == deleted[0]


def test_answered_questions_are_forgotten_after_a_month(serving):
    async def work(rig):
        from oneclaw_serve.event_log import EventLog

        log = await EventLog.open(rig.storage)
        for name, days in (("old", 31), ("recent", 29)):
            await log.ask(name, "session", "approval", {"text": "?"})
            await log.answer(name, "once", "me")
            await log.tables.write(asked_before, name, days)
        await log.end_turn("another")
        assert (await log.answer_to("old"), await log.answer_to("recent")) == (None, "once")

    def asked_before(connection, name, days):
        table = connection.table("questions")
        values = {"days": days * DAY * 1_000, "id": name}
        connection.execute(f"UPDATE {table} SET asked_at = asked_at - :days WHERE id = :id", values)

    serving.run(work)
