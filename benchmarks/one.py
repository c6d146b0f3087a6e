"""One contestant does one kind of work, in a process of its own; prints what was measured as JSON.

Run by ``python -m benchmarks``: ``python -m benchmarks.one CONTESTANT WORK SIZE``.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import sys

from benchmarks.measuring import peak_megabytes


def main(contestant: str, work: str, size: str) -> None:
    """Measure, and print ``{"value": ..., "peak_mb": ...}``, or ``{}`` where the framework does not do such work."""
    module = importlib.import_module(f"benchmarks.contestants.{contestant.replace('-', '_')}")
    measure = getattr(module, work, None)
    if measure is None:
        print("{}")
        return
    value = asyncio.run(measure(int(size)))
    print(json.dumps({"value": value, "peak_mb": round(peak_megabytes(), 1)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
