"""Results of servers as results of tools: text, pictures, files and links."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import mimetypes
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from oneclaw_core import Attachment, PermissionDeniedError, ToolResult
from oneclaw_core.files import replace_content
from oneclaw_core.process import run_in_thread
from oneclaw_mcp.cleaning import cleaned, foreign_faults

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping
    from pathlib import Path

    from oneclaw_core import ToolContext
    from oneclaw_mcp.manifest import KnownTool
    from oneclaw_mcp.servers import Server

    DataPart = Callable[[bytes, str], Awaitable[str]]

_PICTURES = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}
# Members of a result that are told elsewhere.
_NO_CONTENT = frozenset(
    {"_meta", "isError", "is_error", "resultType", "structuredContent", "structured_content", "ttlMs", "cacheScope"}
)
# Those that not every Python knows.
_EXTENSIONS = {"audio/wav": ".wav", "audio/webm": ".weba", "audio/ogg": ".ogg"}
_KINDS = ("image", "audio", "resource", "resource_link")
_BLANKS = re.compile(r"\s+")
_URL_SAFE = str.maketrans("-_", "+/")
_MAX_URI_CHARACTERS = 2_000
_PREVIEW_CHARACTERS = 4_000
_LOGGED_CHARACTERS = 1_000


async def tool_result(server: Server, tool: KnownTool, answer: Any, context: ToolContext) -> ToolResult:
    """Make the result of a call, with what is of use in it wherever that stands.

    Args:
        server: the server.
        tool: what was called.
        answer: of the server, as it has sent it.
        context: of the call.
    """
    given = answer if isinstance(answer, dict) else {}
    structured = _member(given, "structuredContent", "structured_content")
    parts, pictures = await content_parts(server, _blocks(answer), context)
    shown = [part.text for part in parts]
    if _member(given, "isError", "is_error") in (True, "true", 1):
        repeats = structured is None or any(_value(part.text) in list(_repeated(structured)) for part in parts)
        text = "\n\n".join(filter(None, shown if repeats else [*shown, _as_text(structured)]))
        return ToolResult.error(
            "execution_error", text or f"The MCP server {server.name} says no more than that it failed."
        )
    if structured is None and tool.output_schema is not None:
        structured = await run_in_thread(lambda: _written_value(tool, parts))
    if structured is None:
        return ToolResult.success(await shown_text(server, "\n\n".join(shown), context), pictures)
    note = [] if tool.output_schema is None else await run_in_thread(lambda: _misfit(tool, structured))
    repeated = list(_repeated(structured))
    # Servers repeat a structured result as text, for clients that know of texts only.
    others = [part.text for part in parts if part.text and not (part.is_text and _value(part.text) in repeated)]
    if len(others) > 1 and all(part.is_text for part in parts) and [_value(each.text) for each in parts] in repeated:
        others = []
    if context.is_inner_call and tool.output_schema is not None:  # the type that the script was told
        for each in (*note, *others):
            context.logger.info("beside its value the server sent: %s", each[:_LOGGED_CHARACTERS])
        return ToolResult.success(structured, pictures)
    written = json.dumps(structured, ensure_ascii=False)
    if note or others:
        return ToolResult.success(await shown_text(server, "\n\n".join([written, *others, *note]), context), pictures)
    shown_whole = await shown_text(server, written, context)
    return ToolResult.success(structured if shown_whole is written else shown_whole, pictures)


class Part(NamedTuple):
    """A text in the place of a block of content.

    Attributes:
        text: for the model.
        is_text: True if the block was a text.
    """

    text: str
    is_text: bool = False


async def content_parts(
    server: Server, blocks: list[Any], context: ToolContext
) -> tuple[list[Part], tuple[Attachment, ...]]:
    """Return a text for each block of content, and the pictures; what is neither is put into a file."""
    parts: list[Part] = []
    pictures: list[Attachment] = []

    async def data_part(data: bytes, media_type: str) -> str:
        kind = _picture_type(data)
        if kind is None:
            return await _saved(server, data, media_type, context)
        name = f"{server.name}-{len(pictures) + 1}{mimetypes.guess_extension(kind) or ''}"
        pictures.append(Attachment(name, kind, data))
        return f"[picture {name}]"

    for block in blocks:
        if isinstance(block, str):
            parts.append(Part(block, is_text=True))
            continue
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "text" or (
            kind not in _KINDS and isinstance(block, dict) and "text" in block and "uri" not in block
        ):
            parts.append(Part(_as_text(block.get("text", "")), is_text=True))
        elif kind in ("image", "audio"):
            parts.append(Part(await _media_part(block, kind, data_part)))
        elif kind == "resource_link":
            parts.append(Part(_link(block)))
        elif isinstance(block, dict) and (kind == "resource" or "uri" in block):
            resource = block.get("resource")
            parts.append(Part(await _resource_part(resource if isinstance(resource, dict) else block, data_part)))
        else:  # of a kind that is not known here
            parts.append(Part(_as_text(block)))
    return parts, tuple(pictures)


def _blocks(answer: Any) -> list[Any]:
    """Return the blocks of a result; what has none of them is one itself, as in the first versions of the protocol."""
    if not isinstance(answer, dict):
        found = answer
    elif "content" in answer:
        found = answer["content"]
    elif "toolResult" in answer:
        found = answer["toolResult"]
        return _blocks(found) if isinstance(found, dict) and "content" in found else [_as_text(found)]
    else:
        others = {name: value for name, value in answer.items() if name not in _NO_CONTENT}
        found = [_as_text(others)] if others else []
    return found if isinstance(found, list) else [] if found is None else [found]


def _repeated(structured: Any) -> Iterator[Any]:
    """Yield what a text that repeats a structured result holds; libraries put other values into an object first."""
    yield structured
    if isinstance(structured, dict) and len(structured) == 1:
        (inner,) = structured.values()
        yield inner
        if isinstance(inner, list):
            yield from inner


def is_empty(value: Any) -> bool:
    """Return True for a result that holds nothing, such as empty lists in an object, also written as JSON."""
    if isinstance(value, str):
        read = _value(value)
        return not value.strip() or (isinstance(read, dict | list) and is_empty(read))
    if isinstance(value, dict):
        return all(map(is_empty, value.values()))
    return value is None or (isinstance(value, list) and all(map(is_empty, value)))


def _value(text: str) -> Any:
    """Return the JSON value of a text, or the text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _member(given: Mapping[str, Any], *names: str) -> Any:
    """Return the first of some members that there is; some servers write them as Python does."""
    return next((given[name] for name in names if given.get(name) is not None), None)


async def _media_part(block: Mapping[str, Any], kind: str, data_part: DataPart) -> str:
    source = block.get("source")
    given = source if isinstance(source, dict) else block
    media_type = cleaned(_member(given, "mimeType", "mime_type", "media_type"), 100) or "application/octet-stream"
    data = _decoded(given.get("data"))
    return f"[the server sent {kind} data that is not base64]" if data is None else await data_part(data, media_type)


async def _resource_part(resource: Mapping[str, Any], data_part: DataPart) -> str:
    """Return the text of a resource; a picture is shown, and other data is put into a file."""
    uri = cleaned(resource.get("uri"), _MAX_URI_CHARACTERS)
    if resource.get("text") is not None:
        return f"[resource {uri}]\n{_as_text(resource['text'])}"
    data = _decoded(resource.get("blob"))
    if data is None:
        return f"[resource {uri} without content]"
    media_type = cleaned(_member(resource, "mimeType", "mime_type"), 100) or "application/octet-stream"
    return f"[resource {uri}] {await data_part(data, media_type)}"


def _picture_type(data: bytes) -> str | None:
    """Return the type of a picture that models take, by its bytes; ``None`` for anything else."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for beginning, kind in _PICTURES.items() if data.startswith(beginning)), None)


def _link(block: dict[str, Any]) -> str:
    uri = cleaned(block.get("uri"), _MAX_URI_CHARACTERS)
    name = cleaned(block.get("title") or block.get("name"), 200)
    description = cleaned(block.get("description"), 300)
    return f"[resource {uri}] {name}{': ' + description if description else ''}".rstrip()


def _written_value(tool: KnownTool, parts: list[Part]) -> Any:
    """Return the structured value that a server has only written as text; ``None`` if it is none, or does not fit."""
    if len(parts) != 1 or not parts[0].is_text:
        return None
    value = _value(parts[0].text)
    return value if isinstance(value, dict | list) and not _misfit(tool, value) else None


def _misfit(tool: KnownTool, structured: Any) -> list[str]:
    """Say that a structured result does not fit the schema that the server gave for it."""
    assert tool.output_schema is not None
    try:
        faults = foreign_faults(tool.output_schema, structured)
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
    """Decode base64, also without padding, with line breaks, or in a ``data:`` URL."""
    if not isinstance(data, str):
        return None
    text = _BLANKS.sub("", data.partition(",")[2] if data.startswith("data:") else data)
    text = text.translate(_URL_SAFE).rstrip("=")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
