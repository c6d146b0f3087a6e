"""Messages to search in.

The words are made up, as common as the words of real texts (Zipf's law); some are planted, to be searched for.
"""

from __future__ import annotations

import itertools
import random
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SESSIONS = 20_000
YEARS = 3
FIRST_MOMENT = datetime.now(UTC) - timedelta(days=365 * YEARS)


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
