"""Read what packages put into an environment beside their own package, before they are installed."""

from __future__ import annotations

import csv
import io
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from importlib_metadata import IDistribution

_SCRIPT_GROUPS = ("console_scripts", "gui_scripts")
_MOST_NAMED = 5
_PACKAGE_FOLDERS = ("site-packages", "dist-packages")
# Of an environment, beside its programs and packages.
_DATA_FOLDERS = ("etc", "include", "lib", "lib64", "libexec", "share", "var")


@dataclass(frozen=True, slots=True)
class WheelContents:
    """Contents of a package beside its own import package.

    Attributes:
        name: Normalised name of the package.
        startup_files: ``.pth`` files, whose lines Python runs at each start.
        commands: Programs that it puts beside Python.
        other_packages: Top-level names that do not follow from the name of the package.
        other_files: Files beside all packages, such as settings.
        replaced: Files that are there already and belong to others.
    """

    name: str
    startup_files: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    other_packages: tuple[str, ...] = ()
    other_files: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()

    def lines(self) -> Iterator[str]:
        """Yield a line for each kind."""
        for label, names in (
            ("runs code at each start of Python", self.startup_files),
            ("brings the commands", self.commands),
            ("brings other packages", self.other_packages),
            ("puts files elsewhere", self.other_files),
            ("REPLACES files that are there", self.replaced),
        ):
            if names:
                more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
                yield f"{label}: {', '.join(names[:_MOST_NAMED])}{more}"


def read_contents(folder: Path) -> dict[str, WheelContents]:
    """Read the contents of unpacked packages, by their normalised names.

    Args:
        folder: Where they were unpacked to, as ``pip install --target`` does.
    """
    import importlib_metadata

    found = (_contents(each) for each in importlib_metadata.distributions(path=[str(folder)]))
    return {each.name: each for each in found}


def _contents(package: IDistribution) -> WheelContents:
    name = canonicalize_name(package.metadata["Name"])
    rows = [PurePosixPath(row[0]) for row in csv.reader(io.StringIO(package.read_text("RECORD") or "")) if row]
    paths = list(dict.fromkeys(filter(None, map(_place, rows))))
    commands = {each.name for each in package.entry_points if each.group in _SCRIPT_GROUPS}
    # Scripts that are no entry points lie in bin, beside or above the packages.
    commands |= {each.name for each in paths if each.parts[0] == "bin"}
    elsewhere = [each for each in paths if each.parts[0] in _DATA_FOLDERS]
    packages = [each for each in paths if each.parts[0] not in (*_DATA_FOLDERS, "bin")]
    tops = {
        each.parts[0].removesuffix(".py") for each in packages if not each.parts[0].endswith((".dist-info", ".pth"))
    }
    own = name.replace("-", "_")
    return WheelContents(
        name,
        tuple(sorted(str(each) for each in packages if len(each.parts) == 1 and each.suffix == ".pth")),
        tuple(sorted(commands)),
        tuple(sorted(tops - {own, "__pycache__"})),
        tuple(sorted(map(str, elsewhere))),
        tuple(sorted(map(str, _replaced(name, paths)))),
    )


def _place(row: PurePosixPath) -> PurePosixPath | None:
    """Return where a file goes: in the folder of packages, or else in the environment; ``None`` for nowhere.

    Data files of a wheel go into the environment, and so can reach the folder of packages.
    """
    parts = [each for each in row.parts if each not in ("..", "/")]
    for folder in _PACKAGE_FOLDERS:
        if folder in parts:
            parts = parts[parts.index(folder) + 1 :]
    return PurePosixPath(*parts) if parts else None


def _replaced(name: str, paths: list[PurePosixPath]) -> Iterator[PurePosixPath]:
    """Yield the files that are there already and do not belong to an older version of the package."""
    import importlib_metadata

    places = [Path(sysconfig.get_path("purelib")), Path(sys.prefix)]
    try:
        own = set(filter(None, map(_place, map(PurePosixPath, importlib_metadata.distribution(name).files or ()))))
    except importlib_metadata.PackageNotFoundError:
        own = set()
    for each in paths:
        is_metadata = each.parts[0].endswith(".dist-info")
        if not is_metadata and each not in own and any((place / each).is_file() for place in places):
            yield each
