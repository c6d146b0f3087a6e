"""What ``oneclaw skills check`` looks at beyond what every reading of a skill does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_core.cli.catalog import not_found
from oneclaw_core.skills.catalog import SkillStatus, read_entry
from oneclaw_core.skills.content import skill_needs
from oneclaw_core.skills.folder import SkillFolder
from oneclaw_core.skills.links import missing_files
from oneclaw_core.skills.skill import SKILL_FILE, SkillProblem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oneclaw_core.skills.catalog import SkillCatalog, SkillEntry
    from oneclaw_core.skills.skill import Skill
    from oneclaw_core.tools.registry import ToolRegistry


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


def findings_of(entry: SkillEntry, registry: ToolRegistry) -> list[SkillProblem]:
    """Find what is wrong with a skill, or will surprise who uses it.

    Args:
        entry: the skill.
        registry: the tools there are.
    """
    findings = list(entry.problems)
    if entry.skill is not None:
        findings += missing_files(entry.skill)
        findings += _surprises(entry, entry.skill, registry)
    return findings


def _surprises(entry: SkillEntry, skill: Skill, registry: ToolRegistry) -> Iterator[SkillProblem]:
    from oneclaw_core.cli.slash import SLASH_COMMANDS

    needs = skill_needs(skill, registry)
    if needs.missing_groups:
        names = ", ".join(needs.missing_groups)
        yield SkillProblem(f"tool groups it needs are not here: {names}", "install or enable them", is_error=False)
    if needs.missing_tools:
        names = ", ".join(needs.missing_tools)
        yield SkillProblem(
            f"tools it names are not here: {names}", "name tools that `oneclaw tools list` shows", is_error=False
        )
    if f"/{skill.name}" in SLASH_COMMANDS:
        yield SkillProblem(
            f"/{skill.name} is a command of `oneclaw chat`, which goes first", "rename the skill", is_error=False
        )
    if entry.status is SkillStatus.SHADOWED:
        yield SkillProblem(
            "another skill of this name counts instead", "rename this one, or remove the other", is_error=False
        )
    if entry.status is SkillStatus.UNTRUSTED:
        yield SkillProblem("it is not used, since its project is not trusted", "oneclaw skills trust", is_error=False)
