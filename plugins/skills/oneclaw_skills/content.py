"""The result of loading a skill: missing requirements, then its instructions."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_core import ToolSelection
from oneclaw_skills.folder import MAX_LISTED_FILES
from oneclaw_skills.skill import LOAD_SKILL

if TYPE_CHECKING:
    from oneclaw_core import ToolRegistry
    from oneclaw_skills.folder import SkillFile
    from oneclaw_skills.skill import Skill

Arguments = str | Mapping[str, Any] | None
"""Arguments of a skill: a text, values by name, or nothing."""

MAX_ARGUMENTS_CHARACTERS = 20_000
_PLACEHOLDER = re.compile(r"\{\{\s*([A-Za-z_][\w-]{0,63})\s*\}\}|\$ARGUMENTS\b")
_WHOLE = "$ARGUMENTS"


@dataclass(frozen=True, slots=True)
class SkillNeeds:
    """Requirements of a skill, compared with the installed tools.

    Attributes:
        groups: the tool groups to load with it.
        missing_groups: those it names that are not installed, or have no enabled tool.
        missing_tools: the tools it names that are not installed, or disabled.
    """

    groups: tuple[str, ...]
    missing_groups: tuple[str, ...]
    missing_tools: tuple[str, ...]


def skill_needs(skill: Skill, registry: ToolRegistry, selection: ToolSelection | None = None) -> SkillNeeds:
    """Find out what a skill needs: the groups it names, and those of the tools it names.

    Args:
        skill: with its document.
        registry: the tools there are.
        selection: those that the agent may have; ``None`` for all.
    """
    tools = registry.toolset(selection or ToolSelection())
    groups: dict[str, None] = {}
    missing_groups = []
    for name in skill.document.groups:
        if tools.tools_of(name):
            groups[name] = None
        else:
            missing_groups.append(name)
    missing_tools = []
    for name in skill.document.allowed_tools:
        source = registry.get_source_info(name)
        if source is None or not registry.is_enabled(name) or not tools.allows(name):
            missing_tools.append(name)
        elif source.group_name is not None:
            groups[source.group_name] = None
    return SkillNeeds(tuple(groups), tuple(missing_groups), tuple(missing_tools))


def skill_text(skill: Skill, arguments: Arguments, needs: SkillNeeds) -> str:
    """Write down a skill for a model.

    Args:
        skill: read just now.
        arguments: they take the places of ``{{name}}`` and ``$ARGUMENTS`` in the instructions; a place for which
            nothing is given stays as it is.
        needs: of the skill.
    """
    body, left = _filled(skill.document.body, arguments)
    given = arguments if isinstance(arguments, str) else _json(arguments) if arguments else ""
    path = skill.folder.path
    files = skill.folder.files()
    lines = [
        f"Skill '{skill.name}': {skill.description}",
        f"From: {skill.origin}",
        f"Folder: {path}" if path is not None else "",
        f"Needs: {skill.document.compatibility}" if skill.document.compatibility else "",
        f"Tool groups loaded with it: {', '.join(needs.groups)}" if needs.groups else "",
        f"Tool groups it needs that are not here: {', '.join(needs.missing_groups)}" if needs.missing_groups else "",
        f"Tools it names that are not here; use your own instead: {', '.join(needs.missing_tools)}"
        if needs.missing_tools
        else "",
        f"Arguments: {given.strip()}" if given.strip() else "",
        f"Not given, fill them in yourself: {', '.join(left)}" if left else "",
        f"Files, read by {LOAD_SKILL} with the parameter file: {_listed(files)}" if files else "",
    ]
    return "\n".join([*filter(None, lines), "", "---", "", body])


def skill_message(skill: Skill, arguments: str, needs: SkillNeeds) -> str:
    """Write the message of a user who has chosen a skill.

    Args:
        skill: read just now.
        arguments: what the user wrote behind its name.
        needs: of the skill.
    """
    return f"{skill_command(skill.name, arguments)}\n\n{skill_text(skill, arguments, needs)}"


def skill_command(name: str, arguments: str) -> str:
    """Return the text that a user types to choose a skill."""
    return f"/{name} {arguments.strip()}".rstrip()


def placeholders(body: str) -> list[str]:
    """Name the places of instructions that arguments can take, as they stand there."""
    return list(dict.fromkeys(_shown(match) for match in _PLACEHOLDER.finditer(body)))


def _filled(body: str, arguments: Arguments) -> tuple[str, list[str]]:
    """Put arguments into their places; gives the places that are left, too."""
    names = [each.strip("{}") for each in placeholders(body) if each != _WHOLE]
    values, whole = _values(arguments, names)
    left: dict[str, None] = {}

    def fill(match: re.Match[str]) -> str:
        value = whole if match[1] is None else values.get(match[1])
        if value is None:
            left[_shown(match)] = None
            return match[0]
        return value

    return _PLACEHOLDER.sub(fill, body), list(left)


def _values(arguments: Arguments, names: list[str]) -> tuple[dict[str, str], str | None]:
    """Find the values of named places, and the one for all arguments together."""
    if isinstance(arguments, str):
        text = arguments.strip()
        if not text:
            return {}, None
        named = _json_object(text) or _assignments(text, names)
        if named is None and len(names) == 1:
            named = {names[0]: text}
        return {name: _text(value) for name, value in (named or {}).items()}, text
    if not arguments:
        return {}, None
    return {name: _text(value) for name, value in arguments.items() if value is not None}, _json(arguments)


def _json_object(text: str) -> dict[str, Any] | None:
    """Models write objects as texts, too."""
    if not text.startswith("{"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _assignments(text: str, names: list[str]) -> dict[str, str] | None:
    """Read ``file=a.pdf pages="1 2"``, if it is all of that kind."""
    try:
        words = shlex.split(text)
    except ValueError:
        return None
    pairs = [word.partition("=") for word in words]
    if not all(separator and name in names for name, separator, _ in pairs):
        return None
    return {name: value for name, _, value in pairs}


def _shown(match: re.Match[str]) -> str:
    return _WHOLE if match[1] is None else f"{{{{{match[1]}}}}}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _listed(files: tuple[SkillFile, ...]) -> str:
    shown = ", ".join(f"{file.path}{_size(file.size_bytes)}" for file in files)
    return f"{shown} (more may be there)" if len(files) == MAX_LISTED_FILES else shown


def _size(size_bytes: int | None) -> str:
    if size_bytes is None:
        return ""
    return f" ({size_bytes} B)" if size_bytes < 1024 else f" ({size_bytes / 1024:.0f} KB)"
