"""Folders with skills, and changes of their files.

This runs before each request and has to be fast: paths are texts, since ``pathlib`` is much slower.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from oneclaw_core.files import FileStamp
from oneclaw_core.project import SKILL_DIRECTORIES
from oneclaw_skills.folder import SkillFolder
from oneclaw_skills.skill import SKILL_FILE, SkillSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from importlib.resources.abc import Traversable

    from oneclaw_core import Home
    from oneclaw_core.plugins import Plugin, PluginSkill

MAX_FOLDERS = 500


class Place(NamedTuple):
    """A folder that may hold a skill.

    Attributes:
        file: the path of its ``SKILL.md``.
        root: the folder.
        source: whose it is.
        record: the plugin that brought it, ``None`` if none did.
        check: of the files that are read, see :class:`SkillFolder`.
    """

    file: str
    root: str | Path | Traversable
    source: SkillSource
    record: Plugin | None = None
    check: Callable[[str, bytes], None] | None = None

    @property
    def folder(self) -> SkillFolder:
        """The folder, to read from."""
        return SkillFolder(Path(self.root) if isinstance(self.root, str) else self.root, self.check)


def plugin_places(skills: Iterable[PluginSkill]) -> list[Place]:
    """The folders that plugins registered."""
    return [Place(f"{each.folder}/{SKILL_FILE}", each.folder, SkillSource.PLUGIN, each.record) for each in skills]


def home_skills(home: Home) -> Path:
    """Return the directory of the user's own skills, one folder each."""
    return home.path / "skills"


def skill_directories(home_directory: Path | None, project: Path | None) -> list[tuple[str, SkillSource]]:
    """The directories in which each folder may be a skill, first those that count most.

    Args:
        home_directory: of the user's own skills.
        project: the directory the program was started in.
    """
    own = None if home_directory is None else os.path.realpath(home_directory)
    directories = []
    for each in SKILL_DIRECTORIES if project is not None else ():
        directory = f"{project}/{each}"
        # Started in the directory that holds the home, the home's skills are no project's.
        if os.path.realpath(directory) != own:
            directories.append((directory, SkillSource.PROJECT))
    if home_directory is not None:
        directories.append((str(home_directory), SkillSource.HOME))
    return directories


def places_in(directory: str, source: SkillSource) -> Iterator[Place]:
    """The folders of a directory by their names, at most ``MAX_FOLDERS``; hidden ones are left out."""
    for name in _names_in(directory):
        yield Place(f"{directory}/{name}/{SKILL_FILE}", f"{directory}/{name}", source)


def stamp_of(place: Place) -> FileStamp | None:
    """Return the stamp of a ``SKILL.md``; ``None`` if the folder has none and needs none."""
    if not isinstance(place.root, str | Path):
        return FileStamp()
    try:
        found = os.stat(place.file)  # noqa: PTH116  # see above
    except (FileNotFoundError, NotADirectoryError):
        return None if place.record is None else FileStamp()
    except (OSError, ValueError):
        return FileStamp()
    return FileStamp.of(found)


def _names_in(directory: str) -> Sequence[str]:
    try:
        with os.scandir(directory) as entries:
            names = [entry.name for entry in entries if not entry.name.startswith(".")]
    except OSError:  # not there, or no directory
        return ()
    names.sort()
    return names[:MAX_FOLDERS]
