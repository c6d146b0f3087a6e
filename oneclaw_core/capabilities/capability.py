"""Capabilities of a plugin, derived from what it registers: its author declares nothing for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from oneclaw_core.types.tools import ToolDefinition

PERMISSION, CORE_TOOL, RUNTIME_TOOLS, HOOK, SECRET_FIELD = (
    *("permission", "core tool", "tools at run time", "hook", "secret"),
)
ASKING = "tools that ask"
"""Kind of the capability of tools that ask for permissions by themselves."""

TOOL_HOOK, SETTINGS_HOOK = "register_tools", "register_settings"
_KINDS = {
    "register_tools.source": RUNTIME_TOOLS,
    "register_providers": "provider type",
    "register_skills": "skill",
    "register_services": "service",
    "register_channels": "channel",
    "register_stores": "database",
    "register_commands": "command",
    "register_chat_commands": "chat command",
    "register_triggers": "trigger",
}
_HOOK_TEXTS = {
    "before_turn": "may deny turns",
    "before_tool_call": "may deny tool calls, and have you asked about them",
    "rewrite_tool_call": "may change what tools are called with",
    "rewrite_tool_result": "may change what tools answer",
    "prompt_sections": "adds text to the system prompt",
    "current_sections": "adds text to the system prompt",
    "message_context": "sees your messages, and adds text to them",
    "message_commands": "adds commands to messages",
    "expand_command": "may replace your messages",
    "chat_notices": "shows notices in chats",
    "around": "runs around turns, requests and tool calls",
    "turn_started": "sees turns",
    "turn_finished": "sees turns and answers",
    "before_model_request": "sees all that is sent to models",
    "after_model_response": "sees all that models answer",
    "after_tool_call": "sees tool calls and their results",
    "permission_decided": "sees what you allow and deny",
    "history_compacted": "sees when a history is shortened",
    "session_created": "sees new sessions",
    "session_deleted": "sees deleted sessions",
}
_TEXTS = {
    PERMISSION: "permission",
    CORE_TOOL: "core tool, in every request:",
    RUNTIME_TOOLS: "tools known only at run time, from",
    "service": "runs in the background:",
    "provider type": "model provider, sees whole sessions:",
    "public address": "address that anyone can reach:",
    "page": "page of oneclaw serve:",
    "host": "host",
    "read": "reads files",
    "write": "writes files",
    "program": "starts the program",
    "home service": "uses of your home:",
    "stored secret": "stores the secret",
    "undeclared": "declares no",
}


class Row(Protocol):
    """One thing that a plugin registers."""

    @property
    def hook(self) -> str:
        """The registration hook, such as ``register_services``."""

    @property
    def name(self) -> str:
        """Its name, unique among what the plugin registers by this hook."""

    @property
    def options(self) -> Mapping[str, Any]:
        """Its other options as JSON data; of a tool ``group``, the name of its tool group."""

    @property
    def definition(self) -> ToolDefinition | None:
        """The definition of a tool."""


class Capability(NamedTuple):
    """One thing that a plugin may do.

    Attributes:
        kind: the noun, such as ``permission`` or ``hook``.
        name: of what it may do, such as ``network.public``.
    """

    kind: str
    name: str

    def __str__(self) -> str:
        if self.kind == HOOK:
            return f"{_HOOK_TEXTS.get(self.name, 'is called while OneClaw works')} ({self.name})"
        return f"{_TEXTS.get(self.kind, self.kind)} {self.name}".rstrip()


def derived_capabilities(rows: Iterable[Row], hooks: Iterable[str]) -> frozenset[Capability]:
    """Return what a plugin may do, as far as its registrations tell.

    Args:
        rows: what it registers.
        hooks: the event and lifecycle hooks that it implements.
    """
    found = {each for row in rows for each in _of_row(row)}
    return frozenset(found | {Capability(HOOK, each) for each in hooks if each in _HOOK_TEXTS})


def withheld_rows(rows: Iterable[Row], new: frozenset[Capability]) -> list[Row]:
    """Return the registrations that need a capability which was not reviewed.

    Settings stay; see :func:`without_secrets`.
    """
    return [row for row in rows if row.hook != SETTINGS_HOOK and not new.isdisjoint(_of_row(row))]


def without_secrets(options: Mapping[str, Any], new: frozenset[Capability]) -> dict[str, Any]:
    """Return the options of settings without the secret fields that were not reviewed: they get no value."""
    schema = dict(options.get("schema") or {})
    names = {each.name for each in new if each.kind == SECRET_FIELD}
    schema["properties"] = {name: field for name, field in schema.get("properties", {}).items() if name not in names}
    return {**options, "schema": schema}


def _of_row(row: Row) -> Iterator[Capability]:
    options = row.options
    if row.definition is not None:
        for permission in row.definition.required_permissions:
            yield Capability(PERMISSION, permission)
        if not options.get("group"):
            yield Capability(CORE_TOOL, row.name)
        if row.definition.behaviour.asks_itself:
            yield Capability(ASKING, "for more permissions while they run")
    elif row.hook == "register_routes":
        yield Capability("public address" if options.get("is_public") else "page", row.name or "/")
    elif row.hook == SETTINGS_HOOK:
        for name, field in ((options.get("schema") or {}).get("properties") or {}).items():
            if field.get("writeOnly") or field.get("format") == "password":
                yield Capability(SECRET_FIELD, name)
    elif row.hook in _KINDS:
        parent = options.get("parent")
        yield Capability(_KINDS[row.hook], f"{parent} {row.name}" if parent else row.name)
