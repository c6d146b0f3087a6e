"""workspace-mcp: a server whose tools are all listed to the client, which sends them with each request."""

from __future__ import annotations

import importlib
import os
import sys

from benchmarks.measuring import tokens_of

SERVICES = (
    "gmail.gmail_tools",
    "gdrive.drive_tools",
    "gcalendar.calendar_tools",
    "gdocs.docs_tools",
    "gsheets.sheets_tools",
    "gchat.chat_tools",
    "gforms.forms_tools",
    "gslides.slides_tools",
    "gtasks.tasks_tools",
    "gcontacts.contacts_tools",
    "gsearch.search_tools",
    "gappsscript.apps_script_tools",
)


async def tokens(size: int) -> float:
    """All tools of all services, whatever is wanted of them."""
    os.environ |= {"GOOGLE_OAUTH_CLIENT_ID": "none", "GOOGLE_OAUTH_CLIENT_SECRET": "none"}
    sys.argv = ["main.py"]
    server = importlib.import_module("core.server").server
    for service in SERVICES:
        importlib.import_module(service)
    listed = [tool.to_mcp_tool() for tool in await server.list_tools()]
    return tokens_of(
        {"name": tool.name, "description": tool.description, "parameters": tool.input_schema} for tool in listed
    )
