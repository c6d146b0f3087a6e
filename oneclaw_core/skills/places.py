"""Where skills lie, and whether their files have changed: looked at before each request, so cheap above all.

Paths are texts here, since ``pathlib`` takes ten times as long.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from oneclaw_core.skills.folder import SkillFolder
from oneclaw_core.skills.skill import SKILL_FILE, SkillSource

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from importlib.resources.abc import Traversable
    from typing import Any

    from oneclaw_core.plugins.registration.record import PluginRecord, PluginSkill

PROJECT_DIRECTORIES = (".oneclaw/skills", ".agents/skills")
"""Where the skills of a project lie in it: OneClaw's own, and those for all programs with skills."""
TRUST_SETTING = "trusted_projects"
"""Not among the settings that ``oneclaw config`` and tools can set: no model is to trust for the user."""
MAX_FOLDERS = 500
# File systems count time in steps: a file that is changed again within one looks unchanged.
_SETTLED_NS = 100_000_000


class Place(NamedTuple):
    """A folder that may hold a skill.

    Attributes:
        file: the path of its ``SKILL.md``.
        root: the folder.
        source: whose it is.
        record: the plugin that brought it, ``None`` if none did.
    """

    file: str
    root: str | Path | Traversable
    source: SkillSource
    record: PluginRecord | None = None

    @property
    def folder(self) -> SkillFolder:
        """The folder, to read from."""
        return SkillFolder(Path(self.root) if isinstance(self.root, str) else self.root)


class Stamp(NamedTuple):
    """What changes when a file does; all zero for one that cannot be looked at, or lies in a package."""

    modified_ns: int = 0
    changed_ns: int = 0
    size_bytes: int = 0
    number: int = 0

    @property
    def is_settled(self) -> bool:
        """Whether a change from now on would show."""
        return time.time_ns() - max(self.modified_ns, self.changed_ns) > _SETTLED_NS


def plugin_places(skills: Iterable[PluginSkill]) -> list[Place]:
    """The folders that plugins registered."""
    return [Place(f"{each.folder}/{SKILL_FILE}", each.folder, SkillSource.PLUGIN, each.record) for each in skills]


def skill_directories(home_directory: Path | None, project: Path | None) -> list[tuple[str, SkillSource]]:
    """The directories in which each folder may be a skill, first those that count most.

    Args:
        home_directory: of the user's own skills.
        project: the directory the program was started in.
    """
    own = None if home_directory is None else os.path.realpath(home_directory)
    directories = []
    for each in PROJECT_DIRECTORIES if project is not None else ():
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


def stamp_of(place: Place) -> Stamp | None:
    """What ``SKILL.md`` looks like from outside; ``None`` if the folder has none and need not have one."""
    if not isinstance(place.root, str | Path):
        return Stamp()
    try:
        found = os.stat(place.file)  # noqa: PTH116  # see above
    except (FileNotFoundError, NotADirectoryError):
        return None if place.record is None else Stamp()
    except (OSError, ValueError):
        return Stamp()
    return Stamp(found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)


def trusted_projects(stored: Mapping[str, Any]) -> list[str]:
    """Read which projects' skills are used; a value that does not fit trusts none.

    Args:
        stored: what is in the store, by key.
    """
    value = stored.get(TRUST_SETTING)
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def is_trusted(project: Path | None, stored: Mapping[str, Any]) -> bool:
    """Whether a directory is among the trusted projects.

    Args:
        project: ``None`` for no project.
        stored: what is in the store, by key.
    """
    trusted = trusted_projects(stored)
    # Most users trust none; each turn asks.
    return bool(trusted) and project is not None and os.path.realpath(project) in trusted


def _names_in(directory: str) -> Sequence[str]:
    try:
        with os.scandir(directory) as entries:
            names = [entry.name for entry in entries if not entry.name.startswith(".")]
    except OSError:  # not there, or no directory
        return ()
    names.sort()
    return names[:MAX_FOLDERS]
