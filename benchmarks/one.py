"""One contestant does one kind of work, in a separate process; prints what was measured as JSON.

Run by ``python -m benchmarks``: ``python -m benchmarks.one CONTESTANT WORK SIZE``.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import sys

from benchmarks.measuring import peak_megabytes


def main(contestant: str, work: str, size: str) -> None:
    """Measure, and print ``{"values": ..., "peak_mb": ...}``.

    Args:
        contestant: the module in ``contestants``.
        work: its function.
        size: what it is given: a number, or a path.
    """
    module = importlib.import_module(f"benchmarks.contestants.{contestant.replace('-', '_')}")
    value = asyncio.run(getattr(module, work)(int(size) if size.isdecimal() else size))
    # A work of several rows gives the value of each by its title.
    values = value if isinstance(value, dict) else {"": value}
    print(json.dumps({"values": values, "peak_mb": round(peak_megabytes(), 1)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
