"""The names of a new plugin, validated."""

from __future__ import annotations

import keyword
import re
import sys
from dataclasses import dataclass, field
from importlib.util import find_spec

from oneclaw_core import DuplicateError, UsageError

# Names are parts of other names, such as those of tools, which end at 63 characters.
MAX_NAME_CHARACTERS = 40
_PREFIX = "oneclaw-"
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
# Names that tests, tools and people expect to mean something else.
_RESERVED = frozenset({"oneclaw", "oneclaw-core", "builtin", "scripted-model", "user", "test", "tests", "docs"})


@dataclass(frozen=True, slots=True)
class PluginNames:
    """The names of a plugin.

    Attributes:
        distribution: what is installed, such as ``acme-tables``; the folder has the same name.
    """

    distribution: str

    @property
    def package(self) -> str:
        """Name of the import package."""
        return self.distribution.replace("-", "_")

    @property
    def plugin(self) -> str:
        """The entry point, the tool group, and what the names of tools begin with."""
        return self.distribution.removeprefix(_PREFIX).replace("-", "_")

    @property
    def title(self) -> str:
        """The group's display name."""
        return " ".join(word.capitalize() for word in self.plugin.split("_"))

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools to begin with."""
        return (f"{self.plugin}_count_words", f"{self.plugin}_page_title")

    @property
    def skill(self) -> str:
        """The skill to begin with."""
        return f"{self.plugin.replace('_', '-')}-word-report"


@dataclass(frozen=True, slots=True)
class TakenNames:
    """Names that are installed already.

    Attributes:
        plugins: their names.
        tools: their names.
        groups: names of tool groups.
        skills: their names.
    """

    plugins: frozenset[str] = field(default_factory=frozenset)
    tools: frozenset[str] = field(default_factory=frozenset)
    groups: frozenset[str] = field(default_factory=frozenset)
    skills: frozenset[str] = field(default_factory=frozenset)


def plugin_names(name: str) -> PluginNames:
    """Make the names of a plugin from the one that its author chose.

    Args:
        name: of the distribution; ``Acme_Tables`` is the same as ``acme-tables`` (PEP 503).

    Raises:
        UsageError: a package cannot be called so; the message says how it can.
    """
    distribution = re.sub(r"[-_.]+", "-", name.strip()).lower()
    names = PluginNames(distribution)
    if not _NAME.fullmatch(distribution) or len(distribution) > MAX_NAME_CHARACTERS:
        raise UsageError(
            f"{name[:100]!r} is not a valid name for a plugin's package: use 1 to {MAX_NAME_CHARACTERS} letters, "
            "digits and single hyphens, such as acme-tables"
        )
    for part in (names.package, names.plugin):
        if not part.isidentifier():
            raise UsageError(f"{name!r} cannot be imported as {part!r}: begin it with a letter, such as acme-{part}")
        if keyword.iskeyword(part) or keyword.issoftkeyword(part):
            raise UsageError(f"{part!r} is a word of the Python language: choose another name, such as acme-{part}")
    if names.package in sys.stdlib_module_names:
        raise UsageError(
            f"{names.package!r} is a module of Python's own, which the package would hide: choose another name, such "
            f"as acme-{distribution}"
        )
    if distribution in _RESERVED or names.plugin.replace("_", "-") in _RESERVED:
        raise UsageError(f"{distribution!r} has another meaning here: choose another name, such as acme-tables")
    return names


def check_not_taken(names: PluginNames, taken: TakenNames) -> None:
    """Make sure that a new plugin would not collide with what is installed.

    Raises:
        DuplicateError: it would; the message says with what.
    """
    if names.plugin in taken.plugins:
        raise DuplicateError(f"a plugin named {names.plugin!r} is installed already: choose another name")
    if names.plugin in taken.groups:
        raise DuplicateError(f"there is a tool group {names.plugin!r} already: choose another name")
    for tool in names.tools:
        if tool in taken.tools:
            raise DuplicateError(f"there is a tool {tool!r} already: choose another name")
    if names.skill in taken.skills:
        raise DuplicateError(f"there is a skill {names.skill!r} already: choose another name")
    if find_spec(names.package) is not None:
        raise DuplicateError(
            f"a module {names.package!r} is installed already, and one would hide the other: choose another name"
        )
