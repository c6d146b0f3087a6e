"""What every contestant is measured with."""

from __future__ import annotations

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
SECONDS = 2.0
FEWEST = 3
MOST = 40


async def median_seconds(once: Callable[[], Awaitable[object]]) -> float:
    """How long something takes, after it was done once."""
    started = time.perf_counter()
    await once()
    if time.perf_counter() - started > 10 * SECONDS:
        return time.perf_counter() - started
    seconds: list[float] = []
    end = time.perf_counter() + SECONDS
    while len(seconds) < FEWEST or (len(seconds) < MOST and time.perf_counter() < end):
        started = time.perf_counter()
        await once()
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)


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
