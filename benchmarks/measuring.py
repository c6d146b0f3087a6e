"""What every contestant is measured with."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import resource
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

# Of one contestant at one size in one round: as often as fits, but at least as often as a median needs.
SECONDS = 1.0
FEWEST = 3
MOST = 40
# What takes that long is measured once.
SLOW_SECONDS = 4.0


async def median_seconds(once: Callable[[], Awaitable[object]]) -> float:
    """How long something takes, after it was done once."""
    started = time.perf_counter()
    await once()
    first = time.perf_counter() - started
    if first > SLOW_SECONDS:
        return first
    seconds: list[float] = []
    end = time.perf_counter() + SECONDS
    while len(seconds) < FEWEST or (len(seconds) < MOST and time.perf_counter() < end):
        started = time.perf_counter()
        await once()
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)


async def turns_per_second(one: Callable[[int], Awaitable[object]], size: int) -> float:
    """How many turns sessions get done side by side, after each had one.

    Args:
        one: runs the next turn of the session of that number.
        size: how many sessions.
    """
    await asyncio.gather(*map(one, range(size)))
    turns = 0
    started = time.perf_counter()
    while turns < FEWEST or time.perf_counter() - started < SECONDS:
        await asyncio.gather(*map(one, range(size)))
        turns += 1
    return size * turns / (time.perf_counter() - started)


async def kilobytes_of_each(one: Callable[[int], Awaitable[object]], size: int) -> float:
    """What each session adds to the memory of the process, when ten turns of it were run.

    Args:
        one: runs the next turn of the session of that number.
        size: how many sessions; half as many come before, for what is made but once.
    """

    async def run(numbers: Iterable[int]) -> None:
        for number in numbers:
            for _ in range(10):
                await one(number)

    await run(range(size, size + size // 2))
    gc.collect()
    before = resident_megabytes()
    await run(range(size))
    gc.collect()
    return max(0.0, resident_megabytes() - before) * 1e3 / size


def resident_megabytes() -> float:
    """The memory that this process has now."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    return peak_megabytes()


def peak_megabytes() -> float:
    """The most memory that this process ever had."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak / 1e3


def tokens_of(definitions: Iterable[object]) -> int:
    """How many tokens tool definitions cost: of each, its name, description and parameters as compact JSON."""
    import bpe_openai

    encoding = bpe_openai.get_encoding("o200k_base")
    texts = (json.dumps(each, ensure_ascii=False, separators=(",", ":")) for each in definitions)
    return sum(len(encoding.encode(text)) for text in texts)
