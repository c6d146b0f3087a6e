"""Agents: making, changing and deleting them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from oneclaw_core.plugins import WebForm, WebLink, WebPage, WebTable, WebText
from oneclaw_serve.pages import GoTo, SitePage
from oneclaw_serve.schema_form import read_fields

if TYPE_CHECKING:
    from oneclaw_core import Agent
    from oneclaw_core.plugins import WebRequest
    from oneclaw_serve.application import Site

_FIELDS = {
    "type": "object",
    "required": ["name", "system_prompt"],
    "properties": {
        "name": {"title": "Name", "type": "string"},
        "description": {"title": "Description", "type": "string", "description": "One line for people."},
        "system_prompt": {
            "title": "System prompt",
            "type": "string",
            "format": "multiline",
            "description": "The instructions that open every request.",
        },
        "model": {"title": "Model", "type": "string", "description": "PROVIDER/MODEL; empty for the default."},
        "max_tool_rounds": {
            "title": "Rounds of tool calls in a turn",
            "type": "integer",
            "description": "Empty for no limit.",
        },
        "turn_max_tokens": {"title": "Tokens of a turn", "type": "integer", "description": "Empty for no limit."},
        "turn_max_cost": {"title": "US dollars of a turn", "type": "number", "description": "Empty for no limit."},
    },
}


async def _list(site: Site, request: WebRequest) -> WebPage | GoTo:
    agents = site.claw.agents
    if request.method == "POST":
        fields = _said(request)
        made = await agents.create(fields.pop("name"), fields.pop("system_prompt"), **fields)
        return GoTo(_path(made))
    rows: tuple[Any, ...] = tuple(
        (
            WebLink(each.name, _path(each)),
            each.description,
            each.model or "default",
            str(len(agents.tools_of(each))),
            "built in" if each.is_builtin else "yours",
        )
        for each in await agents.list()
    )
    table = WebTable(columns=("agent", "what it is for", "model", "tools", "from"), rows=rows)
    form = WebForm(submit="Make the agent", fields=_FIELDS, title="New agent, with all tools")
    return WebPage(title="Agents", parts=(table, form))


async def _show(site: Site, request: WebRequest) -> WebPage | GoTo:
    agents = site.claw.agents
    agent = await agents.get(request.path_parameters["id"])
    notice = ""
    if request.method == "POST":
        if request.form().get("action") == "delete":
            await agents.delete(agent.id)
            return GoTo("agents")
        agent = await agents.update(agent.id, **_said(request))
        notice = "Saved. The changes take effect from the next turn on."
    parts: list[Any] = []
    if agent.is_builtin:
        parts += [
            WebText(text=f"{agent.description} It is built in and cannot be changed."),
            WebText(text=agent.system_prompt, kind="verbatim", title="System prompt"),
        ]
    else:
        values = {name: getattr(agent, name, None) for name in ("name", "description", "system_prompt", "model")}
        values |= {
            name: getattr(agent.limits, name) for name in ("max_tool_rounds", "turn_max_tokens", "turn_max_cost")
        }
        parts.append(WebForm(submit="Save", fields=_FIELDS, values=values))
        parts.append(WebForm(submit=f"Delete {agent.name}", hidden={"action": "delete"}, is_destructive=True))
    tools = tuple(
        (WebLink(definition.name, f"tools/{definition.name}"), group or "")
        for definition, group in agents.tools_of(agent)
    )
    prompt = WebLink("Its prompt", f"prompt?agent={quote(agent.name, safe='')}")
    parts += [
        prompt,
        WebTable(columns=("tool", "group"), rows=tools, title="Its tools"),
    ]
    return WebPage(title=agent.name, parts=tuple(parts), notice=notice)


def _path(agent: Agent) -> str:
    return f"agents/{quote(agent.id or agent.name, safe='')}"


def _said(request: WebRequest) -> dict[str, Any]:
    """Return the fields of the form; an empty one takes a value away."""
    given = read_fields(_FIELDS, request.form())
    empty = {"description": "", "model": None, "max_tool_rounds": None, "turn_max_tokens": None, "turn_max_cost": None}
    return {**empty, **given}


PAGES = (SitePage("agents", "Agents", _list, takes_forms=True), SitePage("agents/{id}", "", _show, takes_forms=True))
