"""Build the wheels of the core and of every plugin in one process: a process for each takes ten times as long.

Usage: ``python .ci/build_wheels.py FOLDER``. The environment that runs this holds hatchling.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from hatchling.build import build_wheel

ROOT = Path(__file__).parents[1]


def main(folder: Path) -> None:
    """Build the wheels into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for project in [ROOT / "pyproject.toml", *sorted(ROOT.glob("plugins/*/pyproject.toml"))]:
        os.chdir(project.parent)
        build_wheel(str(folder))


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
