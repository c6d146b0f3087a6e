"""Receiving the body of a response: its beginning to be shown, all of it into a file where that is wanted."""

from __future__ import annotations

import asyncio
import mimetypes
import re
import unicodedata
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from oneclaw_core.errors import PermissionDeniedError
from oneclaw_core.http.messages import body_pieces
from oneclaw_core.tools.paths import new_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import httpx

    from oneclaw_core.tools.context import ToolContext
    from oneclaw_core.tools.paths import NewFile

DIRECTORY = "downloads"
MAX_SAVED_BYTES = 50 * 1024 * 1024
MAX_BEGINNING_BYTES = 100 * 1024
_MAX_NAME_BYTES = 100
_NOT_IN_NAMES = re.compile(r"[^\w.()+@=,-]+")


@dataclass(frozen=True, slots=True)
class ReceivedBody:
    """What came of a body.

    Attributes:
        beginning: its first bytes, at most ``MAX_BEGINNING_BYTES``.
        size: how many bytes came.
        is_whole: whether these are all.
        saved: the file that all of it is in.
        problem: why there is none though there should be: part of a sentence.
    """

    beginning: bytes
    size: int
    is_whole: bool
    saved: Path | None = None
    problem: str | None = None


async def receive_body(
    response: httpx.Response, context: ToolContext, seconds: float, should_save: Callable[[bytes], bool]
) -> ReceivedBody:
    """Read a body, and save it in the workspace if it is too long to be shown or is better looked at in a file.

    Args:
        response: streamed; one that ``expands_boundedly`` passes.
        context: of the call.
        seconds: how long the server may take; the time in which the user is asked does not count.
        should_save: decides on a body that is no longer than ``MAX_BEGINNING_BYTES``.

    Raises:
        httpx.HTTPError: it broke off, or is not compressed as the response says.
    """
    receiver = _Receiver(response, context)
    with receiver.files:
        try:
            async with asyncio.timeout(seconds) as limit:
                await receiver.read(limit)
                if receiver.is_whole and receiver.file is None and should_save(bytes(receiver.beginning)):
                    await receiver.begin_file(limit)
        except TimeoutError:
            receiver.problem = f"the server was still sending after {seconds:.0f} s"
        return receiver.received()


class _Receiver:
    def __init__(self, response: httpx.Response, context: ToolContext) -> None:
        self._response = response
        self._context = context
        self.files = ExitStack()
        self.file: NewFile | None = None
        self.beginning = bytearray()
        self.size = 0
        self.is_whole = False
        self.problem: str | None = None

    async def read(self, limit: asyncio.Timeout) -> None:
        async for piece in body_pieces(self._response):
            self.size += len(piece)
            if self.file is not None:
                self._write(piece)
            else:
                self.beginning += piece
                if self.size > MAX_BEGINNING_BYTES:
                    await self.begin_file(limit)
            if self.size > MAX_SAVED_BYTES:
                self.problem = f"it has more than {MAX_SAVED_BYTES // 1024 // 1024} MB"
            if self.problem is not None:
                return
        self.is_whole = True

    async def begin_file(self, limit: asyncio.Timeout) -> None:
        if (named_size(self._response) or 0) > MAX_SAVED_BYTES:
            self.problem = f"it has more than {MAX_SAVED_BYTES // 1024 // 1024} MB"
            return
        asked_before = self._context.asked_seconds()
        try:
            await self._context.ask_permission("files.write", f"save the answer of {self._response.url.host}")
            when = limit.when()
            if when is not None:
                limit.reschedule(when + self._context.asked_seconds() - asked_before)
            path = self._context.paths.writable(f"{DIRECTORY}/{download_name(self._response)}")
            self.file = self.files.enter_context(new_file(path, self._context.paths))
        except PermissionDeniedError:
            self.problem = "tools may not write there"
        except OSError as error:
            self.problem = _reason(error)
        else:
            self._write(bytes(self.beginning))

    def _write(self, piece: bytes) -> None:
        assert self.file is not None
        try:
            self.file.write(piece)
        except OSError as error:
            self.problem = _reason(error)

    def received(self) -> ReceivedBody:
        saved = None
        if self.file is not None and self.is_whole and self.problem is None:
            try:
                saved = self.file.keep()
            except OSError as error:
                self.problem = _reason(error)
        beginning = bytes(self.beginning[:MAX_BEGINNING_BYTES])
        return ReceivedBody(beginning, self.size, self.is_whole, saved, self.problem)


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
