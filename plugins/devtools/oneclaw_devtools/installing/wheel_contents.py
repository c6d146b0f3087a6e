"""Read what packages put into an environment beside their own package, before they are installed."""

from __future__ import annotations

import csv
import io
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


@dataclass(frozen=True, slots=True)
class WheelContents:
    """Contents of a package beside its own import package.

    Attributes:
        name: Normalised name of the package.
        startup_files: ``.pth`` files, whose lines Python runs at each start.
        commands: Programs that it puts beside Python.
        other_packages: Top-level names that do not follow from the name of the package.
        replaced: Files that are there already and belong to others.
    """

    name: str
    startup_files: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    other_packages: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()

    def lines(self) -> Iterator[str]:
        """Yield a line for each kind."""
        for label, names in (
            ("runs code at each start of Python", self.startup_files),
            ("brings the commands", self.commands),
            ("brings other packages", self.other_packages),
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
    paths = [PurePosixPath(row[0]) for row in csv.reader(io.StringIO(package.read_text("RECORD") or "")) if row]
    inside = [each for each in paths if ".." not in each.parts and not each.is_absolute()]
    commands = {each.name for each in package.entry_points if each.group in _SCRIPT_GROUPS}
    # Scripts that are no entry points lie in bin, beside or above the packages.
    commands |= {each.name for each in paths if "bin" in each.parts[:-1][-1:] and len(each.parts) <= _MOST_NAMED}
    tops = {each.parts[0].removesuffix(".py") for each in inside if not each.parts[0].endswith((".dist-info", ".pth"))}
    own = name.replace("-", "_")
    return WheelContents(
        name,
        tuple(sorted(str(each) for each in inside if len(each.parts) == 1 and each.suffix == ".pth")),
        tuple(sorted(commands)),
        tuple(sorted(tops - {own, "bin", "__pycache__", "share"})),
        tuple(sorted(map(str, _replaced(name, inside)))),
    )


def _replaced(name: str, paths: list[PurePosixPath]) -> Iterator[PurePosixPath]:
    """Yield the files that are there already and do not belong to an older version of the package."""
    import importlib_metadata

    site = Path(sysconfig.get_path("purelib"))
    try:
        own = {str(each) for each in importlib_metadata.distribution(name).files or ()}
    except importlib_metadata.PackageNotFoundError:
        own = set()
    for each in paths:
        is_metadata = each.parts[0].endswith(".dist-info")
        if not is_metadata and str(each) not in own and (site / each).is_file():
            yield each
