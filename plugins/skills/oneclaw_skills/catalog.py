"""The skills of the project, the home and the plugins, as their files are now."""

from __future__ import annotations

import logging
import math
import os
import threading
import time
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from oneclaw_core import NotFoundError, PromptSection
from oneclaw_skills.format import parse_document
from oneclaw_skills.listing import MAX_SECTION_CHARACTERS, skills_section
from oneclaw_skills.places import home_skills, places_in, plugin_places, skill_directories, stamp_of
from oneclaw_skills.skill import (
    LOAD_SKILL,
    SKILL_FILE,
    Skill,
    SkillChangedError,
    SkillDocument,
    SkillError,
    SkillProblem,
    SkillSource,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from oneclaw_core import PluginContext
    from oneclaw_core.files import FileStamp
    from oneclaw_core.plugins import Plugin, PluginSkill
    from oneclaw_skills.folder import SkillFolder
    from oneclaw_skills.places import Place

TRUST_AGAIN = "read what is new, then: oneclaw trust"
_NAMES_SHOWN = 50
# How often the files of plugins' skills are looked at, at most.
_PLUGIN_SECONDS = 1.0

_log = logging.getLogger("oneclaw.skills")


class SkillStatus(StrEnum):
    """Status of a folder with a ``SKILL.md``."""

    OK = "ok"
    SHADOWED = "shadowed"
    UNTRUSTED = "untrusted"
    CHANGED = "changed"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class SkillEntry:
    """A folder with a ``SKILL.md``, and what became of it.

    Attributes:
        folder: where it lies.
        source: whose it is.
        status: ``shadowed`` if another skill of the same name counts, ``untrusted`` if it is of a project that the
            user does not trust, ``changed`` if it is not as the user has seen it.
        skill: ``None`` if it is broken.
        problems: what its author should fix.
        record: the plugin that brought it, ``None`` if none did.
    """

    folder: SkillFolder
    source: SkillSource
    status: SkillStatus
    skill: Skill | None
    problems: tuple[SkillProblem, ...]
    record: Plugin | None = None

    @property
    def name(self) -> str:
        """The skill's name; of a broken one, its folder's."""
        return self.skill.name if self.skill is not None else self.folder.name


@dataclass(frozen=True, slots=True)
class _Reading:
    stamp: FileStamp
    is_settled: bool
    document: SkillDocument | None
    problems: tuple[SkillProblem, ...]


class SkillCatalog:
    """The skills of an open home. Each look is at the files; what has not changed is not read again.

    Args:
        plugin_skills: what plugins registered.
        home_directory: where the user's own skills lie, one folder each.
        project: the directory the program was started in, ``None`` for no project.
        is_project_trusted: whether its skills are used; can be changed at any time.
        may_follow: returns True for a file of a trusted project, by its path and content, that is as the user has seen
            it; ``None`` for all files.
    """

    def __init__(
        self,
        plugin_skills: Iterable[PluginSkill] = (),
        home_directory: Path | None = None,
        project: Path | None = None,
        *,
        is_project_trusted: bool = False,
        may_follow: Callable[[str, bytes], bool] | None = None,
    ) -> None:
        self.project = project
        self.is_project_trusted = is_project_trusted
        self.approvals: object = None
        self._may_follow = may_follow
        self._known_approvals: object = None
        self._directories = skill_directories(home_directory, project)
        self._plugin_places = plugin_places(plugin_skills)
        self._of_plugins: list[tuple[Place, FileStamp]] = []
        self._next_look_at_plugins = -math.inf
        self._readings: dict[str, _Reading] = {}
        self._seen: object = None
        self._entries: tuple[SkillEntry, ...] = ()
        self._available: tuple[Skill, ...] = ()
        # Tools run in threads.
        self._lock = threading.Lock()

    def entries(self) -> tuple[SkillEntry, ...]:
        """All skills that were found, broken ones too: a project's first, then the home's, then those of plugins."""
        with self._lock:
            self._look()
            return self._entries

    def available(self) -> tuple[Skill, ...]:
        """The skills that can be used, by name; the same object as long as nothing has changed."""
        with self._lock:
            self._look()
            return self._available

    def find(self, name: str) -> Skill | None:
        """Find a skill that can be used; ``None`` if there is none of that name."""
        return next((skill for skill in self.available() if skill.name == name), None)

    def load(self, name: str) -> Skill:
        """Read a skill anew.

        Args:
            name: of the skill.

        Returns:
            The skill with the instructions that stand in its file now.

        Raises:
            NotFoundError: there is none of that name; the message names those there are.
            SkillError: it cannot be read any more.
        """
        skill = self.find(name)
        if skill is None:
            raise NotFoundError(self.why_not(name))
        document, problems = _read(skill.folder)
        if document is None:
            raise SkillError(f"the skill {name!r} cannot be used: {_first_error(problems)}")
        return replace(skill, document=document)

    def why_not(self, name: str) -> str:
        """Say why there is no usable skill of a name."""
        entry = next((entry for entry in self.entries() if entry.name == name), None)
        if entry is not None and entry.status is SkillStatus.UNTRUSTED:
            return (
                f"the skill {name!r} belongs to the project {self.project}, which is not trusted; "
                "the user can trust it with: oneclaw skills trust"
            )
        if entry is not None:
            return f"the skill {name!r} cannot be used: {_first_error(entry.problems)}; see: oneclaw skills check"
        names = [skill.name for skill in self.available()]
        shown = ", ".join(names[:_NAMES_SHOWN]) or "none"
        more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
        return f"there is no skill {name[:100]!r}; available skills: {shown}{more}"

    def _look(self) -> None:
        if (self.is_project_trusted, self.approvals) != self._known_approvals:
            self._known_approvals = self.is_project_trusted, self.approvals
            self._readings, self._seen = {}, None
        places = [self._checked(place) for directory in self._directories for place in places_in(*directory)]
        stamped = [(place, stamp) for place in places if (stamp := stamp_of(place))] + self._stamped_of_plugins()
        seen = (self.is_project_trusted, [(place.file, stamp) for place, stamp in stamped])
        is_unmoved = seen == self._seen
        if is_unmoved and all(reading.is_settled for reading in self._readings.values()):
            return
        readings = {place.file: self._reading(place, stamp) for place, stamp in stamped}
        is_same = is_unmoved and all(
            (new.document, new.problems) == (self._readings[file].document, self._readings[file].problems)
            for file, new in readings.items()
        )
        self._readings, self._seen = readings, seen
        if not is_same:
            judged = ((place, readings[place.file]) for place, _ in stamped)
            self._entries = tuple(_judged(judged, is_project_trusted=self.is_project_trusted))
            usable = [entry.skill for entry in self._entries if entry.skill and entry.status is SkillStatus.OK]
            self._available = tuple(sorted(usable, key=lambda skill: skill.name))

    def _checked(self, place: Place) -> Place:
        """Have the files of a trusted project's skill compared with what the user has seen."""
        may_follow, project = self._may_follow, self.project
        if place.source is not SkillSource.PROJECT or not self.is_project_trusted or may_follow is None:
            return place
        folder = os.path.relpath(str(place.root), project)

        def check(path: str, content: bytes) -> None:
            if not may_follow(f"{folder}/{path}", content):
                raise SkillChangedError(f"{path} is not as the user has seen it")

        return place._replace(check=check)

    def _stamped_of_plugins(self) -> list[tuple[Place, FileStamp]]:
        """Look at the skills of plugins, which change with an installation or in the hands of an author."""
        if time.monotonic() >= self._next_look_at_plugins:
            self._of_plugins = [(place, stamp) for place in self._plugin_places if (stamp := stamp_of(place))]
            self._next_look_at_plugins = time.monotonic() + _PLUGIN_SECONDS
        return self._of_plugins

    def _reading(self, place: Place, stamp: FileStamp) -> _Reading:
        known = self._readings.get(place.file)
        if known is not None and known.stamp == stamp and known.is_settled:
            return known
        is_settled = stamp.is_settled
        document, problems = _read(place.folder)
        if known is None or known.problems != problems:
            self._report(place, problems)
        return _Reading(stamp, is_settled, document, problems)

    def _report(self, place: Place, problems: Iterable[SkillProblem]) -> None:
        for problem in problems:
            if place.record is not None:
                place.record.report(
                    "register_skills", f"{place.file}: {problem}", problem.remedy, is_error=problem.is_error
                )
            elif problem.is_error and (place.source is SkillSource.HOME or self.is_project_trusted):
                _log.warning("the skill in %s cannot be used: %s; %s", place.root, problem, problem.remedy)


def read_entry(folder: SkillFolder, source: SkillSource = SkillSource.HOME) -> SkillEntry:
    """Look at one folder by itself.

    Args:
        folder: with or without a ``SKILL.md``.
        source: whose it would be.
    """
    document, problems = _read(folder)
    skill = None if document is None else Skill(document, folder, source)
    return SkillEntry(folder, source, SkillStatus.BROKEN if skill is None else SkillStatus.OK, skill, problems)


def _read(folder: SkillFolder) -> tuple[SkillDocument | None, tuple[SkillProblem, ...]]:
    try:
        return parse_document(folder.read_document(), folder.name)
    except SkillChangedError as error:
        return None, (SkillProblem(str(error), TRUST_AGAIN),)
    except SkillError as error:
        return None, (SkillProblem(str(error), f"fix {SKILL_FILE}, or remove the folder"),)


def _judged(found: Iterable[tuple[Place, _Reading]], *, is_project_trusted: bool) -> Iterator[SkillEntry]:
    taken: set[str] = set()
    for place, reading in found:
        folder = place.folder
        if reading.document is None:
            is_changed = any(each.remedy == TRUST_AGAIN for each in reading.problems)
            status = SkillStatus.CHANGED if is_changed else SkillStatus.BROKEN
            yield SkillEntry(folder, place.source, status, None, reading.problems, place.record)
            continue
        plugin, package = (place.record.name, place.record.package) if place.record else (None, None)
        skill = Skill(reading.document, folder, place.source, plugin, package)
        if place.source is SkillSource.PROJECT and not is_project_trusted:
            status = SkillStatus.UNTRUSTED
        else:
            status = SkillStatus.SHADOWED if skill.name in taken else SkillStatus.OK
            taken.add(skill.name)
        yield SkillEntry(folder, place.source, status, skill, reading.problems, place.record)


def _first_error(problems: Sequence[SkillProblem]) -> str:
    return next((str(problem) for problem in problems if problem.is_error), "it cannot be read")


def skills_of(context: PluginContext) -> SkillCatalog:
    """Return the skills of the home that a context belongs to, as the user trusts its project now."""
    catalog = context.once(_catalog)
    project = context.services.project
    catalog.is_project_trusted, catalog.approvals = project.is_trusted, project.approvals
    return catalog


def prompt_section(context: PluginContext) -> list[PromptSection]:
    """Return the section of the system prompt that lists the skills."""
    text = skills_section(skills_of(context).available())
    return [PromptSection("skills", text, MAX_SECTION_CHARACTERS, LOAD_SKILL)]


def _catalog(context: PluginContext) -> SkillCatalog:
    services = context.services
    project = services.project
    return SkillCatalog(services.skills, home_skills(services.home), project.directory, may_follow=project.may_follow)
