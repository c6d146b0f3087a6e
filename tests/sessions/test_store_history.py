"""The part of a history that a model is sent: whole turns, as many as fit."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from histories import assistant, call, failure, history, opened, success, user
from hypothesis import given
from hypothesis import strategies as st

from oneclaw_core.sessions.history import newest_turns
from oneclaw_core.types.messages import Message, MessageType

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def length(messages: Sequence[Message]) -> int:
    return sum(
        min(len(each.content), len(each.content) if each.shown_characters is None else each.shown_characters)
        + len(each.tool_input or "")
        for each in messages
    )


def pending(messages: Sequence[Message]) -> set[str | None]:
    results = {each.tool_call_id for each in messages if each.type is MessageType.TOOL_RESULT}
    return {each.tool_call_id for each in messages if each.type is MessageType.TOOL_CALL} - results


def is_whole(part: Sequence[Message], everything: Sequence[Message]) -> bool:
    """Whether it begins with the user, and holds the calls of its results and all pending ones."""
    calls = {each.tool_call_id for each in part if each.type is MessageType.TOOL_CALL}
    results = {each.tool_call_id for each in part if each.type is MessageType.TOOL_RESULT}
    return bool(part) and part[0].type is MessageType.USER and calls >= results | pending(everything)


@st.composite
def a_history(draw: st.DrawFn) -> list[Message]:
    """Turns in which calls are answered at once, later, in a later turn, or never."""
    entries: list[Message] = [user(draw(st.text("u", max_size=9)))]
    open_calls: list[str] = []
    for number in range(draw(st.integers(0, 25))):
        kind = draw(st.sampled_from(["user", "assistant", "call", "result", "result"]))
        if kind == "user":
            entries.append(user("u" * draw(st.integers(0, 9))))
        elif kind == "assistant":
            entries.append(assistant("a" * draw(st.integers(0, 9))))
        elif kind == "call":
            open_calls.append(str(number))
            entries.append(call(str(number), arguments="i" * draw(st.integers(0, 9))))
        elif open_calls:
            answered = open_calls.pop(draw(st.integers(0, len(open_calls) - 1)))
            shown = draw(st.none() | st.integers(0, 5))
            entries.append(replace(success(answered, "r" * draw(st.integers(0, 9))), shown_characters=shown))
    return entries


@given(a_history(), st.none() | st.integers(0, 120))
def test_the_part_is_the_longest_whole_one_that_fits_or_the_shortest_whole_one(
    entries: list[Message], max_characters: int | None
) -> None:
    part = newest_turns(reversed(entries), pending(entries), max_characters)
    whole = [entries[start:] for start in range(len(entries)) if is_whole(entries[start:], entries)]
    fitting = [each for each in whole if max_characters is None or length(each) <= max_characters]
    assert list(part) == (fitting[0] if fitting else whole[-1])


def test_a_part_of_the_tool_output_that_is_not_shown_does_not_count() -> None:
    entries = [user("old"), user("123"), call("1"), replace(success("1", "x" * 1000), shown_characters=10)]
    assert newest_turns(reversed(entries), (), 18) == tuple(entries)
    assert newest_turns(reversed(entries), (), 17) == tuple(entries[1:])


def test_the_last_turn_is_there_even_if_it_does_not_fit() -> None:
    entries = [user("old"), user("new"), assistant("x" * 1000)]
    assert newest_turns(reversed(entries), (), 10) == tuple(entries[1:])


def test_a_call_answered_in_a_later_turn_keeps_its_turn() -> None:
    entries = [user("1"), call("c"), user("2"), failure("c"), assistant("x")]
    assert newest_turns(reversed(entries), (), 0) == tuple(entries)


def test_what_precedes_the_first_message_of_the_user_is_left_out() -> None:
    assert newest_turns(reversed([assistant("hi"), user("hello")]), (), None) == (user("hello"),)
    assert newest_turns([assistant("hi")], (), None) == ()
    assert newest_turns([], (), None) == ()


def test_a_result_without_any_call_does_no_harm() -> None:
    entries = [user("1"), success("lost"), user("2"), success("lost too")]
    assert newest_turns(reversed(entries), (), None) == tuple(entries[2:])


def test_no_more_is_read_than_fits() -> None:
    taken = 0

    def endless():  # type: ignore[no-untyped-def]
        nonlocal taken
        while True:
            taken += 1
            yield user("x" * 10)

    assert len(newest_turns(endless(), (), 100)) == 10
    assert taken == 11


def test_the_store_reads_the_newest_turns_over_the_borders_of_pages(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            other = await store.create_session(agent="default")
            assert await history(store, session.id) == []
            for number in range(5):
                await store.append(other.id, [user("other")])
                turn = [user(f"turn {number}"), *(assistant("x") for _ in range(59))]
                await store.append(session.id, [*turn, call(str(number)), success(str(number))])
            everything = await store.messages(session.id)
            assert len(everything) == 5 * 62
            assert await history(store, session.id) == everything
            assert await history(store, session.id, length(everything)) == everything
            assert await history(store, session.id, length(everything) - 1) == everything[62:]
            assert await history(store, session.id, 0) == everything[-62:]
            start = await store.load_turn(session.id, length(everything[-124:]))
            assert list(start.history) == everything[-124:]

    asyncio.run(main())
