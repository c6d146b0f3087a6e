"""Skills in a chat: ``/skills``, and ``/NAME`` to use one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core import ExpandedMessage, MessageCommand
from oneclaw_core.cli import table_text
from oneclaw_core.tools import one_line
from oneclaw_skills.catalog import SkillStatus, skills_of
from oneclaw_skills.content import skill_message, skill_needs

if TYPE_CHECKING:
    from oneclaw_core import ChatCommandContext, CommandUse, PluginContext

_DESCRIPTION_CHARACTERS = 70


async def list_skills(context: ChatCommandContext, rest: str) -> str:
    """List the skills that can be used.

    Args:
        context: of the command.
        rest: ignored.
    """
    skills = skills_of(context).available()
    return table_text(
        ("skill", "description"),
        [(f"/{each.name}", one_line(each.description, _DESCRIPTION_CHARACTERS)) for each in skills],
    )


def skill_commands(context: PluginContext) -> list[MessageCommand]:
    """List all skills as commands, those that cannot be used with the reason."""
    catalog = skills_of(context)
    usable = {each.name: MessageCommand(each.name, each.description) for each in catalog.available()}
    others = {each.name for each in catalog.entries()} - usable.keys()
    return [*usable.values(), *(MessageCommand(name, "", catalog.why_not(name)) for name in sorted(others))]


def expanded_skill(context: PluginContext, command: CommandUse) -> ExpandedMessage:
    """Return the message of a user who uses a skill, and the tool groups that the skill needs.

    Raises:
        NotFoundError: there is no such skill.
        SkillError: it cannot be read.
    """
    skill = skills_of(context).load(command.name)
    needs = skill_needs(skill, context.services.registry, command.selection)
    return ExpandedMessage(skill_message(skill, command.arguments, needs), needs.groups)


def untrusted_notice(context: PluginContext) -> list[str]:
    """Count the skills of a project that is not trusted."""
    count = sum(each.status is SkillStatus.UNTRUSTED for each in skills_of(context).entries())
    return [f"The skills of this directory are not used ({count}); see: oneclaw skills list"] if count else []
