"""Copies of installed packages, to be put back where a newer version does not work."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_devtools.installing.package_manager import PackageManager


@dataclass(slots=True)
class PackageBackup:
    """The files of installed packages.

    Attributes:
        folder: where the copies lie.
        versions: the versions of the packages, by their normalised names.
    """

    folder: Path
    versions: dict[str, str] = field(default_factory=dict)
    _files: list[tuple[Path, Path]] = field(default_factory=list)

    def take(self, names: Iterable[str]) -> None:
        """Copy the files of packages; those that are not installed have none.

        Args:
            names: normalised.

        Raises:
            OSError: a file cannot be copied.
        """
        import importlib_metadata

        self.folder.mkdir(exist_ok=True)
        for name in names:
            try:
                package = importlib_metadata.distribution(name)
            except importlib_metadata.PackageNotFoundError:
                continue
            self.versions[name] = str(package.version)
            for file in package.files or ():
                place = Path(str(package.locate_file(file)))
                if place.is_file():
                    copy = self.folder / str(len(self._files))
                    shutil.copy2(place, copy)
                    self._files.append((place, copy))

    def restore(self, manager: PackageManager) -> None:
        """Uninstall what is installed of the packages now, and put the copies back.

        Raises:
            OneClawError: the installer failed.
            OSError: a file cannot be written.
        """
        manager.uninstall(list(self.versions))
        for place, copy in self._files:
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(copy, place)
