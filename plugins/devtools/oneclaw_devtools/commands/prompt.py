"""`oneclaw prompt`: what a model would be sent next."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from oneclaw_core import MessageType, UsageError
from oneclaw_core.cli import (
    is_terminal,
    json_option,
    print_json,
    print_text,
    printable,
    request_document,
    reserved_stdout,
    with_home,
)
from oneclaw_core.providers import ToolLoading

_LOADING = {
    ToolLoading.NATIVE: "loaded groups in the wire format's own way",
    ToolLoading.INLINE: "loaded groups in the conversation, where they were loaded",
    ToolLoading.APPEND: "loaded groups at the end of the tools",
    ToolLoading.DISPATCH: "loaded groups behind the tool use_tool",
}


@click.command()
@click.option("--session", metavar="NAME", help="A stored session, by name or id; by default a new one.")
@click.option("--agent", metavar="NAME", help="The agent; by default the session's.")
@click.option("--model", metavar="PROVIDER/MODEL", help="The model; by default the session's.")
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


def _print_wire(preview: Any, *, as_json: bool) -> None:
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
