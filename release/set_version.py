"""Set the version of all distributions, and whatever names it: what they require of each other, examples, pages.

Usage: ``uv run python release/set_version.py 0.2.0``. Two things follow from it and are not done here:
``uv run python release/shipped_parts.py`` writes what brings what, ``python docs/record_chat.py`` the pictures.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from packaging.version import Version

ROOT = Path(__file__).parents[1]
VERSION_FILE = ROOT / "oneclaw_core" / "system" / "version.py"
_PROJECTS = ("pyproject.toml", "plugins/*/pyproject.toml")
# What names versions of OneClaw to readers and to people who copy it.
_TEXTS = (
    "README.md",
    "docs/*.md",
    "plugins/*/README.md",
    "plugins/*/*oneclaw*/**/*.md",
    "plugins/*/*oneclaw*/**/*.txt",
    "examples/plugins/*/pyproject.toml",
    # Tests with packages that are made for the OneClaw of today.
    "tests/support/broken_plugins/kinds.py",
    "plugins/devtools/tests/test_cli_plugin_check.py",
    "plugins/devtools/tests/test_conformance_projects.py",
)
_NOT_TODAYS = {"docs/benchmarks.md"}  # says with which versions it was measured


def current_version() -> str:
    """Return the version that the core has."""
    found = re.search(r'^__version__ = "([^"]+)"', VERSION_FILE.read_text("utf-8"), re.MULTILINE)
    assert found, f"{VERSION_FILE} has no version"
    return found[1]


def range_of(version: str) -> str:
    """Return the versions that keep the promises of a version: before 1.0 those of its minor version."""
    parsed = Version(version)
    lower = f"{parsed.major}.{parsed.minor}"
    return f">={lower},<{parsed.major}.{parsed.minor + 1}" if parsed.major == 0 else f">={lower},<{parsed.major + 1}"


def replace_version(text: str, old: str, new: str, distributions: set[str], *, is_own_project: bool = False) -> str:
    """Put a new version in the place of an old one, where it is OneClaw's and not another package's.

    Args:
        text: of a file.
        old: such as ``0.1.0``.
        new: such as ``0.2.0``.
        distributions: the names of OneClaw's distributions, and ``oneclaw`` for the program.
        is_own_project: True for the ``pyproject.toml`` of one of them, whose version is OneClaw's.
    """
    names = "|".join(sorted((re.escape(each) for each in distributions), key=len, reverse=True))
    modules = "|".join(sorted({each.replace("-", "_") for each in distributions}, key=len, reverse=True))
    # Any range, as a branch may have brought one of an older version.
    text = re.sub(rf"\b({names})((?:\[[\w,]+\])?)>=[\d.]+,<[\d.]+", rf"\1\2{range_of(new)}", text)
    # In sentences and listings, and in the names of files.
    text = re.sub(rf"\b({names})( +){re.escape(old)}(?![\w.])", rf"\g<1>\g<2>{new}", text)
    text = re.sub(rf"\b({modules})-{re.escape(old)}(?=-py3|\.tar)", rf"\g<1>-{new}", text)
    if is_own_project:
        text = re.sub(rf'^version = "{re.escape(old)}"$', f'version = "{new}"', text, count=1, flags=re.MULTILINE)
    return text


def files_of(patterns: tuple[str, ...]) -> list[Path]:
    """Find the files of some patterns, but for those that name an older version on purpose."""
    found = {path for pattern in patterns for path in ROOT.glob(pattern) if path.is_file()}
    return sorted(path for path in found if path.relative_to(ROOT).as_posix() not in _NOT_TODAYS)


def set_version(new: str) -> list[Path]:
    """Set the version, and return the files that have changed."""
    old = current_version()
    projects = files_of(_PROJECTS)
    distributions = {"oneclaw"} | {
        name[1] for path in projects if (name := re.search(r'^name = "([^"]+)"', path.read_text("utf-8"), re.MULTILINE))
    }
    changed = []
    for path in [*projects, *files_of(_TEXTS)]:
        before = path.read_text("utf-8")
        # A plugin that came from a branch may still have another version than the core.
        found = re.search(r'^version = "([^"]+)"$', before, re.MULTILINE) if path in projects else None
        own = found[1] if found else old
        after = replace_version(before, own, new, distributions, is_own_project=path in projects)
        if after != before:
            path.write_text(after, "utf-8")
            changed.append(path)
    text = VERSION_FILE.read_text("utf-8")
    if old != new:
        VERSION_FILE.write_text(text.replace(f'"{old}"', f'"{new}"'), "utf-8")
        changed.append(VERSION_FILE)
    return changed


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: set_version.py VERSION")
    for each in set_version(str(Version(sys.argv[1]))):
        print(each.relative_to(ROOT))
