"""A million messages to search in: made once in a run, then read by all who search.

The words are made up, as common as the words of real texts (Zipf's law); some are planted, to be searched for.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import sqlite3
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

MESSAGES = 1_000_000
SESSIONS = 20_000
YEARS = 3
FIRST_MOMENT = datetime.now(UTC) - timedelta(days=365 * YEARS)
CORPUS = "oneclaw.db"
PLAIN_INDEX = "plain.db"

_DAY = (FIRST_MOMENT + timedelta(days=200)).date()
_WEEK = {"since": _DAY, "until": _DAY + timedelta(days=6)}
# What a search is called, its words, and the days that it is for.
SEARCHES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("a rare word", "rareword", {}),
    ("a word in half of all", "evenword", {}),
    ("two common words", "evenword thirdword", {}),
    ("two common words that never meet", "evenword oddword", {}),
    ("a rare word of Chinese", "稀有茶", {}),
    ("a common word, one week two years ago", "evenword", _WEEK),
)
# So many of them does SQLite's own index understand: Chinese has no spaces, and the index knows no days.
PLAIN_SEARCHES = 4


def made_up_word(number: int) -> str:
    """A word of a vocabulary without end."""
    syllables = ""
    number += 20
    while number:
        number, rest = divmod(number, 20)
        syllables += "bcdfghjklmnpqrstvwxz"[rest] + "aeiou"[(rest * 7 + number) % 5]
    return syllables


def texts(count: int) -> Iterator[str]:
    """Texts of 12 to 60 words; one in 20 is Chinese."""
    chosen = random.Random(1)  # noqa: S311  # the same texts each time
    vocabulary = [made_up_word(number) for number in range(100_000)]
    weights = list(itertools.accumulate(1 / (number + 3) for number in range(len(vocabulary))))
    sentences = [" ".join(chosen.choices(vocabulary, cum_weights=weights, k=12)) + "." for _ in range(40_000)]
    characters = [chr(0x4E00 + number) for number in range(3_000)]
    weights = list(itertools.accumulate(1 / (number + 3) for number in range(len(characters))))
    chinese = ["".join(chosen.choices(characters, cum_weights=weights, k=20)) + "。" for _ in range(20_000)]
    for number in range(count):
        words = chosen.choices(chinese, k=3) if number % 20 == 0 else chosen.choices(sentences, k=chosen.randint(1, 5))
        words.append("evenword" if number % 2 else "oddword")
        if number % 3 == 0:
            words.append("thirdword")
        if number % 50_000 == 7:
            words.append("rareword 稀有茶")
        yield " ".join(words)


def fill(path: Path, count: int) -> None:
    """Put messages into a database that the store has made."""
    step = timedelta(days=365 * YEARS) / count / timedelta(microseconds=1)
    first = int(FIRST_MOMENT.timestamp() * 1_000_000)
    per_session = max(1, count // SESSIONS)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.executemany(
            "INSERT INTO sessions (id, title, agent, created_at, updated_at) VALUES (?, ?, 'General Assistant', ?, ?)",
            (
                (f"{number:032x}", f"about {made_up_word(number)}", moment, moment)
                for number in range(count // per_session + 1)
                for moment in [first + int(number * per_session * step)]
            ),
        )
        connection.executemany(
            "INSERT INTO messages (session_id, type, content, created_at) VALUES (?, ?, ?, ?)",
            (
                (
                    f"{number // per_session:032x}",
                    "assistant" if number % 2 else "user",
                    text,
                    first + int(number * step),
                )
                for number, text in enumerate(texts(count))
            ),
        )
        connection.commit()


def fill_plain_index(path: Path, count: int) -> None:
    """Put the same texts into SQLite's full-text index, with nothing else."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE VIRTUAL TABLE texts USING fts5(text, content='')")
        connection.executemany("INSERT INTO texts (rowid, text) VALUES (?, ?)", enumerate(texts(count)))
        connection.commit()


async def make(folder: Path, count: int) -> None:
    """Make a database of messages that is indexed, and the plain index."""
    from oneclaw_core.search.query import parse_query
    from oneclaw_core.sessions import search
    from oneclaw_core.sessions.sqlite_backend import SqliteBackend
    from oneclaw_core.sessions.store import Store

    backend = SqliteBackend(folder / CORPUS)
    async with await Store.open(backend, lock_directory=folder):
        pass
    fill(folder / CORPUS, count)
    async with await Store.open(backend, lock_directory=folder) as store:
        await store.search(parse_query("word"), search.SearchRange(), wants_all=True)
    fill_plain_index(folder / PLAIN_INDEX, count)


if __name__ == "__main__":
    asyncio.run(make(Path(sys.argv[1]), int(sys.argv[2])))
