"""Prompts of servers as chat commands: ``/SERVER__PROMPT argument=value``."""

from __future__ import annotations

import asyncio
import shlex
from typing import TYPE_CHECKING

from oneclaw_core import ExpandedMessage, MessageCommand, OneClawError, UsageError
from oneclaw_mcp.index import ServerIndex
from oneclaw_mcp.source import is_usable_here

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oneclaw_core import CommandUse, PluginContext
    from oneclaw_mcp.manifest import KnownPrompt
    from oneclaw_mcp.servers import Server
    from oneclaw_mcp.source import ServerSource

_MOST_CHARACTERS = 100_000


def prompt_commands(context: PluginContext) -> list[MessageCommand]:
    """Return the commands for all prompts that are known; no server is started."""
    return [
        MessageCommand(prompt.name, _summary(server, prompt), arguments=prompt.arguments)
        for server, prompt in _prompts(context)
    ]


async def expanded_prompt(context: PluginContext, command: CommandUse) -> ExpandedMessage | None:
    """Fetch the prompt of a command from its server; ``None`` if it is not a prompt.

    Raises:
        OneClawError: an argument is missing, or the server does not give it.
    """
    found = next((each for each in _prompts(context) if each[1].name == command.name), None)
    if found is None:
        return None
    server, prompt = found
    if not command.selection.allows_whole_group(server.group):
        raise UsageError(f"the agent {command.agent} may not use the MCP server {server.name}")
    arguments = read_arguments(prompt, command.arguments)
    source: ServerSource | None = await context.services.tool_source("mcp", "servers")  # type: ignore[assignment]  # ours
    if source is None:
        raise UsageError("the MCP servers are disabled")
    text = await context.services.on_program_loop(_fetched(source, server, prompt, arguments))
    origin = f"the MCP server {server.name}"
    return ExpandedMessage(f"[Prompt {prompt.wire} of {origin}]\n{text}", (server.group,), outside=origin)


async def _fetched(source: ServerSource, server: Server, prompt: KnownPrompt, arguments: dict[str, str]) -> str:
    from oneclaw_mcp.cleaning import cleaned
    from oneclaw_mcp.connection import describe

    try:
        client = await source.connection(server.name).started()
        async with asyncio.timeout(server.call_seconds):
            answer = await client.get_prompt(prompt.wire, arguments)
    except (OneClawError, TimeoutError):
        raise
    except Exception as error:  # noqa: BLE001  # a library and a foreign server
        raise OneClawError(f"the MCP server {server.name} does not give the prompt: {describe(error)}") from None
    texts = []
    for message in answer.messages:
        block = message.content.model_dump(by_alias=True, mode="json")
        resource = block.get("resource")
        text = block.get("text") or (resource.get("text") if isinstance(resource, dict) else None)
        kind = "" if message.role == "user" else f"[{message.role}] "
        texts.append(f"{kind}{cleaned(text, _MOST_CHARACTERS)}" if text else f"[{block.get('type')} left out]")
    return "\n\n".join(texts)


def read_arguments(prompt: KnownPrompt, text: str) -> dict[str, str]:
    """Read what stands behind a command: NAME=VALUE, or for a single argument its value.

    Raises:
        UsageError: a required one is missing, or one is unknown.
    """
    names = [each.rstrip("*") for each in prompt.arguments]
    if len(names) == 1 and text.strip() and not text.strip().startswith(f"{names[0]}="):
        return {names[0]: text.strip()}
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"/{prompt.name}: {error}") from None
    found = dict(each.partition("=")[::2] for each in words)
    unknown = [each for each in found if each not in names]
    missing = [each[:-1] for each in prompt.arguments if each.endswith("*") and each[:-1] not in found]
    if unknown or missing:
        usage = " ".join(f"{each.rstrip('*')}=..." for each in prompt.arguments)
        what = f"is missing {', '.join(missing)}" if missing else f"does not take {', '.join(unknown)}"
        raise UsageError(f"/{prompt.name} {what}: /{prompt.name} {usage}".rstrip())
    return found


def _prompts(context: PluginContext) -> Iterator[tuple[Server, KnownPrompt]]:
    index = ServerIndex(context.folder)
    try:
        servers = [index.servers()[name] for name, each in index.read().items() if each.has_prompts]
        servers = [each for each in servers if is_usable_here(each)]
    except OneClawError:
        return
    for server in servers:
        try:
            manifest = index.manifest(server)
        except OneClawError:
            continue
        for prompt in manifest.prompts if manifest is not None else ():
            yield server, prompt


def _summary(server: Server, prompt: KnownPrompt) -> str:
    arguments = " ".join(f"{each.rstrip('*')}=..." for each in prompt.arguments)
    return f"{prompt.description or prompt.wire} (MCP server {server.name}) {arguments}".rstrip()
