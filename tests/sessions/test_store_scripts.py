"""The calls of scripts in the store."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from histories import opened

from oneclaw_core.scripts.journal import ScriptCall, ScriptCallState, ScriptStart

if TYPE_CHECKING:
    from pathlib import Path

START = ScriptStart(code="return 1", purpose="sum up", engine="1", started_ms=1, seed=(1, 2, 3, 4))


def call(number: int, state: ScriptCallState = ScriptCallState.DONE, result: str | None = '"done"') -> ScriptCall:
    return ScriptCall(
        call_id="call_1", key=f"k{number}", occurrence=0, number=number, tool="put", arguments="{}", state=state,
        result=result,
    )  # fmt: skip


def test_a_script_is_begun_once_and_has_its_calls_in_their_order(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session("work", agent="")
            (itself,) = await store.begin_script(session.id, "call_1", START.to_text())
            assert ScriptStart.from_text(itself.arguments) == START
            await store.note_script_calls(session.id, [call(2), call(1, ScriptCallState.STARTED, None)])
            await store.note_script_calls(session.id, [call(1)])
            again = await store.begin_script(session.id, "call_1", "{}")
            assert again == [itself, call(1), call(2)]

    asyncio.run(main())


def test_many_calls_are_shortened_when_their_script_has_finished(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session("work", agent="")
            await store.begin_script(session.id, "call_1", START.to_text())
            await store.note_script_calls(session.id, [call(each, result="é" * 5_000) for each in range(1, 60)])
            await store.end_script(session.id, "call_1", [call(60, result="x" * 3_000), call(61)])
            itself, *calls = await store.script_calls(session.id, "call_1")
            assert itself.state is ScriptCallState.ENDED
            assert [len(each.result or "") for each in calls] == [2_001] * 60 + [6]
            assert {each.result for each in calls[:59]} == {"é" * 2_000 + "…"}

    asyncio.run(main())


def test_scripts_of_calls_are_found_with_those_that_they_continue(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session("work", agent="")
            await store.begin_script(session.id, "call_1", START.to_text())
            await store.note_script_calls(session.id, [call(1)])
            await store.begin_script(session.id, "call_2", '{"continues": "call_1"}')
            found = await store.calls_of_scripts(session.id, ["call_2", "no_script"])
            assert [(each.call_id, each.number) for each in found] == [("call_2", 0), ("call_1", 0), ("call_1", 1)]
            assert await store.calls_of_scripts(session.id, []) == []

    asyncio.run(main())
