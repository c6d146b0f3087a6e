"""Checks of skills: for ``oneclaw skills check``, and of those that plugins register for ``oneclaw plugins``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_core import redact
from oneclaw_core.cli import not_found
from oneclaw_core.plugins import PluginProblem
from oneclaw_skills.catalog import SkillStatus, read_entry
from oneclaw_skills.content import skill_needs
from oneclaw_skills.folder import SkillFolder
from oneclaw_skills.skill import SKILL_FILE, SkillProblem

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from importlib.resources.abc import Traversable

    from oneclaw_core import ToolRegistry
    from oneclaw_skills.catalog import SkillCatalog, SkillEntry
    from oneclaw_skills.skill import Skill

# Links to files, as Markdown writes them.
_LINK = re.compile(r"\]\((?!\w+:|/|#)([^)\s#]+)")
_FENCED = re.compile(r"^(```+|~~~+).*?^\1", re.MULTILINE | re.DOTALL)


def checked_entries(catalog: SkillCatalog, skill: str | None) -> list[SkillEntry]:
    """Find the skills to check.

    Args:
        catalog: the skills there are.
        skill: a name or the path of a folder; ``None`` for all.

    Raises:
        NotFoundError: there is no such skill.
    """
    entries = list(catalog.entries())
    if skill is None:
        return entries
    found = [entry for entry in entries if entry.name == skill]
    if found:
        return found
    path = Path(skill)
    if path.name == SKILL_FILE:
        path = path.parent
    if "/" in skill or path.is_dir():
        return [read_entry(SkillFolder(path.absolute() if path.name else path.resolve()))]
    raise not_found("skill", skill, [entry.name for entry in entries], "oneclaw skills list")


def findings_of(entry: SkillEntry, registry: ToolRegistry, chat_commands: Collection[str]) -> list[SkillProblem]:
    """Find what is wrong with a skill, or may surprise its users.

    Args:
        entry: the skill.
        registry: the tools there are.
        chat_commands: the names of the commands of ``oneclaw chat``.
    """
    findings = list(entry.problems)
    if entry.skill is not None:
        findings += _missing_files(entry.skill)
        findings += _surprises(entry, entry.skill, registry, chat_commands)
    return findings


def check_registered_skill(folder: Path | Traversable, registry: ToolRegistry | None) -> Iterator[PluginProblem]:
    """Check a skill that a plugin registers.

    Args:
        folder: of the skill.
        registry: the tools there are; ``None`` to check the folder alone.
    """
    entry = read_entry(SkillFolder(folder))
    problems = list(entry.problems)
    if entry.skill is not None and registry is not None:
        problems += _missing_files(entry.skill)
        needs = skill_needs(entry.skill, registry)
        if missing := ", ".join([*needs.missing_groups, *needs.missing_tools]):
            cause = f"the skill {entry.name} names {missing}, which neither the plugin nor the core has"
            yield _plugin_problem(cause, "correct the names in its metadata", "skills.needs", is_error=False)
    for each in problems:
        check = "skills.format" if each.is_error else "skills.advice"
        yield _plugin_problem(f"{folder}/{SKILL_FILE}: {each}", each.remedy, check, is_error=each.is_error)


def _plugin_problem(cause: str, remedy: str, check: str, *, is_error: bool) -> PluginProblem:
    return PluginProblem("register_skills", " ".join(redact(cause).split()), remedy, is_error, check)


def _surprises(
    entry: SkillEntry, skill: Skill, registry: ToolRegistry, chat_commands: Collection[str]
) -> Iterator[SkillProblem]:
    needs = skill_needs(skill, registry)
    if needs.missing_groups:
        names = ", ".join(needs.missing_groups)
        yield SkillProblem(f"tool groups it needs are not here: {names}", "install or enable them", is_error=False)
    if needs.missing_tools:
        names = ", ".join(needs.missing_tools)
        yield SkillProblem(
            f"tools it names are not here: {names}", "name tools that `oneclaw tools list` shows", is_error=False
        )
    if skill.name in chat_commands:
        yield SkillProblem(
            f"/{skill.name} is a command of `oneclaw chat`, which goes first", "rename the skill", is_error=False
        )
    if entry.status is SkillStatus.SHADOWED:
        yield SkillProblem(
            "another skill of this name counts instead", "rename this one, or remove the other", is_error=False
        )
    if entry.status is SkillStatus.UNTRUSTED:
        yield SkillProblem("it is not used, since its project is not trusted", "oneclaw skills trust", is_error=False)


def _missing_files(skill: Skill) -> Iterator[SkillProblem]:
    """Find the files that a skill's instructions refer to and that are not in its folder."""
    for link in dict.fromkeys(_LINK.findall(_FENCED.sub("", skill.document.body))):
        if not skill.folder.has_file(link):
            message = f"the instructions refer to {link[:200]!r}, which is not a file in the skill's folder"
            yield SkillProblem(message, "add the file, or correct its path", is_error=False)
