"""`oneclaw usage`."""

import asyncio
import io
import sys
from datetime import datetime, timedelta

import pytest
from databases import backend_of

from oneclaw_core.sessions.backend import to_stored
from oneclaw_core.sessions.store import Store
from oneclaw_core.sessions.usage import PrefixFingerprint, UsageRecord
from oneclaw_core.system.home import find_home
from oneclaw_core.types.messages import TokenUsage

TOKENS = TokenUsage(input_tokens=1_000, cached_input_tokens=750, output_tokens=50, reasoning_tokens=20)
PREFIX = PrefixFingerprint("tools", "system", "1")


async def use(store, session, used, moment=None):
    await store.append(session.id, [], usage=used)
    if moment is not None:
        statement = "UPDATE usage SET created_at = :moment WHERE id = (SELECT max(id) FROM usage)"
        await store._database.write(lambda it: it.execute(statement, {"moment": to_stored(moment)}).close())


@pytest.fixture
def today(home):
    """A home in which models were asked on two days."""
    noon = datetime.now().astimezone().replace(hour=12)

    async def fill():
        place = find_home()
        place.create()
        async with await Store.open(backend_of(place.database_url), lock_directory=place.locks) as store:
            work = await store.create_session("work", agent="default")
            other = await store.create_session(agent="default")
            await use(store, work, UsageRecord("openai", "gpt", TOKENS, 0.25, prefix=PREFIX), noon - timedelta(days=1))
            mini = UsageRecord("openai", "mini", TOKENS, 1.5, ("mail", "pdf"), prefix=PREFIX)
            await use(store, work, mini, noon)
            await use(store, other, UsageRecord("ollama", "llama", TokenUsage(input_tokens=7)), noon)

    asyncio.run(fill())
    return noon.date()


def cells(line):
    return [cell for cell in line.split("  ") if cell]


def table(text):
    return [[cell.strip() for cell in cells(line)] for line in text.splitlines()]


def test_usage_is_shown_by_day_with_a_total(ok, today):
    assert table(ok("usage")) == [
        ["day", "requests", "input", "cached", "output", "reasoning", "cost", "prefix breaks"],
        [str(today - timedelta(days=1)), "1", "1,000", "750 (75%)", "50", "20", "$0.2500", "0"],
        [str(today), "2", "1,007", "750 (75%)", "50", "20", "at least $1.50", "1 (model 1)"],
        ["total", "3", "2,007", "1,500 (75%)", "100", "40", "at least $1.75", "1 (model 1)"],
    ]


def test_usage_is_shown_by_model(ok, today):
    lines = table(ok("usage", "--by", "model"))
    assert lines[1:4] == [
        ["openai/mini", "1", "1,000", "750 (75%)", "50", "20", "$1.50", "1 (model 1)"],
        ["openai/gpt", "1", "1,000", "750 (75%)", "50", "20", "$0.2500", "0"],
        ["ollama/llama", "1", "7", "unknown", "unknown", "unknown", "unknown", "0"],
    ]


def test_usage_is_shown_by_session_and_by_tool_group(ok, oneclaw, today):
    assert [line[:2] for line in table(ok("usage", "--by", "session"))][1] == ["work", "2"]
    assert [line[:2] for line in table(ok("usage", "--by", "group"))] == [
        ["group", "requests"],
        ["mail", "1"],
        ["pdf", "1"],
        ["(no group loaded)", "2"],
        ["total", "3"],
    ]
    oneclaw("sessions", "delete", "work", "--yes")
    assert [line[:3] for line in table(ok("usage", "--by", "session"))][1] == ["(deleted sessions)", "2", "2,000"]


def test_usage_within_a_range_of_days(ok, today):
    def requests(*arguments):
        return ok("usage", "--json", *arguments)["total"]["requests"]

    yesterday, tomorrow = (str(today + timedelta(days=days)) for days in (-1, 1))
    assert requests("--since", str(today)) == 2
    assert requests("--until", yesterday) == 1
    assert requests("--since", yesterday, "--until", str(today)) == 3
    assert requests("--since", tomorrow) == 0


def test_usage_as_json(ok, today):
    document = ok("usage", "--by", "session", "--since", str(today), "--json")
    assert (document["by"], document["since"], document["until"]) == ("session", str(today), None)
    assert document["rows"][0] | {"session": "ID"} == {
        "session": "ID",
        "name": "work",
        "requests": 1,
        "at_least_requests": 0,
        "input_tokens": 1000,
        "cached_input_tokens": 750,
        "cached_share": 0.75,
        "cache_write_tokens": None,
        "output_tokens": 50,
        "reasoning_tokens": 20,
        "cost": 1.5,
        "priced_requests": 1,
        "prefix_breaks": 1,
        "changes": {"model": 1, "tools": 0, "system_prompt": 0, "earlier_messages": 0},
    }
    assert document["rows"][1]["cost"] is None
    assert document["total"]["cost"] == 1.5


@pytest.mark.long
def test_sums_with_an_answer_that_broke_off_are_marked(ok, today):
    async def break_off():
        place = find_home()
        async with await Store.open(backend_of(place.database_url), lock_directory=place.locks) as store:
            session = await store.find_session("work")
            counted = TokenUsage(input_tokens=500, output_tokens=2, is_at_least=True)
            await store.record_usage(session.id, UsageRecord("openai", "gpt", counted, 0.5))

    asyncio.run(break_off())
    lines = {line[0]: line[1:] for line in table(ok("usage", "--by", "model"))}
    assert lines["openai/gpt"][:3] == ["2", "at least 1,500", "750 (75%)"]
    assert lines["openai/gpt"][3:6] == ["at least 52", "at least 20", "at least $0.7500"]
    assert lines["openai/mini"][:2] == ["1", "1,000"]
    assert lines["total"][1] == "at least 2,507"
    rows = {row["model"]: row for row in ok("usage", "--by", "model", "--json")["rows"]}
    assert [rows[name]["at_least_requests"] for name in ("openai/gpt", "openai/mini")] == [1, 0]


def test_nothing_used_is_an_empty_table(ok):
    assert len(ok("usage").splitlines()) == 1
    assert ok("usage", "--json")["rows"] == []


def test_a_turn_with_the_offline_model_is_counted(oneclaw, ok):
    assert oneclaw("run", "hello").status == 0
    [row] = ok("usage", "--by", "model", "--json")["rows"]
    assert (row["model"], row["requests"]) == ("offline/rules", 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--since", "yesterday"], "'yesterday' is not a day"),
        (["--until", "2026-02-30"], "not a day: write it as in 2026-01-31"),
        (["--since", "2026-01-02", "--until", "2026-01-01"], "exchange them"),
        (["--until", "9999-12-31"], "'9999-12-31' is not a day"),
        (["--since", "0001-01-01"], "'0001-01-01' is not a day"),
        (["--by", "week"], "'week' is not one of"),
    ],
)
def test_wrong_ranges_are_refused(oneclaw, arguments, message):
    outcome = oneclaw("usage", *arguments)
    assert outcome.status == 2
    assert message in outcome.stderr


def test_usage_is_drawn_on_a_terminal(oneclaw, today, monkeypatch):
    class Terminal(io.StringIO):
        encoding = "utf-8"

        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("COLUMNS", "140")
    assert oneclaw("usage").status == 0
    assert "─" in terminal.getvalue()
    assert "at least $1.75" in terminal.getvalue()
