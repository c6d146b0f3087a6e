"""An office's worth of tools, made up: 106 in 14 groups, each about as long as such tools are.

Published tool sets of this kind take 200 to 450 tokens a tool; these take 280 on average.
"""

from __future__ import annotations

from typing import Any

from oneclaw_core import ToolDefinition, ToolGroupDefinition, ToolRegistry, ToolResult, ToolSourceInfo, ToolSourceType

# name: (what people call it, what its tools work on, what those are found by)
GROUPS = {
    "mail": ("Mail", "message", "sender, recipient, label"),
    "calendar": ("Calendar", "event", "attendee, room, calendar"),
    "files": ("Files", "file", "folder, owner, media type"),
    "documents": ("Documents", "document", "author, folder, heading"),
    "spreadsheets": ("Spreadsheets", "sheet", "author, folder, column"),
    "slides": ("Slides", "presentation", "author, folder, theme"),
    "tasks": ("Tasks", "task", "assignee, list, due date"),
    "contacts": ("Contacts", "contact", "company, city, label"),
    "forms": ("Forms", "form", "author, state, question"),
    "team_chat": ("Team chat", "post", "channel, author, reaction"),
    "tickets": ("Tickets", "ticket", "reporter, component, priority"),
    "repositories": ("Repositories", "change", "branch, author, path"),
    "databases": ("Databases", "record", "table, column, value"),
    "reports": ("Reports", "report", "period, department, figure"),
}

_PARAMETERS: dict[str, dict[str, Any]] = {
    "query": {
        "type": "string",
        "description": "Words that must occur, `field:value` terms, and `-` before what must not; empty finds all.",
        "default": "",
    },
    "ids": {
        "type": "array",
        "description": "Ids as a search gave them; at most 100 at once.",
        "items": {"type": "string"},
        "minItems": 1,
        "maxItems": 100,
    },
    "id": {"type": "string", "description": "The id as a search or an earlier call gave it; never a title."},
    "title": {"type": "string", "description": "The title as people see it, on one line.", "maxLength": 250},
    "body": {"type": "string", "description": "The whole text, as Markdown; headings and lists are kept."},
    "state": {
        "type": "string",
        "description": "Only what is in this state now.",
        "enum": ["open", "draft", "shared", "archived", "any"],
        "default": "any",
    },
    "after": {"type": "string", "description": "Only what changed at or after this time, ISO 8601 with offset."},
    "before": {"type": "string", "description": "Only what changed before this time, ISO 8601 with offset."},
    "fields": {
        "type": "array",
        "description": "What to give back of each; all that is short if left out.",
        "items": {"type": "string", "enum": ["title", "owner", "state", "created", "changed", "link", "summary"]},
    },
    "people": {
        "type": "array",
        "description": "E-mail addresses of people or groups; names are not resolved.",
        "items": {"type": "string"},
        "maxItems": 50,
    },
    "role": {
        "type": "string",
        "description": "What they may do from now on.",
        "enum": ["reader", "commenter", "editor"],
        "default": "reader",
    },
    "notify": {"type": "boolean", "description": "Tell the people concerned by mail.", "default": False},
    "max_results": {"type": "integer", "description": "Rows wanted.", "default": 20, "minimum": 1, "maximum": 200},
    "page_token": {"type": "string", "description": "Of the previous page, with all other arguments unchanged."},
    "format": {
        "type": "string",
        "description": "How the content is written.",
        "enum": ["text", "markdown", "html", "pdf", "csv"],
        "default": "markdown",
    },
    "save_to": {"type": "string", "description": "Local path to save at; without it the content comes in the result."},
    "if_changed": {
        "type": "string",
        "description": "The version last seen; refuses if somebody else has changed it since.",
    },
}
_PAGE = ("max_results", "page_token")

# action: (what it does, what it takes, how many of that are required)
_ACTIONS = {
    "search": (
        "Find {noun}s by text, {found_by} and time; one short row each with its id, without the contents. The other "
        "tools of this group take these ids. Newest first, in pages.",
        ("query", "state", "after", "before", "fields", "people", *_PAGE),
        0,
    ),
    "read": (
        "Read one or more {noun}s in full: properties, text, and a list of what is attached. Long texts are cut, and "
        "the result says where to go on.",
        ("ids", "format", "fields", "after", "save_to", "page_token"),
        1,
    ),
    "create": (
        "Create a {noun} with a title and a text and give back its id and link. Nobody is told unless `notify` is "
        "set; check for one of the same title first, for this creates a second one.",
        ("title", "body", "format", "state", "people", "role", "notify"),
        2,
    ),
    "update": (
        "Change the title, the text or the state of a {noun}; what is left out stays as it is. Text is replaced as a "
        "whole: read it first, and give `if_changed` so that nobody's work is lost.",
        ("id", "title", "body", "format", "state", "if_changed", "notify"),
        1,
    ),
    "delete": (
        "Move {noun}s to the bin, where they stay for 30 days. Ask the user before, and name what would go.",
        ("ids", "if_changed", "notify", "state", "before"),
        1,
    ),
    "share": (
        "Give people access to {noun}s, change what they may do, or take it away. The result lists everybody with "
        "access after the change.",
        ("ids", "people", "role", "notify", "body", "before"),
        2,
    ),
    "export": (
        "Save {noun}s as files on this computer or give back their content in another format. Existing files are "
        "never overwritten: a number is added to the name.",
        ("ids", "format", "save_to", "fields", "after", "before"),
        1,
    ),
    "history": (
        "List who changed what of a {noun} and when, newest first, with the version that `if_changed` takes.",
        ("id", "people", "after", "before", "fields", *_PAGE),
        1,
    ),
}


class OfficeTool:
    """A tool that is described and never run."""

    def __init__(self, definition: ToolDefinition) -> None:
        self.definition = definition

    async def execute(self, arguments: dict[str, Any], context: Any) -> ToolResult:
        """Do nothing."""
        return ToolResult.success(arguments)


def register_office_tools(registry: ToolRegistry) -> None:
    """Register all groups: eight with eight tools, six with seven."""
    for number, (name, (display_name, noun, found_by)) in enumerate(GROUPS.items()):
        registry.register_group(
            ToolGroupDefinition(name, display_name, f"Search, read, create, change, share and export {noun}s")
        )
        for action in list(_ACTIONS)[: 8 if number < 8 else 7]:
            does, parameters, required = _ACTIONS[action]
            definition = ToolDefinition(
                f"{name}_{action}",
                does.format(noun=noun, found_by=found_by),
                {
                    "type": "object",
                    "properties": {parameter: _PARAMETERS[parameter] for parameter in parameters},
                    "required": list(parameters[:required]),
                    "additionalProperties": False,
                },
            )
            registry.register(OfficeTool(definition), ToolSourceInfo(ToolSourceType.TOOL_GROUP, name))
