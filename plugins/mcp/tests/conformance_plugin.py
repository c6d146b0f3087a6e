"""The plugin whose tools the conformance suite of MCP calls; it gives their names. See ``conformance.py``."""

from __future__ import annotations

import asyncio
import base64
import logging
from typing import TYPE_CHECKING, Any

from oneclaw_core import (
    Attachment,
    ExpandedMessage,
    MessageCommand,
    ToolContext,
    ToolDefinition,
    ToolResult,
    ToolSource,
    hookimpl,
    tool,
)

if TYPE_CHECKING:
    from oneclaw_core import CommandUse, PluginContext, SourceTools, ToolRegistrar

GROUP = "conformance"
_PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
_SILENCE = base64.b64decode("UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=")
_PICTURE = Attachment("pixel.png", "image/png", _PIXEL)
_DOCUMENT = Attachment("report.json", "application/json", b'{"test":"data","value":123}')
_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


@tool(read_only=True)
def test_simple_text() -> str:
    """Return a text."""
    return "This is a simple text response for testing."


@tool(read_only=True)
def test_image_content() -> ToolResult:
    """Return a picture."""
    return ToolResult.success("a picture", (_PICTURE,))


@tool(read_only=True)
def test_audio_content() -> ToolResult:
    """Return a sound."""
    return ToolResult.success("a sound", (Attachment("silence.wav", "audio/wav", _SILENCE),))


@tool(read_only=True)
def test_embedded_resource() -> ToolResult:
    """Return a document."""
    return ToolResult.success("a document", (_DOCUMENT,))


@tool(read_only=True)
def test_multiple_content_types() -> ToolResult:
    """Return a text, a picture and a document."""
    return ToolResult.success("Multiple content types test:", (_PICTURE, _DOCUMENT))


@tool(read_only=True)
def test_error_handling() -> ToolResult:
    """Fail."""
    return ToolResult.error("execution_error", "This tool intentionally returns an error for testing")


@tool(read_only=True)
async def test_tool_with_progress(context: ToolContext) -> str:
    """Report progress.

    Args:
        context: of the call.
    """
    for fraction in (0.0, 0.5, 1.0):
        context.progress(f"{fraction:.0%}", fraction)
        await asyncio.sleep(0.05)
    return "done"


@tool(read_only=True)
def test_logging_tool(context: ToolContext) -> str:
    """Write to the log, which clients are not sent.

    Args:
        context: of the call.
    """
    logging.getLogger("conformance").warning("done")
    return "done"


@tool(read_only=True)
async def test_elicitation(message: str, context: ToolContext) -> str:
    """Ask the user.

    Args:
        message: the question.
        context: of the call.
    """
    return f"User response: {await context.ask_user(message)}"


_FORMS: dict[str, dict[str, Any]] = {
    "test_elicitation_sep1034_defaults": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    },
    "test_elicitation_sep1330_enums": {
        "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
        "titledSingle": {"type": "string", "oneOf": [{"const": "value1", "title": "First"}]},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2"]}},
        "titledMulti": {
            "type": "array",
            "items": {"anyOf": [{"const": "value1", "title": "First"}, {"const": "value2", "title": "Second"}]},
        },
    },
}


def _form(name: str, fields: dict[str, Any]) -> Any:
    """Make a tool that asks the user for several values."""

    async def ask(context: ToolContext) -> str:
        values = await context.ask_form("What do you choose?", {"type": "object", "properties": fields})
        return f"Elicitation completed: content={values}"

    return tool(name=name, description="Ask the user.", read_only=True)(ask)


@tool(read_only=True)
async def test_input_required_result_elicitation(context: ToolContext) -> str:
    """Ask the user for a name.

    Args:
        context: of the call.
    """
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    values = await context.ask_form("What is your name?", schema, name="user_name")
    return f"Hello, {values['name']}!" if values is not None else "Hello!"


def _asking(name: str, *questions: str) -> Any:
    """Make a tool that asks the user."""

    async def ask(context: ToolContext) -> str:
        answers = [str(await context.ask_user(each)) for each in questions]
        return f"state-ok: {', '.join(answers)}"

    return tool(name=name, description="Ask the user.", read_only=True)(ask)


class SchemaTool:
    """Takes arguments by a schema that no function has.

    Args:
        name: of the tool.
        schema: of its arguments.
    """

    def __init__(self, name: str, schema: dict[str, Any]) -> None:
        self.definition = ToolDefinition(name, "Return the arguments.", schema, read_only=True)

    async def execute(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        """Return the arguments."""
        return ToolResult.success(arguments)


class Changing(ToolSource):
    """Publishes tools whose list changes when one of them is called."""

    def __init__(self, context: PluginContext) -> None:
        self._tools: SourceTools
        self._has_more = False

    async def start(self, tools: SourceTools) -> None:
        """Publish the tools."""
        self._tools = tools
        self._publish()

    def _publish(self) -> None:
        async def change() -> str:
            self._has_more = not self._has_more
            self._publish()
            return "The tools have changed."

        made = [tool(name="test_trigger_tool_change", description="Change the tools.", group=GROUP)(change)]
        if self._has_more:
            made.append(
                tool(name="test_changed_tool", description="Do nothing.", group=GROUP)(test_simple_text.function)
            )
        self._tools.publish(made)


@hookimpl
def register_tools(register: ToolRegistrar) -> None:
    """Register the tools in one group."""
    for each in (
        test_simple_text,
        test_image_content,
        test_audio_content,
        test_embedded_resource,
        test_multiple_content_types,
        test_error_handling,
        test_tool_with_progress,
        test_logging_tool,
        test_elicitation,
        SchemaTool("json_schema_2020_12_tool", _SCHEMA),
        SchemaTool("test_header", {"properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}),
        _asking("test_streaming_elicitation", "Go on?"),
        test_input_required_result_elicitation,
        *(_form(name, fields) for name, fields in _FORMS.items()),
        _asking("test_input_required_result_request_state", "Please confirm"),
        _asking("test_input_required_result_tampered_state", "Please confirm"),
        _asking("test_input_required_result_multi_round", "What is your name?", "What is your favorite color?"),
    ):
        register(each, group=GROUP)
    register.source("changing", "conformance_plugin:Changing", starts="open")


_PROMPTS = {
    "test_simple_prompt": MessageCommand("test_simple_prompt", "Say a text."),
    "test_prompt_with_arguments": MessageCommand(
        "test_prompt_with_arguments", "Say two values.", arguments=("arg1*", "arg2*")
    ),
}


@hookimpl
async def message_commands(context: PluginContext) -> list[MessageCommand]:
    """Return the prompts."""
    return list(_PROMPTS.values())


@hookimpl
async def expand_command(context: PluginContext, command: CommandUse) -> ExpandedMessage | None:
    """Return the text of a prompt."""
    if command.name not in _PROMPTS:
        return None
    return ExpandedMessage(f"This is a prompt for testing. {command.arguments}".strip())
