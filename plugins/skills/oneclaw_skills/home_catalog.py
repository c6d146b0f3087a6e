"""The skills of an open home."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core import PromptSection
from oneclaw_skills.catalog import SkillCatalog
from oneclaw_skills.listing import MAX_SECTION_CHARACTERS, skills_section
from oneclaw_skills.places import home_skills
from oneclaw_skills.skill import LOAD_SKILL

if TYPE_CHECKING:
    from oneclaw_core import PluginContext


def skills_of(context: PluginContext) -> SkillCatalog:
    """Return the skills of the home that a context belongs to, as the user trusts its project now."""
    catalog = context.once(_catalog)
    catalog.is_project_trusted = context.services.project.is_trusted
    return catalog


def prompt_section(context: PluginContext) -> list[PromptSection]:
    """Return the section of the system prompt that lists the skills."""
    text = skills_section(skills_of(context).available())
    return [PromptSection("skills", text, MAX_SECTION_CHARACTERS, LOAD_SKILL)]


def _catalog(context: PluginContext) -> SkillCatalog:
    services = context.services
    return SkillCatalog(services.skills, home_skills(services.home), services.project.directory)
