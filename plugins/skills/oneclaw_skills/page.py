"""Pages that list the skills and show one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from urllib.parse import quote

from oneclaw_core import NotFoundError
from oneclaw_core.plugins import WebLink, WebPage, WebTable, WebText
from oneclaw_skills.catalog import SkillStatus, skills_of

if TYPE_CHECKING:
    from oneclaw_core import PluginContext
    from oneclaw_core.plugins import WebRequest
    from oneclaw_skills.catalog import SkillCatalog


async def show_list(context: PluginContext, request: WebRequest) -> WebPage:
    """List all skills, also those that cannot be used.

    Args:
        context: of the plugin.
        request: for the page.
    """
    return await asyncio.to_thread(_list, skills_of(context))


async def show_skill(context: PluginContext, request: WebRequest) -> WebPage:
    """Show a skill with its instructions.

    Args:
        context: of the plugin.
        request: names it.
    """
    return await asyncio.to_thread(_skill, skills_of(context), request.path_parameters["name"])


def _list(catalog: SkillCatalog) -> WebPage:
    rows = tuple(
        (
            WebLink(each.name, f"show/{quote(each.name, safe='')}"),
            each.skill.description if each.skill is not None else "; ".join(map(str, each.problems)),
            each.skill.origin if each.skill is not None else str(each.folder),
            str(each.status),
        )
        for each in catalog.entries()
    )
    return WebPage(title="Skills", parts=(WebTable(columns=("skill", "what it is for", "from", "state"), rows=rows),))


def _skill(catalog: SkillCatalog, name: str) -> WebPage:
    entry = next((each for each in catalog.entries() if each.name == name), None)
    if entry is None:
        raise NotFoundError(catalog.why_not(name))
    problems = tuple((each.remedy, str(each)) for each in entry.problems)
    parts = [WebTable(columns=("what to do", "problem"), rows=problems, title="Problems")] if problems else []
    if entry.skill is None:
        return WebPage(title=name, parts=tuple(parts))
    document = entry.skill.document
    facts = {
        "from": entry.skill.origin,
        "folder": str(entry.folder),
        "state": "" if entry.status is SkillStatus.OK else str(entry.status),
        "license": document.license or "",
        "tool groups": ", ".join(document.groups),
        "tools": ", ".join(document.allowed_tools),
        "files": ", ".join(each.path for each in entry.skill.folder.files()),
    }
    rows = tuple((label, value) for label, value in facts.items() if value)
    return WebPage(
        title=name,
        parts=(
            WebText(text=entry.skill.description),
            *parts,
            WebTable(columns=("about", "what"), rows=rows),
            WebText(text=document.body, kind="markdown"),
        ),
    )
