"""Check that a tag names what it tags: ``python release/check_tag.py v0.2.0``, with packages of Python alone.

The version is that of every distribution, and ``CHANGELOG.md`` begins with it and a date.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def find_faults(tag: str, root: Path = ROOT) -> list[str]:
    """Return what contradicts a tag, a line each."""
    version = tag.removeprefix("v")
    faults = [] if tag.startswith("v") else [f"the tag {tag} does not begin with v"]
    for path in [root / "pyproject.toml", *sorted(root.glob("plugins/*/pyproject.toml"))]:
        project = tomllib.loads(path.read_text("utf-8"))["project"]
        if project["version"] != version:
            faults.append(f"{project['name']} has the version {project['version']}")
    newest = re.search(r"^## (.+)$", (root / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    if newest is None or not re.fullmatch(rf"{re.escape(version)} - \d{{4}}-\d\d-\d\d", newest[1]):
        faults.append(f"CHANGELOG.md does not begin with {version} and a date")
    return faults


if __name__ == "__main__":
    sys.exit("\n".join(find_faults(sys.argv[1])) or 0)
