"""What model requests used: sums by whatever is asked for, and what was spent today."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest
from histories import assistant, change, opened, opened_for_examples
from how_long import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from oneclaw_core.errors import StoreDamagedError
from oneclaw_core.sessions import usage as stored_usage
from oneclaw_core.sessions.backend import to_stored
from oneclaw_core.sessions.usage import PrefixFingerprint, UsageGrouping, UsageRecord, UsageTotals
from oneclaw_core.types.budget import Spending, start_of_day
from oneclaw_core.types.messages import TokenUsage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from oneclaw_core.sessions.backend import Connection
    from oneclaw_core.sessions.store import Store

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
PREFIX = PrefixFingerprint("tools", "system", "1")


def record(
    input_tokens: int | None = 10,
    *,
    model: str = "gpt",
    cost: float | None = None,
    groups: Sequence[str] = (),
    prefix: PrefixFingerprint | None = None,
) -> UsageRecord:
    return UsageRecord("openai", model, TokenUsage(input_tokens=input_tokens), cost, tuple(groups), prefix)


async def store_at(store: Store, session_id: str, moment: datetime, used: UsageRecord) -> None:
    """Store what a request used as if it were another time."""
    await store.append(session_id, [], usage=used)
    statement = "UPDATE usage SET created_at = :moment WHERE id = (SELECT max(id) FROM usage)"
    await store._database.write(lambda it: it.execute(statement, {"moment": to_stored(moment)}).close())


def test_usage_is_added_up(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            first = await store.create_session(agent="default")
            second = await store.create_session(agent="default")
            tokens = TokenUsage(input_tokens=10, cached_input_tokens=4, cache_write_tokens=3, output_tokens=5)
            for _ in range(2):
                await store.append(first.id, [assistant()], usage=UsageRecord("openai", "gpt", tokens, cost=0.25))
            absurd = TokenUsage(input_tokens=10**30, output_tokens=-1, reasoning_tokens=7)
            await store.append(second.id, [], usage=UsageRecord("x", "y", absurd))
            await store.record_usage(second.id, record(100))
            of_first = UsageTotals(
                requests=2,
                input_tokens=20,
                cached_input_tokens=8,
                cache_write_tokens=6,
                output_tokens=10,
                cacheable_input_tokens=20,
                cost=0.5,
                priced_requests=2,
            )
            assert await store.usage_totals(first.id) == of_first
            total = await store.usage_totals()
            assert total == of_first + UsageTotals(requests=2, input_tokens=100, reasoning_tokens=7)
            assert (total.requests, total.input_tokens, total.reasoning_tokens, total.cost) == (4, 120, 7, 0.5)
            assert await store.usage_totals("0" * 32) == UsageTotals()

    asyncio.run(main())


def test_requests_without_final_counts_are_counted_and_marked(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            await store.record_usage(session.id, record(100))
            broken_off = TokenUsage(input_tokens=50, output_tokens=3, is_at_least=True)
            await store.record_usage(session.id, UsageRecord("openai", "mini", broken_off))
            assert await store.usage_totals(session.id) == UsageTotals(
                requests=2, at_least_requests=1, input_tokens=150, output_tokens=3
            )
            rows = await store.usage_by(UsageGrouping.MODEL)
            assert {row.key: row.totals.at_least_requests for row in rows} == {"openai/gpt": 0, "openai/mini": 1}
            assert (await store.spent_since(start_of_day())).tokens == 153

    asyncio.run(main())


def test_the_cached_share_is_that_of_requests_whose_service_says_it() -> None:
    assert UsageTotals(input_tokens=100).cached_share is None
    assert UsageTotals(cached_input_tokens=0, cacheable_input_tokens=0).cached_share is None
    assert UsageTotals(input_tokens=500, cached_input_tokens=30, cacheable_input_tokens=40).cached_share == 0.75


def test_usage_by_model_session_and_group(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            work = await store.create_session("work", agent="default")
            other = await store.create_session(agent="default")
            gone = await store.create_session("gone", agent="default")
            await store.append(work.id, [], usage=record(1, groups=["mail", "pdf"], cost=1.0))
            await store.append(work.id, [], usage=record(2, groups=["pdf"], model="mini"))
            await store.append(other.id, [], usage=record(4))
            await store.append(gone.id, [], usage=record(8, groups=["pdf", "mail"], model="mini", cost=0.5))
            await store.delete_session(gone.id)

            async def by(grouping: UsageGrouping) -> list[tuple[str | None, str | None, int | None]]:
                rows = await store.usage_by(grouping)
                return [(row.key, row.name, row.totals.input_tokens) for row in rows]

            assert await by(UsageGrouping.MODEL) == [("openai/gpt", None, 5), ("openai/mini", None, 10)]
            assert await by(UsageGrouping.SESSION) == [
                (work.id, "work", 3),
                (None, None, 8),
                (other.id, None, 4),
            ]
            assert await by(UsageGrouping.GROUP) == [("pdf", None, 11), ("mail", None, 9), (None, None, 4)]

    asyncio.run(main())


def test_what_is_reported_is_within_the_range(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            hour = timedelta(hours=1)
            for number, moment in enumerate((NOON - hour, NOON, NOON + hour)):
                await store_at(store, session.id, moment, record(10**number))

            async def found(since: datetime | None, until: datetime | None) -> int | None:
                rows = await store.usage_by(UsageGrouping.MODEL, since=since, until=until)
                totals = await store.usage_totals(since=since, until=until)
                assert [row.totals for row in rows] == ([totals] if totals.requests else [])
                return totals.input_tokens

            assert await found(None, None) == 111
            assert await found(NOON, None) == 110
            assert await found(None, NOON) == 1
            assert await found(NOON, NOON + hour) == 10
            assert await found(NOON + timedelta(microseconds=1), NOON + hour) is None

    asyncio.run(main())


@pytest.mark.parametrize(
    ("zone", "midnight"),
    [
        (UTC, datetime(2026, 3, 1, tzinfo=UTC)),
        (ZoneInfo("Asia/Kathmandu"), datetime(2026, 2, 28, 18, 15, tzinfo=UTC)),
        (ZoneInfo("America/New_York"), datetime(2026, 3, 1, 5, tzinfo=UTC)),
        (timezone(timedelta(hours=14)), datetime(2026, 2, 28, 10, tzinfo=UTC)),
        # Clocks were put forward on 29 March.
        (ZoneInfo("Europe/Berlin"), datetime(2026, 3, 29, 22, tzinfo=UTC)),
    ],
    ids=str,
)
def test_days_are_those_of_the_time_zone(tmp_path: Path, zone: ZoneInfo, midnight: datetime) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            tick = timedelta(microseconds=1)
            for tokens, moment in ((1, midnight - tick), (10, midnight), (100, midnight + timedelta(hours=23))):
                await store_at(store, session.id, moment, record(tokens))
            rows = await store.usage_by(UsageGrouping.DAY, time_zone=zone)
            local = midnight.astimezone(zone).date()
            assert [(row.key, row.totals.input_tokens) for row in rows] == [
                ((local - timedelta(days=1)).isoformat(), 1),
                (local.isoformat(), 110),
            ]

    asyncio.run(main())


async def breaks(store: Store, since: datetime | None = None) -> tuple[int, ...]:
    it = await store.usage_totals(since=since)
    return (it.prefix_breaks, it.model_changes, it.tools_changes, it.system_prompt_changes, it.history_changes)


def test_what_broke_a_prefix_is_told(tmp_path: Path) -> None:
    records = [
        record(prefix=PREFIX),
        record(prefix=PREFIX),
        record(prefix=PrefixFingerprint("tools 2", "system", "1")),
        record(prefix=PrefixFingerprint("tools 2", "system", "1"), model="mini"),
        record(prefix=PrefixFingerprint("tools 2", "system 2", "5")),
        record(prefix=PrefixFingerprint("tools 2", "system 2", "5")),
    ]
    expected = [
        (0, 0, 0, 0, 0),
        (0, 0, 0, 0, 0),
        (1, 0, 1, 0, 0),
        (2, 1, 1, 0, 0),
        (3, 2, 1, 1, 1),
        (3, 2, 1, 1, 1),
    ]

    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            found = []
            for each in records:
                await store.append(session.id, [], usage=each)
                found.append(await breaks(store))
            assert found == expected

    asyncio.run(main())


def test_a_request_is_compared_with_the_one_before_of_its_session_that_has_a_fingerprint(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            first = await store.create_session(agent="default")
            second = await store.create_session(agent="default")
            changed = PrefixFingerprint("tools", "system", "9")
            await store.append(first.id, [], usage=record(prefix=PREFIX))
            await store.append(second.id, [], usage=record(prefix=changed, model="other"))
            # That for a summary.
            await store.record_usage(first.id, record(model="summarizer"))
            await store.append(first.id, [], usage=record(prefix=PREFIX))
            assert await breaks(store) == (0, 0, 0, 0, 0)
            await store.record_usage(first.id, record(model="summarizer"))
            await store.append(first.id, [], usage=record(prefix=changed))
            assert await breaks(store) == (1, 0, 0, 0, 1)
            # No one knows any more what belongs together.
            await store.delete_session(first.id)
            assert await breaks(store) == (0, 0, 0, 0, 0)

    asyncio.run(main())


def test_a_break_counts_in_the_range_of_its_request(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            await store_at(store, session.id, NOON - timedelta(days=3), record(prefix=PREFIX))
            await store_at(store, session.id, NOON, record(prefix=PREFIX, model="mini", groups=["pdf"]))
            assert await breaks(store, NOON) == (1, 1, 0, 0, 0)
            rows = {row.key: row.totals.prefix_breaks for row in await store.usage_by(UsageGrouping.GROUP)}
            assert rows == {"pdf": 1, None: 0}

    asyncio.run(main())


def test_a_turn_begins_with_what_the_last_request_of_its_session_read(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            other = await store.create_session(agent="default")

            async def last() -> int | None:
                return (await store.load_turn(session.id, None)).last_input_tokens

            assert await last() is None
            await store.append(session.id, [], usage=record(5, prefix=PREFIX))
            await store.append(session.id, [], usage=record(7, prefix=PREFIX))
            await store.append(other.id, [], usage=record(9, prefix=PREFIX))
            # That for a summary.
            await store.record_usage(session.id, record(11))
            assert await last() == 7
            await store.append(session.id, [], usage=record(None, prefix=PREFIX))
            assert await last() is None

    asyncio.run(main())


def test_what_was_spent_is_added_up_from_a_moment_on(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            other = await store.create_session(agent="default")
            assert await store.spent_since(NOON) == Spending()
            tokens = TokenUsage(input_tokens=100, cached_input_tokens=90, output_tokens=10)
            await store_at(store, session.id, NOON - timedelta(seconds=1), record(1000))
            await store_at(store, session.id, NOON, UsageRecord("openai", "gpt", tokens, cost=0.25))
            await store_at(store, other.id, NOON, UsageRecord("openai", "gpt", tokens, cost=0.5))
            await store_at(store, other.id, NOON, record(None))
            assert await store.spent_since(NOON) == Spending(220, 0.75, 1)
            assert await store.spent_since(NOON + timedelta(hours=1)) == Spending()
            await store.delete_session(other.id)
            assert await store.spent_since(NOON) == Spending(220, 0.75, 1)

    asyncio.run(main())


@pytest.mark.only("sqlite")
@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (stored_usage._SPENT, "SEARCH usage USING COVERING INDEX usage_by_time (created_at>? AND created_at<?)"),
        (stored_usage._LAST_INPUT_TOKENS, "SEARCH usage USING INDEX ix_usage_session_id (session_id=?)"),
    ],
)
def test_what_a_turn_asks_for_is_found_by_an_index(tmp_path: Path, statement: str, expected: str) -> None:
    def plan(connection: Connection) -> list[str]:
        values = {"since": 1, "until": 1, "session": "x"}
        return [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", values)]

    async def main() -> list[str]:
        async with opened(tmp_path) as store:
            return await store._database.read(plan)

    assert asyncio.run(main()) == [expected]


@pytest.mark.parametrize("damaged", ["{", "[1]", "7", '{"a": 1}'])
def test_damaged_tool_groups_are_reported(tmp_path: Path, damaged: str) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            await store.append(session.id, [], usage=record())
            statement = "UPDATE usage SET tool_groups = :damaged"
            await store._database.write(lambda it: it.execute(statement, {"damaged": damaged}).close())
            with pytest.raises(StoreDamagedError, match="damaged usage"):
                await store.usage_by(UsageGrouping.GROUP)

    asyncio.run(main())


RECORDS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.builds(
            record,
            st.none() | st.integers(0, 1000),
            model=st.sampled_from(["a", "b"]),
            cost=st.none() | st.sampled_from([0.0, 0.25, 1.5]),
            groups=st.lists(st.sampled_from(["x", "y"]), unique=True),
            prefix=st.none() | st.builds(PrefixFingerprint, *(st.sampled_from(["1", "2"]),) * 3),
        ),
    ),
    max_size=12,
)


def expected_breaks(records: Iterable[tuple[int, UsageRecord]]) -> int:
    before: dict[int, UsageRecord] = {}
    count = 0
    for session, used in records:
        if used.prefix is not None:
            last = before.get(session, used)
            count += (last.model, last.prefix) != (used.model, used.prefix)
            before[session] = used
    return count


def test_every_request_is_counted_once_by_day_model_and_session(tmp_path: Path) -> None:
    async def check(store: Store, records: list[tuple[int, UsageRecord]]) -> None:
        change(tmp_path, "DELETE FROM usage")
        ids = [(await store.create_session(agent="default")).id for _ in range(3)]
        for session, used in records:
            await store.append(ids[session], [], usage=used)
        total = await store.usage_totals()
        assert total.prefix_breaks == expected_breaks(records)
        for grouping in (UsageGrouping.DAY, UsageGrouping.MODEL, UsageGrouping.SESSION):
            assert sum((row.totals for row in await store.usage_by(grouping)), UsageTotals()) == total

    with opened_for_examples(tmp_path) as run:

        @settings(max_examples=examples(20))
        @given(RECORDS)
        def holds(records: list[tuple[int, UsageRecord]]) -> None:
            run(check, records)

        holds()
