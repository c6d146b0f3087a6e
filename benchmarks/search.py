"""The time of a search in a million messages, the size of the index and its cost for each message.

Run it with: uv run python -m benchmarks.search [MESSAGES]
"""

from __future__ import annotations

import asyncio
import sqlite3
import statistics
import sys
import tempfile
import time
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path

from oneclaw_memory.file import MemoryFile
from oneclaw_memory.search_history import passages_of

from benchmarks.corpus import FIRST_MOMENT, fill, made_up_word, texts
from oneclaw_core import Message, MessageType
from oneclaw_core.search.words import parse_query
from oneclaw_core.sessions import search
from oneclaw_core.sessions.conversations import Sessions
from oneclaw_core.sessions.search import SearchIndex
from oneclaw_core.sessions.sqlite_backend import SqliteBackend
from oneclaw_core.sessions.store import Store

REPEATS = 15
APPENDS = 3_000

ANY = parse_query("word")


async def time_searches(store: Store, folder: Path) -> None:
    """Print how long searches take, through all layers."""
    memory = MemoryFile(folder / "MEMORY.md")
    day = (FIRST_MOMENT + timedelta(days=200)).date()
    week = {"since": day, "until": day + timedelta(days=6)}
    common = made_up_word(0)
    queries: list[tuple[str, str, dict[str, date]]] = [
        ("a word in half of all messages", "evenword", {}),
        ("a common word", common, {}),
        ("a rare word", "rareword", {}),
        ("two common words", "evenword thirdword", {}),
        ("a rare and a common word", "rareword evenword", {}),
        ("two common words that never meet", "evenword oddword", {}),
        ("six words that never meet", "evenword oddword thirdword rareword xylophone harmonica", {}),
        ("a word that is nowhere", "xylophone", {}),
        ("Chinese: a common character", "一", {}),
        ("Chinese: two common characters", "一丁", {}),
        ("Chinese: a rare word", "稀有茶", {}),
        ("a common word, one week long ago", "evenword", week),
        ("two words that never meet, one week", "evenword oddword", week),
        ("a rare word, since then", "rareword", {"since": day}),
    ]
    for label, text, days in queries:
        seconds = []
        for _ in range(REPEATS):
            started = time.perf_counter()
            findings = await Sessions(store).search(text, passages=passages_of(memory), **days)  # type: ignore[arg-type]
            seconds.append(time.perf_counter() - started)
        print(
            f"{label:40} {statistics.median(seconds) * 1000:6.1f} ms, at most {max(seconds) * 1000:6.1f} ms, "
            f"{len(findings.hits)} hits"
        )


async def time_appends(store: Store) -> None:
    """Print what indexing adds to storing a message, one transaction each."""
    chosen = list(texts(2_000))
    session = await store.create_session(agent="General Assistant")
    batch, means = SearchIndex.MESSAGES_PER_BATCH, {}
    for is_indexing in (False, True):
        SearchIndex.MESSAGES_PER_BATCH = batch if is_indexing else 2**62
        seconds = []
        for number in range(APPENDS):
            message = Message(type=MessageType.USER, content=chosen[number % len(chosen)])
            started = time.perf_counter()
            await store.append(session.id, [message])
            seconds.append(time.perf_counter() - started)
        means[is_indexing] = statistics.mean(seconds)
        label = "storing and indexing" if is_indexing else "storing"
        print(
            f"{label:40} {means[is_indexing] * 1e6:6.0f} us on average, "
            f"median {statistics.median(seconds) * 1e6:.0f} us, at most {max(seconds) * 1000:.1f} ms"
        )
        await store.search(ANY, search.SearchRange(), wants_all=True)
    print(f"{'what indexing adds':40} {(means[True] - means[False]) * 1e6:6.0f} us a message")


async def measure(count: int, folder: Path) -> None:
    """Build a database, and print the measurements."""
    path = folder / "oneclaw.db"
    async with await Store.open(SqliteBackend(path), lock_directory=folder):
        pass
    started = time.perf_counter()
    fill(path, count)
    print(f"{count:,} messages written in {time.perf_counter() - started:.0f} s")
    async with await Store.open(SqliteBackend(path), lock_directory=folder) as store:
        started = time.perf_counter()
        await store.search(ANY, search.SearchRange(), wants_all=True)
        seconds = time.perf_counter() - started
        print(f"indexed in {seconds:.0f} s, {seconds / count * 1e6:.0f} us a message")
        with closing(sqlite3.connect(path)) as connection:
            (size,) = connection.execute("SELECT sum(length(content)) FROM messages").fetchone()
            (index,) = connection.execute("SELECT sum(length(block)) FROM message_search_data").fetchone()
        print(f"index of {index / 1e6:.0f} MB for {size / 1e6:.0f} M characters\n")
        await time_searches(store, folder)
        print()
        await time_appends(store)


def main() -> None:
    """Measure with as many messages as the command line says."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(count, Path(folder)))


if __name__ == "__main__":
    main()
