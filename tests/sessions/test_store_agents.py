"""Agents in the database, and what happens to their sessions."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from histories import assistant, database_path, opened, user

from oneclaw_core.errors import AgentError, DuplicateError, NotFoundError, ProtectedError, StoreDamagedError
from oneclaw_core.types.agents import GENERAL_ASSISTANT, Agent, AgentLimits
from oneclaw_core.types.permissions import Grant
from oneclaw_core.types.tools import ToolSelection


def agent(name: str = "Poet", **fields: Any) -> Agent:
    return Agent(name=name, description="", system_prompt="You write.", **fields)


FULL = Agent(
    name="Straße 🖋",
    description="all there is",
    system_prompt="many\nlines",
    model="lab/meta/llama",
    parameters={"temperature": 0.5, "stop": ["é"]},
    limits=AgentLimits(max_tool_rounds=3, turn_max_tokens=4, turn_max_cost=0.5),
    selection=ToolSelection(frozenset({"b", "a"}), frozenset()),
)


def test_an_agent_is_stored_whole(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            made = await store.create_agent(FULL)
            assert len(made.id) == 32
            assert made.created_at == made.updated_at is not None
            assert replace(made, id="", created_at=None, updated_at=None) == FULL
        async with opened(tmp_path) as store:
            assert await store.list_agents() == [made]
            for name in ("Straße 🖋", "STRASSE 🖋", f" {made.name} ", made.id):
                assert await store.find_agent(name) == made

    asyncio.run(main())


def test_agents_are_listed_by_name_and_the_built_in_one_is_found(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            for name in ("beta", "Alpha", "Gamma"):
                await store.create_agent(agent(name))
            assert [each.name for each in await store.list_agents()] == ["Alpha", "beta", "Gamma"]
            assert await store.find_agent("general ASSISTANT") is GENERAL_ASSISTANT
            for missing in ("Nobody", "", "\x00", "\ud800", "0" * 32, "' OR 1=1 --"):
                assert await store.find_agent(missing) is None

    asyncio.run(main())


@pytest.mark.parametrize("name", ["Poet", "POET", "\uff50oet", "General Assistant", "general-assistant"])
def test_a_name_is_there_once_whatever_its_case(tmp_path: Path, name: str) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            await store.create_agent(agent("poet"))
            other = await store.create_agent(agent("Other"))
            with pytest.raises(DuplicateError, match="already"):
                await store.create_agent(agent(name))
            with pytest.raises(DuplicateError, match="already"):
                await store.change_agent(other.id, lambda it: replace(it, name=name))
            assert [each.name for each in await store.list_agents()] == ["Other", "poet"]

    asyncio.run(main())


def test_what_would_be_taken_for_an_id_is_no_name(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            with pytest.raises(AgentError, match="hexadecimal"):
                await store.create_agent(agent("0" * 32))

    asyncio.run(main())


def test_a_new_name_takes_the_sessions_along(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            made = await store.create_agent(agent())
            mine = await store.create_session("mine", agent="Poet")
            other = await store.create_session("other", agent=GENERAL_ASSISTANT.name)
            changed = await store.change_agent("poet", lambda it: replace(it, name="Bard", description="sings"))
            assert (changed.id, changed.name, changed.description) == (made.id, "Bard", "sings")
            assert changed.created_at == made.created_at
            found = {each.name: each.agent for each in await store.list_sessions()}
            assert found == {"mine": "Bard", "other": "General Assistant"}
            setup = await store.turn_setup(mine.id, None)
            assert setup.agent == changed
            assert (await store.turn_setup(other.id, "BARD")).agent == changed
            # Only the case: still its own name.
            assert (await store.change_agent("bard", lambda it: replace(it, name="BARD"))).name == "BARD"
            assert (await store.turn_setup(mine.id, None)).session is not None

    asyncio.run(main())


def test_deleting_leaves_the_sessions_to_the_general_assistant(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            made = await store.create_agent(agent())
            for name in ("one", "two"):
                await store.create_session(name, agent="Poet")
            assert await store.delete_agent("POET") == (made, 2)
            assert {each.agent for each in await store.list_sessions()} == {"General Assistant"}
            assert (await store.turn_setup("one", None)).agent is GENERAL_ASSISTANT
            with pytest.raises(NotFoundError, match="there is no agent 'Poet'"):
                await store.delete_agent("Poet")

    asyncio.run(main())


def test_decisions_on_permissions_follow_the_agent_and_end_with_it(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            await store.create_agent(agent("Ada"))
            await store.set_grant(Grant("shell.execute", agent="Ada"))
            await store.set_grant(Grant("shell.execute", agent="Bo"))
            await store.set_grant(Grant("network.private"))

            await store.change_agent("Ada", lambda old: replace(old, name="Bo"))
            grants = (await store.user_states()).grants
            assert [(each.permission, each.agent) for each in grants] == [
                ("network.private", None),
                ("shell.execute", "Bo"),
            ]

            await store.delete_agent("Bo")
            await store.create_agent(agent("Bo"))
            assert [each.permission for each in (await store.user_states()).grants] == ["network.private"]

    asyncio.run(main())


def test_the_built_in_agent_stays_as_it_is(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            for name in ("General Assistant", "general assistant", "general-assistant"):
                with pytest.raises(ProtectedError, match="built in"):
                    await store.delete_agent(name)
                with pytest.raises(ProtectedError, match="built in"):
                    await store.change_agent(name, lambda it: replace(it, description="x"))
            assert await store.list_agents() == []

    asyncio.run(main())


def test_a_change_that_is_refused_changes_nothing(tmp_path: Path) -> None:
    def refuse(it: Agent) -> Agent:
        raise AgentError("no")

    async def main() -> None:
        async with opened(tmp_path) as store:
            made = await store.create_agent(agent())
            with pytest.raises(AgentError, match="no"):
                await store.change_agent("Poet", refuse)
            assert await store.find_agent("Poet") == made
            with pytest.raises(NotFoundError):
                await store.change_agent("Nobody", refuse)

    asyncio.run(main())


def test_two_stores_that_change_one_agent_at_once_lose_neither_change(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as one, opened(tmp_path) as other:
            await one.create_agent(agent())
            await asyncio.gather(
                one.change_agent("Poet", lambda it: replace(it, description="by one")),
                other.change_agent("Poet", lambda it: replace(it, model="offline/rules")),
            )
            [now] = await one.list_agents()
            assert (now.description, now.model) == ("by one", "offline/rules")

    asyncio.run(main())


def test_two_stores_cannot_make_the_same_agent(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as one, opened(tmp_path) as other:
            made = await asyncio.gather(
                one.create_agent(agent("Poet")), other.create_agent(agent("POET")), return_exceptions=True
            )
            assert sorted(type(each).__name__ for each in made) == ["Agent", "DuplicateError"]

    asyncio.run(main())


def test_a_prompt_that_no_database_can_hold_is_cleaned(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            await store.create_agent(Agent(name="Poet", description="", system_prompt="a\x00b\ud800c"))
            [stored] = await store.list_agents()
            assert stored.system_prompt == "a\ufffdb?c"

    asyncio.run(main())


@pytest.mark.only("sqlite")
@pytest.mark.parametrize(
    "damage",
    [
        "parameters = '{'",
        "parameters = '[1]'",
        "selected_tools = '5'",
        "name = ''",
        "created_at = 1e300",
        "model = 'x'",
        "max_tool_rounds = 'many'",
    ],
)
def test_a_damaged_agent_is_told_as_such(tmp_path: Path, damage: str) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            made = await store.create_agent(agent())
            with closing(sqlite3.connect(database_path(tmp_path))) as connection:
                connection.execute(f"UPDATE agents SET {damage}")
                connection.commit()
            with pytest.raises(StoreDamagedError, match="damaged agent"):
                await store.find_agent(made.id)

    asyncio.run(main())


def test_a_turn_learns_of_settings_session_and_agent_at_once(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            await store.set_setting("model", "offline/rules")
            made = await store.create_agent(agent())
            session = await store.create_session("mine", agent="Poet")
            setup = await store.turn_setup("mine", None)
            assert (setup.settings, setup.session, setup.agent) == ({"model": "offline/rules"}, session, made)
            assert (await store.turn_setup(None, None)).agent is GENERAL_ASSISTANT
            assert (await store.turn_setup("new", None)).session is None
            assert (await store.turn_setup("mine", "General Assistant")).agent is GENERAL_ASSISTANT
            assert (await store.turn_setup("mine", "Nobody")).agent is None

    asyncio.run(main())


def test_a_session_within_another_goes_with_it(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            parent = await store.create_session(agent="a")
            child = await store.create_session(agent="b", parent_id=parent.id)
            grandchild = await store.find_or_create_session("deep", agent="c", parent_id=child.id)
            await store.append(grandchild.id, [user(), assistant()])
            assert (parent.parent_id, child.parent_id, grandchild.parent_id) == (None, parent.id, child.id)
            assert await store.find_session("deep") == replace(grandchild, updated_at=(await _updated(store, "deep")))
            await store.delete_session(parent.id)
            assert await store.list_sessions() == []
            with pytest.raises(NotFoundError):
                await store.create_session(agent="b", parent_id=parent.id)

    asyncio.run(main())


async def _updated(store: Any, name: str) -> Any:
    return (await store.find_session(name)).updated_at


@pytest.mark.only("sqlite")
def test_an_old_database_can_hold_agents(tmp_path: Path) -> None:
    old = Path(__file__).with_name("version_1.sql").read_text(encoding="utf-8")
    with closing(sqlite3.connect(database_path(tmp_path))) as connection:
        connection.executescript(old)

    async def main() -> None:
        async with opened(tmp_path) as store:
            assert await store.list_agents() == []
            [session] = await store.list_sessions()
            assert session.parent_id is None
            child = await store.create_session(agent="General Assistant", parent_id=session.id)
            made = await store.create_agent(FULL)
            await store.delete_session(session.id)
            assert await store.find_session(child.id) is None
            assert await store.list_agents() == [made]

    asyncio.run(main())
