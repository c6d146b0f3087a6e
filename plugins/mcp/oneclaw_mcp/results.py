"""Results of servers as results of tools: text, pictures, files and links."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import mimetypes
from typing import TYPE_CHECKING, Any

from oneclaw_core import Attachment, PermissionDeniedError, ToolResult
from oneclaw_core.process import run_in_thread
from oneclaw_core.tools import replace_content
from oneclaw_mcp.cleaning import cleaned, foreign_faults

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from oneclaw_core import ToolContext
    from oneclaw_mcp.manifest import KnownTool
    from oneclaw_mcp.servers import Server

_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
# Those that not every Python knows.
_EXTENSIONS = {"audio/wav": ".wav", "audio/webm": ".weba", "audio/ogg": ".ogg"}
_MAX_URI_CHARACTERS = 2_000
_PREVIEW_CHARACTERS = 4_000


async def tool_result(server: Server, tool: KnownTool, answer: Mapping[str, Any], context: ToolContext) -> ToolResult:
    """Make the result of a call.

    Args:
        server: the server.
        tool: what was called.
        answer: of the server, as the protocol has it.
        context: of the call.
    """
    blocks: list[dict[str, Any]] = answer["content"]
    parts, pictures = await content_parts(server, blocks, context)
    text = "\n\n".join(parts)
    if answer.get("isError"):
        return ToolResult.error(
            "execution_error", text or f"The MCP server {server.name} says no more than that it failed."
        )
    structured = answer.get("structuredContent")
    if structured is None:
        return ToolResult.success(await shown_text(server, text, context), pictures)
    note = [] if tool.output_schema is None else await run_in_thread(lambda: _misfit(tool, structured))
    others = [part for part, block in zip(parts, blocks, strict=True) if block.get("type") != "text"]
    if note or others:
        written = json.dumps(structured, ensure_ascii=False)
        return ToolResult.success(await shown_text(server, "\n\n".join([written, *others, *note]), context), pictures)
    written = json.dumps(structured, ensure_ascii=False)
    shown = await shown_text(server, written, context)
    return ToolResult.success(structured if shown is written else shown, pictures)


async def content_parts(
    server: Server, blocks: list[dict[str, Any]], context: ToolContext
) -> tuple[list[str], tuple[Attachment, ...]]:
    """Return a text for each block of content, and the pictures; what is neither is put into a file."""
    parts: list[str] = []
    pictures: list[Attachment] = []
    for block in blocks:
        kind = block.get("type")
        if kind == "text":
            parts.append(str(block.get("text", "")))
        elif kind in ("image", "audio"):
            data = _decoded(block.get("data"))
            media_type = cleaned(block.get("mimeType"), 100) or "application/octet-stream"
            if data is None:
                parts.append(f"[the server sent {kind} data that is not base64]")
            elif kind == "image" and media_type in _PICTURES:
                name = f"{server.name}-{len(pictures) + 1}{mimetypes.guess_extension(media_type) or ''}"
                pictures.append(Attachment(name, media_type, data))
                parts.append(f"[picture {name}]")
            else:
                parts.append(await _saved(server, data, media_type, context))
        elif kind == "resource_link":
            parts.append(_link(block))
        elif kind == "resource" and isinstance(block.get("resource"), dict):
            parts.append(await resource_part(server, block["resource"], context))
        else:
            parts.append(f"[content of the unknown type {cleaned(str(kind), 50)}]")
    return parts, tuple(pictures)


async def resource_part(server: Server, resource: dict[str, Any], context: ToolContext) -> str:
    """Return the text of a resource; other data is put into a file."""
    uri = cleaned(resource.get("uri"), _MAX_URI_CHARACTERS)
    if isinstance(resource.get("text"), str):
        return f"[resource {uri}]\n{resource['text']}"
    data = _decoded(resource.get("blob"))
    if data is None:
        return f"[resource {uri} without content]"
    media_type = cleaned(resource.get("mimeType"), 100) or "application/octet-stream"
    return f"[resource {uri}] {await _saved(server, data, media_type, context)}"


def _link(block: dict[str, Any]) -> str:
    uri = cleaned(block.get("uri"), _MAX_URI_CHARACTERS)
    name = cleaned(block.get("title") or block.get("name"), 200)
    description = cleaned(block.get("description"), 300)
    return f"[resource {uri}] {name}{': ' + description if description else ''}".rstrip()


def _misfit(tool: KnownTool, structured: Any) -> list[str]:
    """Say that a structured result does not fit the schema that the server gave for it."""
    assert tool.output_schema is not None
    try:
        faults = foreign_faults({"type": "object", **tool.output_schema}, structured)
    except Exception as error:  # noqa: BLE001  # a foreign schema; the result counts nevertheless
        return [f"[the server's schema of results cannot be used: {cleaned(str(error), 200)}]"]
    return [f"[the result does not fit the server's own schema: {cleaned(' '.join(faults), 500)}]"] if faults else []


async def shown_text(server: Server, text: str, context: ToolContext) -> str:
    """Return a text; of a long one its beginning, and the file that holds all of it."""
    limit = context.shown_characters
    if limit is None or len(text) <= limit:
        return text
    where = await _saved(server, text.encode("utf-8", "replace"), "text/plain", context)
    preview = text[: min(_PREVIEW_CHARACTERS, limit)]
    return f"{preview}\n[{len(preview):,} of {len(text):,} characters are shown; all of it is a] {where}"


async def _saved(server: Server, data: bytes, media_type: str, context: ToolContext) -> str:
    extension = _EXTENSIONS.get(media_type) or mimetypes.guess_extension(media_type) or ".bin"
    name = f"{hashlib.sha256(data).hexdigest()[:12]}{extension}"
    try:
        path = await context.writable(context.paths.workspace / "mcp" / server.name / name)
        await run_in_thread(lambda: _write(path, data, context))
    except (OSError, PermissionDeniedError) as error:
        return f"[{len(data):,} bytes of {media_type}, which could not be saved: {cleaned(str(error), 200)}]"
    return f"[file {path}: {len(data):,} bytes of {media_type}]"


def _write(path: Path, data: bytes, context: ToolContext) -> None:
    if path.exists():  # its name says what is in it
        return
    replace_content(path, data, context.paths)


def _decoded(data: object) -> bytes | None:
    try:
        return base64.b64decode(data, validate=True) if isinstance(data, str) else None
    except (binascii.Error, ValueError):
        return None
