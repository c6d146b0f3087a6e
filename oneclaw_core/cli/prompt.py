"""``oneclaw prompt``: what a model would be sent next."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from oneclaw_core.cli.options import stored_conversation_options
from oneclaw_core.cli.output import is_terminal, json_option, print_json, print_text, printable, reserved_stdout
from oneclaw_core.cli.running import with_home
from oneclaw_core.compaction.estimate import definition_tokens, message_tokens, text_tokens
from oneclaw_core.errors import UsageError
from oneclaw_core.types.messages import MessageType
from oneclaw_core.types.model_requests import ToolLoading

if TYPE_CHECKING:
    from oneclaw_core.previews.preview import RequestPreview
    from oneclaw_core.types.messages import Message
    from oneclaw_core.types.tools import ToolDefinition


_LOADING = {
    ToolLoading.NATIVE: "loaded groups in the wire format's own way",
    ToolLoading.INLINE: "loaded groups in the conversation, where they were loaded",
    ToolLoading.APPEND: "loaded groups at the end of the tools",
    ToolLoading.DISPATCH: "loaded groups behind the tool use_tool",
}


@click.command()
@stored_conversation_options
@click.option("--wire", "is_wired", is_flag=True, help="Print the body as the provider writes it, as JSON.")
@json_option
def prompt(session: str | None, agent: str | None, model: str | None, is_wired: bool, as_json: bool) -> None:
    """Show exactly what would be sent to the model next, before your message.

    Sizes are estimated at 4 bytes of text for a token. With --wire, the body is shown exactly; with --wire --json, also
    its address and headers. The key is never shown.
    """
    with reserved_stdout():
        preview = with_home(
            lambda claw: claw.preview_request(session=session, agent=agent, model=model, is_wired=is_wired),
            migrates=False,
        )
    if is_wired:
        _print_wire(preview, as_json=as_json)
    elif as_json:
        print_json(request_document(preview))
    else:
        _print_parts(request_document(preview))


def request_document(preview: RequestPreview) -> dict[str, Any]:
    """Describe a request, each part with its estimated size in tokens."""
    request = preview.request
    group_of = {definition.name: group.name for group in request.tools.groups for definition in group.tools}
    tools = [_tool_document(definition, group_of.get(definition.name)) for definition in request.tools]
    messages = [_message_document(message) for message in request.messages]
    sizes = {
        "system_prompt": text_tokens(request.system_prompt),
        "tools": sum(tool["estimated_tokens"] for tool in tools),
        "messages": sum(message["estimated_tokens"] for message in messages),
    }
    return {
        "model": preview.model,
        "tool_loading": str(preview.tool_loading),
        "max_output_tokens": request.max_output_tokens,
        "parameters": dict(request.parameters),
        "system_prompt": request.system_prompt,
        "tools": tools,
        "messages": messages,
        "estimated_tokens": {**sizes, "total": sum(sizes.values())},
    }


def _print_wire(preview: RequestPreview, *, as_json: bool) -> None:
    wire = preview.wire
    if wire is None:
        raise UsageError(
            f"the provider type {preview.provider_type!r} has no wire format to show; see the request without --wire"
        )
    body = wire.body.decode()
    if as_json:
        print_json({"method": "POST", "url": wire.url, "headers": dict(wire.headers), "body": json.loads(body)})
    else:
        # Programs get the bytes that would be sent.
        click.echo(printable(body) if is_terminal(sys.stdout) else body)


def _tool_document(definition: ToolDefinition, group: str | None) -> dict[str, Any]:
    sent = {"name": definition.name, "description": definition.description, "parameters": definition.parameters}
    return {**sent, "group": group, "estimated_tokens": definition_tokens(definition)}


def _message_document(message: Message) -> dict[str, Any]:
    document: dict[str, Any] = {"type": str(message.type)}
    if message.tool_name is not None:
        document |= {"tool_call_id": message.tool_call_id, "tool_name": message.tool_name}
    if message.type is MessageType.TOOL_CALL:
        document["arguments"] = message.tool_input
    else:
        document["content"] = message.content
    if message.type is MessageType.TOOL_RESULT:
        document |= {"status": str(message.tool_status), "error_type": message.error_type}
    if message.provider_data is not None:
        document["provider_data"] = message.provider_data
    return {**document, "estimated_tokens": message_tokens(message)}


def _compact(document: Any) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def _print_parts(document: dict[str, Any]) -> None:
    sizes = document["estimated_tokens"]
    loading = ToolLoading(document["tool_loading"])
    print_text(f"Model: {document['model']}")
    print_text(f"Tool loading: {loading} ({_LOADING[loading]})")
    if document["max_output_tokens"] is not None:
        print_text(f"Longest answer: {document['max_output_tokens']:,} tokens")
    if document["parameters"]:
        print_text(f"Parameters: {_compact(document['parameters'])}")
    _print_heading("System prompt", sizes["system_prompt"])
    print_text(document["system_prompt"])
    _print_heading(f"Tools ({len(document['tools'])})", sizes["tools"])
    for tool in document["tools"]:
        print_text(_compact({key: tool[key] for key in ("name", "description", "parameters")}))
        group = f", tool group {tool['group']}" if tool["group"] else ""
        print_text(f"    {_tokens(tool['estimated_tokens'])}{group}")
    _print_heading(f"Messages ({len(document['messages'])})", sizes["messages"])
    for message in document["messages"]:
        print_text(f"[{_message_heading(message)}: {_tokens(message['estimated_tokens'])}]")
        print_text(message["arguments"] if message["type"] == MessageType.TOOL_CALL else message["content"])
    _print_heading("Total", sizes["total"])


def _message_heading(message: dict[str, Any]) -> str:
    words = [message["type"], message.get("tool_name"), message.get("status"), message.get("error_type")]
    return " ".join(word for word in words if word)


def _print_heading(text: str, tokens: int) -> None:
    print_text(f"\n== {text}: {_tokens(tokens)} ==")


def _tokens(count: int) -> str:
    return f"estimated {count:,} token{'' if count == 1 else 's'}"
