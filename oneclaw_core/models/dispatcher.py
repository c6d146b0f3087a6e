"""The dispatcher: a tool through which the tools of loaded groups are called."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from oneclaw_core.types.arguments import ArgumentsError, parse_arguments
from oneclaw_core.types.messages import Message, MessageType, ToolCall
from oneclaw_core.types.model_requests import ModelRequest, ModelResponse, ToolLoading, loading_calls
from oneclaw_core.types.text import compact_json
from oneclaw_core.types.tool_groups import LOAD_TOOL_GROUP, ActiveTools, LoadedGroup, one_line
from oneclaw_core.types.tools import ToolDefinition

if TYPE_CHECKING:
    from collections.abc import Iterable


USE_TOOL = "use_tool"
USE_TOOL_DEFINITION = ToolDefinition(
    name=USE_TOOL,
    description="Call a tool of a loaded tool group. These tools are not listed here: the result of "
    f"{LOAD_TOOL_GROUP} lists them with the JSON Schema of their arguments. Call all other tools directly.",
    parameters={
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "The name of the tool"},
            "arguments": {"type": "object", "description": "Its arguments, as its JSON Schema asks for them"},
        },
        "required": ["name", "arguments"],
    },
)
_NAME_FIRST = re.compile(r'\s*\{\s*"name"\s*:\s*"([^"\\]{1,200})"')


def dispatched_request(request: ModelRequest) -> ModelRequest:
    """Rewrite a request so that grouped tools are called through ``use_tool``.

    The tools become the core tools and ``use_tool``; calls of all other tools in the history, calls of ``use_tool``;
    and the result that loaded a group carries the schemas of its tools. Where that result is no longer among the
    messages, the system prompt carries them. The same request in gives the same request out, and a history that
    only grows stays one that only grows.

    Args:
        request: as it would be sent without a dispatcher; the executor still goes by its tools.
    """
    own = request.tools.of_turn
    core_names = {definition.name for definition in (*request.tools.core, *own)} | {USE_TOOL}
    loads = loading_calls(request)
    forgotten = loads.pop(None, [])
    core = tuple(definition for definition in request.tools.core if definition.name != USE_TOOL)
    return replace(
        request,
        system_prompt="\n\n".join(filter(None, [request.system_prompt, *map(_listing, forgotten)])),
        messages=tuple(_dispatched(message, core_names, loads) for message in request.messages),
        tools=ActiveTools((*core, USE_TOOL_DEFINITION), of_turn=own),
        tool_loading=ToolLoading.APPEND,  # nothing is left to load
    )


def undispatched_response(response: ModelResponse) -> ModelResponse:
    """Turn calls of ``use_tool`` in a response into calls of the tools they name, under the same ids.

    What does not name a tool stays a call of ``use_tool``, which the executor answers with ``not_found``; arguments
    that are none are passed on as they are, and the executor answers with ``validation_error``.
    """
    cut_calls = tuple(replace(call, name=_name_in_cut(call)) for call in response.cut_calls)
    return replace(response, tool_calls=tuple(map(_unwrapped, response.tool_calls)), cut_calls=cut_calls)


def _dispatched(message: Message, core_names: set[str], loads: dict[str | None, list[LoadedGroup]]) -> Message:
    match message.type:
        case MessageType.TOOL_CALL if message.tool_name is not None and message.tool_name not in core_names:
            wrapped = _wrapped(message.tool_name, message.tool_input or "")
            return replace(message, tool_name=USE_TOOL, tool_input=wrapped)
        case MessageType.TOOL_RESULT if message.tool_call_id in loads:
            schemas = [_schemas(group.tools) for group in loads[message.tool_call_id]]
            return replace(message, content="\n\n".join([message.content, *schemas]))
        case MessageType.TOOL_RESULT if message.tool_name is not None and message.tool_name not in core_names:
            return replace(message, tool_name=USE_TOOL)
        case _:
            return message


def _wrapped(name: str, tool_input: str) -> str:
    try:
        parse_arguments(tool_input)
    except ArgumentsError:
        tool_input = compact_json(tool_input)  # the model is to see what it wrote
    return f'{{"name":{compact_json(name)},"arguments":{tool_input.strip() or "{}"}}}'


def _name_in_cut(call: ToolCall) -> str:
    """Find the tool that a call was for whose arguments are not complete."""
    found = _NAME_FIRST.match(call.arguments) if call.name == USE_TOOL else None
    return found[1] if found is not None else call.name


def _unwrapped(call: ToolCall) -> ToolCall:
    if call.name != USE_TOOL:
        return call
    try:
        outer = parse_arguments(call.arguments)
    except ArgumentsError:
        return call
    name = outer.pop("name", None)
    if not isinstance(name, str) or not name.strip():
        return call
    # Models forget the nesting, and write the tool's arguments beside its name.
    arguments = outer.get("arguments", outer)
    if not isinstance(arguments, str):
        arguments = compact_json({} if arguments is None else arguments)
    return ToolCall(call.id, name.strip(), arguments)


def _schemas(tools: Iterable[ToolDefinition]) -> str:
    lines = (f"{tool.name}: {compact_json(tool.parameters)}" for tool in tools)
    return "\n".join([f"Call them through {USE_TOOL}. The JSON Schema of the arguments of each:", *lines])


def _listing(group: LoadedGroup) -> str:
    """Write what the result of loading a group says, for when it has been cut from the history."""
    lines = (f"- {tool.name}: {one_line(tool.description)}" for tool in group.tools)
    return "\n".join([f"The tool group '{group.name}' is loaded. Its tools:", *lines, _schemas(group.tools)])
