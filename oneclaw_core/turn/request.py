"""Build a model request, adapt it to the chosen model, and make the fingerprint of what it begins with."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from hashlib import blake2b
from itertools import chain, takewhile
from typing import TYPE_CHECKING

from oneclaw_core.providers.group_loads import loading_calls
from oneclaw_core.sessions.history import sent_files
from oneclaw_core.sessions.usage import PrefixFingerprint
from oneclaw_core.tools.toolset import build_system_prompt_with_tool_groups
from oneclaw_core.types.arguments import ArgumentsError, parse_arguments
from oneclaw_core.types.identity_cache import IdentityCache
from oneclaw_core.types.messages import Message, MessageType, ToolCall
from oneclaw_core.types.model_requests import ModelRequest, ToolLoading
from oneclaw_core.types.text import compact_json, shown_part
from oneclaw_core.types.tool_definition import ToolDefinition
from oneclaw_core.types.tool_groups import FIND_TOOL_GROUPS, LOAD_TOOL_GROUP, ActiveTools, one_line

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from oneclaw_core.contract.arguments import PromptSection
    from oneclaw_core.tools.registry import ToolRegistry
    from oneclaw_core.types.agents import Agent
    from oneclaw_core.types.messages import Attachment, Message
    from oneclaw_core.types.model_requests import ModelResponse
    from oneclaw_core.types.tool_groups import LoadedGroup


TOOL_GROUPS = "tool groups"
TOOLS = "tools"


def prompt_lists(
    agent: Agent,
    registry: ToolRegistry,
    current_sections: Sequence[PromptSection] = (),
    began_with: Container[str] | None = None,
) -> dict[str, str]:
    """Write the current lists of skills and groups for a model.

    Args:
        agent: with its toolset for this turn.
        registry: whose tools and groups; one without an enabled tool for the agent is not listed.
        current_sections: of plugins; left out if they are about a core tool that the agent lacks.
        began_with: the core tools that the session began with, which keeps its way of listing groups; ``None`` for a
            new one.

    Returns:
        The sections of plugins, the list of tool groups (``TOOL_GROUPS``) and the names of the core tools (``TOOLS``),
        which stands in no system prompt, since the request has the tools themselves.
    """
    selected = registry.toolset(agent.selection)
    core = {each.name: None for each in selected.active((), began_with).core}
    lists: dict[str, str] = {}
    for each in current_sections:
        if each.core_tool is None or each.core_tool in core:
            name = f"section {each.id}"
            lists[name] = f"{lists[name]}\n\n{each.text}" if name in lists else each.text
    lists[TOOL_GROUPS] = build_system_prompt_with_tool_groups(
        "", selected.groups, finds_groups=FIND_TOOL_GROUPS in core
    )
    lists[TOOLS] = "\n".join(["## Tools", *(f"- {name}" for name in core)])
    return lists


def tool_names(lists: Mapping[str, str]) -> frozenset[str]:
    """Return the names of the core tools in what :func:`prompt_lists` wrote."""
    return frozenset(lists[TOOLS].split("\n- ")[1:])


def shown_history(messages: Iterable[Message]) -> list[Message]:
    """Cut the results in a history to what a model is shown of them, and put them in the order of their calls.

    They were stored in the order in which they came, which a turn does not keep to either. An answer that broke off is
    shown where the user replied to it; where the turn was resumed, the model answered anew. A message that a service
    refused is left out.
    """
    shown: list[Message] = []
    broken_off: Message | None = None
    places: dict[str | None, int] = {}
    results: list[Message] = []
    for message in messages:
        if message.provider_data and (reason := message.not_sent) is not None:
            if message.type is MessageType.USER:
                continue
            message = left_out(message, reason)
        if message.type is MessageType.TOOL_RESULT:
            if message.shown_characters is not None:
                message = cut_result(message)
            results.append(message)
            continue
        if results:
            shown += _in_call_order(results, places)
            results = []
        if broken_off is not None and message.type is MessageType.USER:
            shown.append(broken_off)
        broken_off = message if message.is_incomplete else None
        if broken_off is not None:
            continue
        if message.type is MessageType.TOOL_CALL:
            places[message.tool_call_id] = len(places)
        shown.append(message)
    return shown + _in_call_order(results, places)


def cut_result(message: Message) -> Message:
    """Put what a model is shown of a long result in the place of the result."""
    if message.shown is not None:
        return replace(message, content=message.shown)
    return replace(message, content=shown_part(message.content, message.shown_characters), is_json=False)


def left_out(message: Message, reason: str) -> Message:
    """Put a note in the place of a message that a service refused."""
    return replace(message, content=not_sent_note(reason), shown_characters=None, is_json=False, attachments=())


def not_sent_note(reason: str) -> str:
    """Return what stands for a message that a service refused."""
    return f"[This message is left out, for the model service refused it: {reason}]"


def _in_call_order(results: list[Message], places: Mapping[str | None, int]) -> list[Message]:
    if len(results) > 1:
        results.sort(key=lambda result: places.get(result.tool_call_id, -1))
    return results


def model_request(
    agent: Agent,
    registry: ToolRegistry,
    model: str,
    session_id: str,
    history: Sequence[Message],
    groups: Sequence[str],
    sections: str = "",
    lists: Mapping[str, str] | None = None,
) -> ModelRequest:
    """Put together everything a model is sent.

    The system prompt has the agent's instructions, sections of plugins and the list of tool groups.

    Args:
        agent: its instructions, parameters and selection of tools.
        registry: the tools there are.
        model: the model's name at its provider.
        session_id: the conversation.
        history: as it is shown to a model.
        groups: the loaded tool groups in the order of loading.
        sections: of plugins, which are kept with the session.
        lists: as :func:`prompt_lists` wrote them when the session began; ``None`` for those of now.
    """
    tools = registry.toolset(agent.selection).active(groups, None if lists is None else tool_names(lists))
    if lists is None:
        lists = prompt_lists(agent, registry)
    current = (text for name, text in lists.items() if name not in (TOOL_GROUPS, TOOLS))
    prompt = "\n\n".join(part for part in (agent.system_prompt, sections, *current) if part.strip())
    if listed := lists[TOOL_GROUPS]:
        prompt = f"{prompt}\n\n---\n\n{listed}"
    return ModelRequest(
        model=model,
        system_prompt=prompt,
        messages=tuple(history),
        tools=tools,
        session_id=session_id,
        parameters=agent.parameters,
    )


def with_files_taken(messages: Sequence[Message], accepted: Sequence[str] | None) -> tuple[Message, ...]:
    """Put a note in the place of every file that cannot be sent: services refuse a request with one.

    The same messages in give the same messages out.

    Args:
        messages: as they would be sent.
        accepted: prefixes of the media types that the model takes; ``None`` if it is not known.
    """
    if not any(message.attachments for message in messages):
        return tuple(messages)
    sent = sent_files(messages)
    return tuple(
        _with_notes(message, accepted, is_old=place not in sent) if message.attachments else message
        for place, message in enumerate(messages)
    )


def _with_notes(message: Message, accepted: Sequence[str] | None, *, is_old: bool) -> Message:
    taken = []
    notes = []
    for each in message.files_for_model:
        if accepted is not None and not each.media_type.lower().startswith(tuple(accepted)):
            notes.append(f"[{_named(each)} cannot be shown to this model]")
        elif is_old or each.left_out_bytes is not None:
            notes.append(f"[{_named(each)} was shown here and is not sent again: ask for it if you need it]")
        else:
            taken.append(each)
    if not notes:
        return message if len(taken) == len(message.attachments) else replace(message, attachments=tuple(taken))
    text = "\n".join([*filter(None, [message.content]), *notes])
    return replace(message, content=text, is_json=False, attachments=tuple(taken))


def _named(attachment: Attachment) -> str:
    return f"{attachment.name} ({attachment.media_type})"


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


_NAME_FIRST = re.compile(r'\s*\{\s*"name"\s*:\s*"([^"\\]{1,200})"')
_HASH_BYTES = 8
_MOST_LISTS = 8


class CachePrefixes:
    """Makes fingerprints of requests; one for many turns, since it remembers those of tools."""

    def __init__(self) -> None:
        self._tools = IdentityCache(_of_tool)
        self._lists: dict[tuple[int, ...], tuple[object, str]] = {}

    def of(self, request: ModelRequest, *, are_groups_at_front: bool) -> PrefixFingerprint:
        """Make the fingerprint of a request.

        Args:
            request: everything a model is sent.
            are_groups_at_front: True if the tools of loaded groups stand with the core tools, before the messages,
                so that loading a group changes what the request begins with.
        """
        groups = request.tools.groups if are_groups_at_front else ()
        return PrefixFingerprint(
            tools=self._of_tools((request.tools.core, *(group.tools for group in groups), request.tools.of_turn)),
            system_prompt=_hash([request.system_prompt.encode(errors="replace")]),
            history=_of_history(request.messages),
        )

    def _of_tools(self, parts: tuple[Sequence[ToolDefinition], ...]) -> str:
        if len(self._lists) >= _MOST_LISTS:
            self._lists.clear()
        # By identity; the thing itself is in the value, so that no other can take over its identity.
        key = tuple(map(id, parts))
        known = self._lists.get(key)
        if known is None:
            known = self._lists[key] = (parts, _hash(map(self._tools.of, chain.from_iterable(parts))))
        return known[1]


def _of_tool(tool: ToolDefinition) -> bytes:
    text = json.dumps([tool.name, tool.description, tool.parameters], default=str)
    return blake2b(text.encode(), digest_size=_HASH_BYTES).digest()


def _of_history(messages: Sequence[Message]) -> str:
    """Say where the messages begin: what is stored never changes, and what is not stored is a summary."""
    unstored = [each.content for each in takewhile(lambda each: each.sequence is None, messages)]
    first = messages[len(unstored)].sequence if len(unstored) < len(messages) else None
    return f"{first}:{_hash(text.encode(errors='replace') for text in unstored)}" if unstored else str(first)


def _hash(parts: Iterable[bytes]) -> str:
    digest = blake2b(digest_size=_HASH_BYTES)
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()
