"""The core tool ``http_request`` (FEAT-004, "Built-in Tools")."""

from __future__ import annotations

import asyncio
import mimetypes
import re
import time
import unicodedata
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from oneclaw_core.builtin.files import DOWNLOADS
from oneclaw_core.errors import PermissionDeniedError
from oneclaw_core.files.access import NewFile, new_file
from oneclaw_core.files.text_content import untrusted
from oneclaw_core.http.clients import expands_boundedly
from oneclaw_core.http.messages import (
    InvalidRequestError,
    body_pieces,
    decoded,
    failure_text,
    media_type,
    outgoing_request,
    shown_url,
    status_text,
)
from oneclaw_core.types.tools import ToolResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import httpx

    from oneclaw_core.tools.context import ToolContext

MAX_SAVED_BYTES = 50 * 1024 * 1024
MAX_BEGINNING_BYTES = 100 * 1024
_MAX_NAME_BYTES = 100
_NOT_IN_NAMES = re.compile(r"[^\w.()+@=,-]+")
# Within the tool's timeout of 30 s, so that what has come by then is not lost.
MAX_SECONDS = 26.0
# What tells a model nothing, and what it would pay for.
_NOISE_HEADERS = re.compile(
    r"accept-ch|age|alt-svc|cache-control|cdn-.*|cf-.*|connection|content-security-policy.*|cross-origin-.*|expect-ct|"
    r"expires|feature-policy|keep-alive|nel|origin-agent-cluster|origin-trial|p3p|permissions-policy.*|pragma|"
    r"priority|referrer-policy|report-to|reporting-endpoints|server|server-timing|strict-transport-security|"
    r"timing-allow-origin|transfer-encoding|vary|via|"
    r"x-(amz-.*|aspnet.*|cache.*|cdn.*|content-type-options|dns-prefetch-control|download-options|envoy-.*|"
    r"frame-options|permitted-cross-domain-policies|powered-by|robots-tag|runtime|served-by|timer|ua-compatible|"
    r"varnish|xss-protection)",
    re.IGNORECASE,
)
_MAX_SHOWN_HEADERS = 50
_MAX_HEADER_CHARACTERS = 1000
# Room in what a model is shown for the marks and notes around a body.
_FRAME_CHARACTERS = 1000
_LEAST_SHOWN_CHARACTERS = 500


async def http_request(
    url: str,
    method: str = "GET",
    headers: dict[str, Any] | None = None,
    body: str | None = None,
    *,
    context: ToolContext,
) -> ToolResult:
    """Make an HTTP request.

    A body that is binary, or too long to be shown, is saved in the workspace.

    Args:
        url: http or https.
        method: in any case.
        headers: names and values, several of one name in a list.
        body: sent with the methods that have one.
        context: of the call.

    Returns:
        The status, a note on a body that is not shown whole, and, marked as coming from outside, the headers that
        matter and the body; whatever the status.

    Raises:
        PermissionDeniedError: the address is private, and the user does not allow it.
    """
    import httpx

    try:
        request = outgoing_request(method, url, (headers or {}).items(), body)
    except InvalidRequestError as fault:
        return ToolResult.error("validation_error", str(fault))
    start = time.monotonic()
    try:
        async with context.http.stream(
            request.method, request.url, headers=request.headers, content=request.content
        ) as response:
            used_seconds = time.monotonic() - start - context.asked_seconds()
            return ToolResult.success(await _described(response, context, max(MAX_SECONDS - used_seconds, 1.0)))
    except (httpx.InvalidURL, UnicodeError):
        return ToolResult.error(
            "execution_error", f"{shown_url(request.url)} redirects to something that is not a URL."
        )
    except httpx.HTTPError as error:
        return ToolResult.error("execution_error", failure_text(error, request.url))


async def _described(response: httpx.Response, context: ToolContext, seconds: float) -> str:
    status = status_text(response.status_code)
    headers = "\n".join(_header_lines(response))
    source = shown_url(str(response.url))
    context.mark_page(str(response.url))
    if not expands_boundedly(response.headers):
        return _joined(status, "[the body is not shown: its compression is not supported]", headers, "", source)
    room = context.shown_characters
    if room is not None:
        room = max(room - len(headers) - _FRAME_CHARACTERS, _LEAST_SHOWN_CHARACTERS)

    def should_save(content: bytes) -> bool:
        text = _text(response, content, is_cut=False)
        return text is None or (room is not None and len(text) > room)

    body = _Body(response, context, should_save)
    await body.receive(seconds)
    is_cut = not body.is_whole or body.size > len(body.beginning)
    text = _text(response, body.beginning, is_cut=is_cut)
    if text is None:
        return _joined(status, _note(response, body, is_text=False), headers, "", source)
    shown = text[:room]
    note = _note(response, body, is_text=True) if is_cut or len(shown) < len(text) else ""
    return _joined(status, note, headers, shown, source)


def _joined(status: str, note: str, headers: str, body: str, source: str) -> str:
    """Put the parts together; the server has written the headers as well as the body, so both are marked."""
    message = f"{headers}\n\n{body}" if headers and body else headers or body
    return "\n\n".join(filter(None, (status, note, untrusted(message, source) if message else "")))


def _text(response: httpx.Response, content: bytes, *, is_cut: bool) -> str | None:
    return decoded(content, response.headers.get("content-type", ""), is_cut)


def _note(response: httpx.Response, body: _Body, *, is_text: bool) -> str:
    """Say what happens to a body that is not shown, or not all of it."""
    size = body.size if body.is_whole else named_size(response)
    amount = ("1 byte" if size == 1 else f"{size:,} bytes") if size is not None else f"more than {body.size:,} bytes"
    kept = f"is saved in {body.saved}" if body.saved is not None else f"is not saved: {body.problem}"
    if is_text:
        return f"[only the beginning of the body is shown; all of it, {amount}, {kept}]"
    kind = media_type(response.headers.get("content-type", "")) or "unknown type"
    return f"[the body is binary ({kind}, {amount}) and {kept}]"


def _header_lines(response: httpx.Response) -> Iterator[str]:
    if response.history:
        yield f"Final-URL: {shown_url(str(response.url))}"
    # Who asks for the headers alone wants them all.
    are_all_wanted = response.request.method in ("HEAD", "OPTIONS")
    shown = [
        (name, value)
        for name, value in response.headers.multi_items()
        if are_all_wanted or not _NOISE_HEADERS.fullmatch(name)
    ]
    for name, value in shown[:_MAX_SHOWN_HEADERS]:
        yield f"{name.title()}: {value[:_MAX_HEADER_CHARACTERS]}"
    if len(shown) > _MAX_SHOWN_HEADERS:
        yield f"[{len(shown) - _MAX_SHOWN_HEADERS} more headers are not shown]"


class _Body:
    """A body that is read, and saved in the workspace if it is too long to be shown or is better looked at in a file.

    Args:
        response: streamed; one that ``expands_boundedly`` passes.
        context: of the call.
        should_save: decides on a body that is no longer than ``MAX_BEGINNING_BYTES``.

    Attributes:
        beginning: its first bytes, at most ``MAX_BEGINNING_BYTES``.
        size: how many bytes came.
        is_whole: True if these are all.
        saved: the file that all of it is in.
        problem: why there is none though there should be: part of a sentence.
    """

    def __init__(self, response: httpx.Response, context: ToolContext, should_save: Callable[[bytes], bool]) -> None:
        self._response = response
        self._context = context
        self._should_save = should_save
        self._files = ExitStack()
        self._file: NewFile | None = None
        self.beginning = b""
        self.size = 0
        self.is_whole = False
        self.saved: Path | None = None
        self.problem: str | None = None

    async def receive(self, seconds: float) -> None:
        """Read it.

        Args:
            seconds: how long the server may take; the time in which the user is asked does not count.

        Raises:
            httpx.HTTPError: it broke off, or is not compressed as the response says.
        """
        beginning = bytearray()
        with self._files:
            try:
                async with asyncio.timeout(seconds) as limit:
                    await self._read(beginning, limit)
                    if self.is_whole and self._file is None and self._should_save(bytes(beginning)):
                        await self._begin_file(beginning, limit)
            except TimeoutError:
                self.problem = f"the server was still sending after {seconds:.0f} s"
            if self._file is not None and self.is_whole and self.problem is None:
                try:
                    self.saved = self._file.keep()
                except OSError as error:
                    self.problem = _reason(error)
        self.beginning = bytes(beginning[:MAX_BEGINNING_BYTES])

    async def _read(self, beginning: bytearray, limit: asyncio.Timeout) -> None:
        async for piece in body_pieces(self._response):
            self.size += len(piece)
            if self._file is not None:
                self._write(self._file, piece)
            else:
                beginning += piece
                if self.size > MAX_BEGINNING_BYTES:
                    await self._begin_file(beginning, limit)
            if self.size > MAX_SAVED_BYTES:
                self.problem = f"it has more than {MAX_SAVED_BYTES // 1024 // 1024} MB"
            if self.problem is not None:
                return
        self.is_whole = True

    async def _begin_file(self, beginning: bytearray, limit: asyncio.Timeout) -> None:
        if (named_size(self._response) or 0) > MAX_SAVED_BYTES:
            self.problem = f"it has more than {MAX_SAVED_BYTES // 1024 // 1024} MB"
            return
        asked_before = self._context.asked_seconds()
        try:
            await self._context.ask_permission("files.write", f"save the answer of {self._response.url.host}")
            when = limit.when()
            if when is not None:
                limit.reschedule(when + self._context.asked_seconds() - asked_before)
            paths = self._context.paths
            path = paths.writable(paths.workspace / DOWNLOADS / download_name(self._response))
            self._file = self._files.enter_context(new_file(path, paths))
        except PermissionDeniedError:
            self.problem = "tools may not write there"
        except OSError as error:
            self.problem = _reason(error)
        else:
            self._write(self._file, bytes(beginning))

    def _write(self, file: NewFile, piece: bytes) -> None:
        try:
            file.write(piece)
        except OSError as error:
            self.problem = _reason(error)


def named_size(response: httpx.Response) -> int | None:
    """The size in bytes that the server names; of a compressed body it is not the size of the text."""
    length = response.headers.get("content-length", "")
    is_plain = response.headers.get("content-encoding", "identity").lower() == "identity"
    return int(length) if is_plain and length.isascii() and length.isdigit() and len(length) < 19 else None


def download_name(response: httpx.Response) -> str:
    """Choose the name of a file for a response body.

    It is the name that the server gives, else the end of the URL, without invalid characters.

    Args:
        response: with its headers and final URL.
    """
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    url = urlsplit(str(response.url))
    for wanted in (_named_by_server(response), unquote(url.path), url.hostname or ""):
        name = _safe_name(wanted)
        if name:
            break
    else:
        name = "download"
    stem, dot, suffix = name.rpartition(".")
    is_host = name == _safe_name(url.hostname or "")
    if dot and stem and 1 <= len(suffix) <= 8 and not is_host:
        return name
    return name + (mimetypes.guess_extension(kind) or "")


def _named_by_server(response: httpx.Response) -> str:
    header = response.headers.get("content-disposition", "")[:1000]
    if "filename" not in header.lower():
        return ""
    from email.message import Message

    message = Message()
    message["content-disposition"] = header.replace("\r", " ").replace("\n", " ")
    try:
        return message.get_filename() or ""
    except (LookupError, ValueError):  # a character set that there is not
        return ""


def _safe_name(wanted: str) -> str:
    name = wanted.encode("utf-8", "replace").decode().replace("\\", "/").rstrip("/").rpartition("/")[2]
    name = _NOT_IN_NAMES.sub("-", unicodedata.normalize("NFC", name)).strip("-.")
    stem, dot, suffix = name.rpartition(".")
    if not dot or len(suffix.encode()) > 10:
        stem, dot, suffix = name, "", ""
    room = _MAX_NAME_BYTES - len(suffix.encode()) - len(dot)
    return stem.encode()[:room].decode("utf-8", "ignore").rstrip("-.") + dot + suffix


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__
