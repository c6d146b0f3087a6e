"""Skills, and problems found in them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from oneclaw_core import OneClawError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_skills.folder import SkillFolder

SKILL_FILE = "SKILL.md"
LOAD_SKILL = "load_skill"


class SkillError(OneClawError):
    """A skill's files cannot be read, or its ``SKILL.md`` does not follow the format."""


class SkillChangedError(SkillError):
    """A file of a project's skill is not as the user has seen it."""


class SkillSource(StrEnum):
    """Source of a skill, by precedence: of two skills with one name, the first source here wins."""

    PROJECT = "project"
    HOME = "home"
    PLUGIN = "plugin"


@dataclass(frozen=True, slots=True)
class SkillProblem:
    """Something about a skill that its author should fix.

    Attributes:
        message: what is wrong, on one line.
        remedy: what to do about it.
        line: of ``SKILL.md``, from 1; ``None`` if it is about the whole.
        is_error: whether the skill cannot be used because of it.
    """

    message: str
    remedy: str
    line: int | None = None
    is_error: bool = True

    def __str__(self) -> str:
        return self.message if self.line is None else f"line {self.line}: {self.message}"


@dataclass(frozen=True, slots=True)
class SkillDocument:
    """Content of a ``SKILL.md``.

    Attributes:
        name: by which the skill is loaded.
        description: what it does and when to use it, on one line.
        body: the instructions, in Markdown.
        license: as its author put it, ``None`` if nothing is said.
        compatibility: what it needs of its surroundings, the same.
        metadata: further properties.
        allowed_tools: the tools it uses, as written; tools of other programs may be among them.
        groups: the tool groups it needs, from the metadata ``oneclaw-groups``.
    """

    name: str
    description: str
    body: str
    license: str | None
    compatibility: str | None
    metadata: Mapping[str, str]
    allowed_tools: tuple[str, ...]
    groups: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)  # by identity: lists of skills are compared with each request
class Skill:
    """A skill that can be used.

    Attributes:
        document: what its ``SKILL.md`` said when it was last looked at.
        folder: where it lies.
        source: whose it is.
        plugin: the name of the plugin that brought it, ``None`` if none did.
        package: the distribution with its version, the same.
    """

    document: SkillDocument
    folder: SkillFolder
    source: SkillSource
    plugin: str | None = None
    package: str | None = None

    @property
    def name(self) -> str:
        """By which it is loaded."""
        return self.document.name

    @property
    def description(self) -> str:
        """Its purpose and when to use it, on one line."""
        return self.document.description

    @property
    def origin(self) -> str:
        """Its source, for people."""
        if self.source is SkillSource.PLUGIN:
            return f"plugin {self.plugin} ({self.package})" if self.package else f"plugin {self.plugin}"
        return f"the {self.source}"
