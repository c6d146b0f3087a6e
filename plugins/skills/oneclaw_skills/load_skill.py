"""The core tool ``load_skill``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_core import NotFoundError, ToolResult
from oneclaw_skills.catalog import skills_of
from oneclaw_skills.content import MAX_ARGUMENTS_CHARACTERS, skill_needs, skill_text
from oneclaw_skills.listing import found_skills
from oneclaw_skills.skill import SkillError, SkillSource

if TYPE_CHECKING:
    from oneclaw_core import ToolContext

_MAX_NAME_CHARACTERS = 100


def load_skill(
    name: str,
    arguments: str | dict[str, Any] | None = None,
    file: str | None = None,
    *,
    context: ToolContext,
) -> ToolResult:
    """Load the instructions of a skill, and the tool groups that it needs.

    Args:
        name: the skill; with ``*`` in it, a pattern to look for.
        arguments: what the skill is to be used with.
        file: a file of the skill to read instead.
        context: of the call.
    """
    name = name.strip().removeprefix("/")
    if not name or len(name) > _MAX_NAME_CHARACTERS:
        return ToolResult.error("validation_error", "name must be the name of a skill, such as about-oneclaw.")
    if arguments is not None and len(str(arguments)) > MAX_ARGUMENTS_CHARACTERS:
        return ToolResult.error("validation_error", f"arguments has more than {MAX_ARGUMENTS_CHARACTERS} characters.")
    skills = skills_of(context.plugin)
    if "*" in name:
        return ToolResult.success(found_skills(name, skills.available()))
    try:
        skill = skills.load(name)
        if skill.source is not SkillSource.PLUGIN:  # of any author
            context.mark_outside(f"the skill {skill.name}")
        if skill.source is SkillSource.HOME:  # the user's own words
            context.mark_private(f"the skill {skill.name}")
        if file is not None and file.strip():
            return ToolResult.success(skill.folder.read_file(file.strip()))
        needs = skill_needs(skill, context.services.registry, context.selection)
        return ToolResult.success(skill_text(skill, arguments, needs), loads_groups=needs.groups)
    except NotFoundError as error:
        return ToolResult.error("skill_not_found", _sentence(error))
    except SkillError as error:
        return ToolResult.error("load_error", _sentence(error))


def _sentence(error: Exception) -> str:
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}"
