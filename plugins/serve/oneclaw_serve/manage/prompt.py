"""The next request to a model, in tokens."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from oneclaw_core.cli import request_document
from oneclaw_core.plugins import WebLink, WebPage, WebText
from oneclaw_serve.pages import SitePage
from oneclaw_serve.plots import bar_table

if TYPE_CHECKING:
    from oneclaw_core.plugins import WebRequest
    from oneclaw_serve.application import Site


async def _show(site: Site, request: WebRequest) -> WebPage:
    agent = (request.query.get("agent") or (None,))[0] or None
    session = (request.query.get("session") or (None,))[0] or None
    document = request_document(await site.claw.preview_request(session=session, agent=agent))
    sizes = document["estimated_tokens"]
    groups: dict[str, int] = {}
    for tool in document["tools"]:
        name = f"tools of the group {tool['group']}" if tool["group"] else "core tools"
        groups[name] = groups.get(name, 0) + tool["estimated_tokens"]
    parts = {"system prompt": sizes["system_prompt"], **groups, "messages": sizes["messages"]}
    tools = {each["name"]: each["estimated_tokens"] for each in document["tools"]}
    what = f"session {session}" if session else f"new session of {agent or 'the default agent'}"
    agents = tuple(
        WebLink(f"The prompt of {each.name}", f"prompt?agent={quote(each.name, safe='')}")
        for each in await site.claw.agents.list()
    )
    page: list[Any] = [
        WebText(
            text=f"A {what} with {document['model']}: estimated {sizes['total']:,} tokens before your message. "
            "4 bytes of text count as a token."
        ),
        bar_table("part", "estimated tokens", parts),
        WebText(text=document["system_prompt"], kind="verbatim", title="System prompt"),
        bar_table("tool", "estimated tokens", dict(sorted(tools.items(), key=lambda each: -each[1])), title="Tools"),
    ]
    for each in document["messages"]:
        text = each.get("content") or each.get("arguments") or ""
        heading = f"{each['type']}, estimated {each['estimated_tokens']:,} tokens"
        page.append(WebText(text=text if isinstance(text, str) else json.dumps(text), kind="verbatim", title=heading))
    return WebPage(title="Prompt", parts=(*page, *agents))


PAGES = (SitePage("prompt", "Prompt", _show),)
