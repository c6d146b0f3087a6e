"""Run pytest, and what has failed once more, alone and with nothing beside it.

Usage: ``python .ci/retrying.py ARGUMENTS``, with pytest's arguments. Some tests watch real processes and clocks; on a
machine that is busy with all the others, such a one can fail for want of time. What fails again is a fault, and so is
it if more fail than can be chance.

Assertions are taken apart only for what is run once more: to prepare all of them takes as long as hundreds of tests.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

MOST_RETRIED = 10


def main(arguments: list[str]) -> int:
    """Run pytest; give its exit status."""
    with TemporaryDirectory() as cache:
        pytest = [sys.executable, "-m", "pytest", "-o", f"cache_dir={cache}", *arguments]
        status = subprocess.call([*pytest, "--assert=plain"])  # noqa: S603  # the caller can run any command
        if status != 1:  # of failed tests, not of a run that was broken off
            return status
        failed = json.loads(Path(cache, "v", "cache", "lastfailed").read_text(encoding="utf-8"))
        if len(failed) > MOST_RETRIED:
            return status
        print(f"once more: {', '.join(failed)}", flush=True)
        return subprocess.call([*pytest, "--last-failed", "-n", "0"])  # noqa: S603  # the same


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
