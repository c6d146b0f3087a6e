"""The core tools, a plugin like any other."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

from oneclaw_core.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from oneclaw_core.plugins.registration.registrars import SkillRegistrar, ToolRegistrar

MANIFESTS = (
    "get_current_time",
    "read_file",
    "write_file",
    "webfetch",
    "http_request",
    "exec",
    "js_eval",
    "load_skill",
    "create_agent",
    "save_memory",
    "search_history",
    "browser",
)
SKILLS = ("about-oneclaw", "create-skill", "create-tool-plugin")


@hookimpl
def register_tools(register: ToolRegistrar) -> None:
    """Register the core tools, the way to load all others among them."""
    from oneclaw_core.tools.load_tool_group import LoadToolGroupTool

    register(LoadToolGroupTool(register.registry))
    for name in MANIFESTS:
        register.manifest(resources.files(__name__) / "manifests" / f"{name}.json")


@hookimpl
def register_skills(register: SkillRegistrar) -> None:
    """Register the skills about OneClaw itself."""
    for name in SKILLS:
        register(resources.files(__name__) / "skills_data" / name)
