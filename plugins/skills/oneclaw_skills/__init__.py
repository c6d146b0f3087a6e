"""Skills for OneClaw: Markdown files with instructions that the model loads on demand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_core import hookimpl

if TYPE_CHECKING:
    from oneclaw_core import (
        ChatCommandRegistrar,
        CheckRegistrar,
        CommandRegistrar,
        CommandUse,
        ExpandedMessage,
        MessageCommand,
        PluginContext,
        PromptSection,
        SkillRegistrar,
        ToolRegistrar,
    )
    from oneclaw_core.plugins import RouteRegistrar

ABOUT_ONECLAW = ("about-oneclaw", "create-skill", "create-tool-plugin")


@hookimpl
def register_tools(register: ToolRegistrar) -> None:
    """Register ``load_skill``."""
    register.manifest(Path(__file__).with_name("load_skill.json"))


@hookimpl
def register_skills(register: SkillRegistrar) -> None:
    """Register the skills about OneClaw itself."""
    for name in ABOUT_ONECLAW:
        register(Path(__file__).parent / "about_oneclaw" / name)


@hookimpl
def register_commands(register: CommandRegistrar) -> None:
    """Register ``oneclaw skills``."""
    register("skills", "oneclaw_skills.commands:skills", help="List, show, check and make skills.")


@hookimpl
def register_routes(register: RouteRegistrar) -> None:
    """Add the page ``Skills`` to ``oneclaw serve``."""
    register("", "oneclaw_skills.page:show_list", title="Skills")
    register("show/{name}", "oneclaw_skills.page:show_skill")


@hookimpl
def register_chat_commands(register: ChatCommandRegistrar) -> None:
    """Register ``/skills``."""
    register("skills", "oneclaw_skills.chat:list_skills", help="List the skills; /NAME [ARGUMENTS] uses one.")


@hookimpl
def register_checks(register: CheckRegistrar) -> None:
    """Register the check of the skills that plugins register."""
    register.skills("format", "oneclaw_skills.checks:check_registered_skill")


# The hooks below look at a few files, which takes less time than a thread.


@hookimpl
async def current_sections(context: PluginContext) -> list[PromptSection]:
    """List the skills that can be loaded, as their files are now."""
    from oneclaw_skills.catalog import prompt_section

    return prompt_section(context)


@hookimpl
def prompt_sections(context: PluginContext) -> list[PromptSection]:
    """Pass on the context file of a trusted project, as the user has seen it."""
    from oneclaw_skills.context_file import context_section

    return context_section(context.services.project)


@hookimpl
async def message_commands(context: PluginContext) -> list[MessageCommand]:
    """List the skills, each of which is used by ``/NAME``."""
    from oneclaw_skills.chat import skill_commands

    return skill_commands(context)


@hookimpl(trylast=True)
async def expand_command(context: PluginContext, command: CommandUse) -> ExpandedMessage:
    """Send a skill's instructions with the arguments in their places."""
    from oneclaw_skills.chat import expanded_skill

    return expanded_skill(context, command)


@hookimpl
async def chat_notices(context: PluginContext) -> list[str]:
    """Say that the skills of the directory are not used because it is not trusted."""
    from oneclaw_skills.chat import untrusted_notice

    return untrusted_notice(context)
