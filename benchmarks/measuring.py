"""The measurements of every contestant."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import statistics
import sys
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.work import PROCESSOR_TIME

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

STARTED = time.perf_counter()
"""When the process has begun with its work; no framework is imported before."""
# Of one contestant at one size in one round: as often as fits, but at least as often as a median needs.
SECONDS = 0.5
FEWEST = 3
MOST = 40
# What takes that long is measured once.
SLOW_SECONDS = 2.0


async def median_seconds(once: Callable[[], Awaitable[object]]) -> float:
    """Return the time of a call, after a first one that is not counted."""
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


async def turns_per_second(one: Callable[[int], Awaitable[object]], size: int) -> dict[str, float]:
    """Measure turns a second of parallel sessions, and the processor time of a turn, after a warm-up turn each.

    Args:
        one: runs the next turn of the session of that number; raises what made it fail.
        size: how many sessions.

    Raises:
        RuntimeError: a turn failed.
    """
    await _all_turns(one, size)
    turns = 0
    started, used = time.perf_counter(), time.process_time()
    while not turns or time.perf_counter() - started < SECONDS:
        await _all_turns(one, size)
        turns += size
    return {"": turns / (time.perf_counter() - started), PROCESSOR_TIME: (time.process_time() - used) / turns}


async def _all_turns(one: Callable[[int], Awaitable[object]], size: int) -> None:
    results = await asyncio.gather(*map(one, range(size)), return_exceptions=True)
    if errors := [result for result in results if isinstance(result, BaseException)]:
        raise RuntimeError(f"{len(errors)} of {size} turns failed: {errors[0]!r}") from errors[0]


def peak_megabytes() -> float:
    """The most memory that this process ever had."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak / 1e3


def tree_megabytes() -> float | None:
    """Return the memory of this process and all below it, shared pages by their share; ``None`` where it is unknown."""
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
    tree = {os.getpid()}
    while more := {child for child, parent in parents.items() if parent in tree} - tree:
        tree |= more
    kilobytes = 0
    for process in tree:
        with suppress(OSError):
            lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
            kilobytes += next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return kilobytes / 1e3 if kilobytes else None


def tokens_of(definitions: Iterable[object]) -> int:
    """Return the tokens of tool definitions: of each, the name, description and parameters as compact JSON."""
    return sum(tokens_of_text(json.dumps(each, ensure_ascii=False, separators=(",", ":"))) for each in definitions)


def tokens_of_text(text: str) -> int:
    """Count the tokens of a text."""
    return len(_encoding().encode(text))


@cache
def _encoding() -> Any:
    # Unlike tiktoken, it brings the vocabulary along and needs no network.
    import bpe_openai

    return bpe_openai.get_encoding("o200k_base")
