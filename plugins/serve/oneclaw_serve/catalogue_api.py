"""Agents, models, tools, groups and usage."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field
from starlette.responses import JSONResponse

from oneclaw_core import NotFoundError
from oneclaw_core.cli import definition_tokens
from oneclaw_core.sessions import UsageGrouping
from oneclaw_serve.endpoint import Body, Endpoint
from oneclaw_serve.errors import Refusal

if TYPE_CHECKING:
    from starlette.requests import Request

    from oneclaw_serve.access import Caller
    from oneclaw_serve.application import Site


class Switch(Body):
    """A tool or group that is to be enabled or disabled."""

    enabled: bool


class Arguments(Body):
    """The arguments of a tool."""

    arguments: dict[str, Any] = Field(default_factory=dict)


async def _agents(site: Site, caller: Caller, request: Request, body: None) -> JSONResponse:
    listed = await site.claw.agents.list()
    return JSONResponse(
        {"agents": [{"name": each.name, "description": each.description, "model": each.model} for each in listed]}
    )


async def _tools(site: Site, caller: Caller, request: Request, body: None) -> JSONResponse:
    await site.claw.refresh_tool_states()
    registry = site.claw.catalog.registry
    documents = []
    for each in registry.get_all_tool_definitions():
        source = registry.get_source_info(each.name)
        documents.append(
            {
                "name": each.name,
                "description": each.description,
                "group": source.group_name if source else None,
                "plugin": source.plugin if source else None,
                "enabled": registry.is_enabled(each.name),
                "parameters": dict(each.parameters),
                "required_permissions": list(each.required_permissions),
            }
        )
    return JSONResponse({"tools": documents})


async def _groups(site: Site, caller: Caller, request: Request, body: None) -> JSONResponse:
    await site.claw.refresh_tool_states()
    registry = site.claw.catalog.registry
    documents = []
    for name, tools in registry.get_tool_groups().items():
        known = registry.get_group_definition(name)
        documents.append(
            {
                "name": name,
                "display_name": known.display_name if known else name,
                "description": known.description if known else "",
                "tools": tools,
                "estimated_tokens": sum(
                    definition_tokens(each.definition)
                    for name in tools
                    if (each := registry.get_tool(name)) is not None
                ),
                "enabled": not registry.is_group_disabled(name),
            }
        )
    return JSONResponse({"groups": documents})


def _switch(kind: Literal["tool", "group"]) -> Any:
    async def switch(site: Site, caller: Caller, request: Request, body: Switch) -> JSONResponse:
        name = request.path_params["name"]
        await site.claw.configuration.tools.switch(kind, name, is_enabled=body.enabled)
        return JSONResponse({"name": name, "enabled": body.enabled})

    return switch


async def _call(site: Site, caller: Caller, request: Request, body: Arguments) -> JSONResponse:
    name = request.path_params["name"]
    if site.claw.catalog.registry.get_tool(name) is None:
        raise NotFoundError(f"there is no tool {name!r}")
    outcome = await site.claw.call_tool(name, body.arguments)
    return JSONResponse({**outcome.result.to_dict(), "duration_ms": outcome.duration_ms})


async def _usage(site: Site, caller: Caller, request: Request, body: None) -> JSONResponse:
    by = request.query_params.get("by", "day")
    if by not in [str(each) for each in UsageGrouping]:
        raise Refusal(400, "invalid_request", f"by: must be one of {', '.join(UsageGrouping)}")
    rows = await site.claw.store.usage_by(UsageGrouping(by))
    total = await site.claw.store.usage_totals()
    return JSONResponse(
        {
            "total": asdict(total),
            "rows": [{"key": each.key, "name": each.name, **asdict(each.totals)} for each in rows],
        }
    )


async def _notices(site: Site, caller: Caller, request: Request, body: None) -> JSONResponse:
    found = await site.claw.plugins.chat_notices()
    return JSONResponse({"notices": [{"text": each.text, "page": each.page} for each in found]})


ENDPOINTS = (
    Endpoint("GET", "/api/agents", "read", "List agents", _agents),
    Endpoint("GET", "/api/tools", "read", "List tools with the schemas of their arguments", _tools),
    Endpoint("POST", "/api/tools/{name}/call", "tools", "Call a tool; what is not granted is denied", _call, Arguments),
    Endpoint("PUT", "/api/tools/{name}", "manage", "Enable or disable a tool", _switch("tool"), Switch),
    Endpoint("GET", "/api/groups", "read", "List tool groups", _groups),
    Endpoint("PUT", "/api/groups/{name}", "manage", "Enable or disable a tool group", _switch("group"), Switch),
    Endpoint("GET", "/api/notices", "read", "List what plugins have to say to a person who begins to chat", _notices),
    Endpoint("GET", "/api/usage", "read", "Sum up usage by day, model, session or group", _usage),
)
