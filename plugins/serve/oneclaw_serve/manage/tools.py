"""Tools and tool groups: enabling, disabling, and trying a tool with a form made from its schema."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from oneclaw_core import NotFoundError
from oneclaw_core.cli import definition_tokens
from oneclaw_core.plugins import WebForm, WebLink, WebPage, WebTable, WebText
from oneclaw_core.tools import LOAD_TOOL_GROUP
from oneclaw_serve.errors import Refusal
from oneclaw_serve.pages import GoTo, LivePage, SitePage
from oneclaw_serve.schema_form import read_fields

if TYPE_CHECKING:
    from oneclaw_core import ToolDefinition
    from oneclaw_core.plugins import WebRequest
    from oneclaw_serve.application import Site

_STATUSES = {"running": "is running", "done": "is done", "failed": "failed", "interrupted": "was interrupted"}
_ANSWERS = {
    "once": "Allow once",
    "script": "Allow for the rest of this script",
    "session": "Allow in this session",
    "always": "Always allow",
    "no": "No",
    "never": "Never",
}


async def _list(site: Site, request: WebRequest) -> WebPage:
    notice = ""
    if request.method == "POST":
        form = request.form()
        kind, name, is_enabled = form.get("kind", ""), form.get("name", ""), form.get("switch") == "on"
        if kind not in ("tool", "group"):
            raise Refusal(400, "invalid_request", "kind: must be tool or group")
        await site.claw.configuration.tools.switch("group" if kind == "group" else "tool", name, is_enabled=is_enabled)
        notice = f"{'Enabled' if is_enabled else 'Disabled'} the {kind} {name}."
    await site.claw.refresh_tool_states()
    registry = site.claw.catalog.registry
    groups = registry.get_tool_groups()
    chosen = (request.query.get("group") or ("",))[0]
    if chosen:
        if chosen not in groups:
            raise NotFoundError(f"there is no tool group {chosen[:100]!r}")
        known = registry.get_group_definition(chosen)
        about = WebText(text=known.description if known else "")
        table = _tools_table(site, "", groups[chosen])
        return WebPage(title=_display_name(site, chosen), parts=(about, table), notice=notice)
    grouped = set[str]().union(*groups.values())
    core = [each.name for each in registry.get_all_tool_definitions() if each.name not in grouped]
    rows = tuple(_group_row(site, name, tools) for name, tools in groups.items())
    head = WebTable(columns=("group", "what it is for", "tools", "tokens", "state"), rows=rows, title="Tool groups")
    return WebPage(title="Tools", parts=(head, _tools_table(site, "Core tools", core)), notice=notice)


def _display_name(site: Site, group: str) -> str:
    known = site.claw.catalog.registry.get_group_definition(group)
    return known.display_name if known else group


def _group_row(site: Site, name: str, tools: list[str]) -> Any:
    registry = site.claw.catalog.registry
    known = registry.get_group_definition(name)
    found = [tool.definition for each in tools if (tool := registry.get_tool(each)) is not None]
    tokens = sum(definition_tokens(each) for each in found)
    switch = _switch("group", name, is_enabled=not registry.is_group_disabled(name))
    link = WebLink(_display_name(site, name), f"tools?group={quote(name, safe='')}")
    return link, known.description if known else "", str(len(tools)), f"{tokens:,}", switch


def _tools_table(site: Site, title: str, names: list[str]) -> WebTable:
    registry = site.claw.catalog.registry
    rows = []
    for name in names:
        tool = registry.get_tool(name)
        if tool is not None:
            source = registry.get_source_info(name)
            about = tool.definition.description.partition("\n")[0]
            plugin = (source.plugin if source else None) or ""
            switch = _switch("tool", name, is_enabled=registry.is_enabled(name))
            rows.append((WebLink(name, f"tools/{name}"), about, plugin, switch))
    return WebTable(columns=("tool", "what it does", "plugin", "state"), rows=tuple(rows), title=title)


def _switch(kind: str, name: str, *, is_enabled: bool) -> tuple[str | WebForm, ...]:
    if name == LOAD_TOOL_GROUP:
        return ("enabled",)  # without it no group can be loaded
    hidden = {"kind": kind, "name": name, "switch": "off" if is_enabled else "on"}
    button = WebForm(submit="Disable" if is_enabled else "Enable", about=name, hidden=hidden)
    return "enabled" if is_enabled else "disabled", button


async def _try(site: Site, request: WebRequest) -> WebPage | GoTo:
    definition = _definition(site, request.path_parameters["name"])
    if request.method == "POST":
        arguments = read_fields(definition.parameters, request.form())
        return GoTo(f"calls/{await site.trials.start(definition.name, arguments)}")
    parts: list[Any] = [WebText(text=definition.description, kind="markdown")]
    if definition.required_permissions:
        parts.append(WebText(text=f"Needs: {', '.join(definition.required_permissions)}"))
    parts += [
        WebForm(submit="Call it", title="Try it", fields=_fields(definition)),
        WebText(text="The call asks for permissions like any other, and belongs to no session."),
        WebText(text=json.dumps(definition.parameters, ensure_ascii=False, indent=2), kind="verbatim", title="Schema"),
    ]
    return WebPage(title=definition.name, parts=tuple(parts))


def _fields(definition: ToolDefinition) -> dict[str, Any]:
    """Return the schema with texts that may have several lines."""
    properties = {
        name: {"format": "paragraph", **each} if isinstance(each, dict) and each.get("type") == "string" else each
        for name, each in definition.parameters.get("properties", {}).items()
    }
    return {**definition.parameters, "properties": properties}


def _definition(site: Site, name: str) -> ToolDefinition:
    tool = site.claw.catalog.registry.get_tool(name)
    if tool is None:
        raise NotFoundError(f"there is no tool {name!r}")
    return tool.definition


async def _call(site: Site, request: WebRequest) -> WebPage | LivePage | GoTo:
    call = request.path_parameters["id"]
    state = await site.trials.state(call)
    if state is None:
        raise Refusal(404, "not_found", "this call is gone: calls are kept for an hour")
    if request.method == "POST":
        form = request.form()
        await site.decide(form.get("question", ""), form.get("answer", ""), "browser")
        return GoTo(f"calls/{call}")
    waits = " and waits for your answer" if state["questions"] else ""
    seconds = f" after {state['duration_ms'] / 1000:.1f} s" if state.get("duration_ms") is not None else ""
    arguments = json.dumps(state["arguments"], ensure_ascii=False, indent=2)
    parts: list[Any] = [
        WebText(text=f"The call {_STATUSES[state['status']]}{seconds}{waits}."),
        *(part for question in state["questions"] for part in _question(question)),
    ]
    if state["status"] != "running":
        parts.append(WebText(text=state["result"] or "(nothing)", kind="verbatim", title="Result"))
    parts.append(WebText(text=arguments, kind="verbatim", title="Arguments"))
    parts.append(WebLink(f"Try {state['tool']} again", f"tools/{state['tool']}"))
    page = WebPage(title=f"Call of {state['tool']}", parts=tuple(parts))
    return LivePage(page) if state["status"] == "running" else page


def _question(question: dict[str, Any]) -> list[Any]:
    hidden = {"question": question["id"]}
    if question["kind"] != "approval":
        choices = [
            WebForm(submit=str(each), hidden={**hidden, "answer": str(each)}) for each in question.get("choices") or ()
        ]
        answer = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
        free = [WebForm(submit="Answer", fields=answer, hidden=hidden)] if question.get("allows_text") else []
        return [WebText(text=question["question"], title="A question of the tool"), *choices, *free]
    by = f" (says the plugin {question['meaning_by']})" if question["meaning_by"] else ""
    meaning = f": {question['meaning']}{by}" if question["meaning"] else ""
    rows = tuple((each["label"], each["text"]) for each in question["facts"])
    choices_rows = tuple(
        (WebForm(submit=_ANSWERS[each["answer"]], hidden={**hidden, "answer": each["answer"]}), each["grants"] or "")
        for each in question["choices"]
    )
    return [
        WebText(text=f"{question['permission']}{meaning}", title=f"Allow {question['tool']}?"),
        WebTable(columns=("about", "what"), rows=rows),
        WebTable(columns=("answer", "what it grants"), rows=choices_rows),
    ]


PAGES = (
    SitePage("tools", "Tools", _list, takes_forms=True),
    SitePage("tools/{name}", "", _try, takes_forms=True),
    SitePage("calls/{id}", "", _call, takes_forms=True),
)
