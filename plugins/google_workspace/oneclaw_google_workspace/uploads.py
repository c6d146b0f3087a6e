"""Resumable uploads: a file in pieces, taken up where Google has it if something breaks.

Google's description: https://developers.google.com/workspace/drive/api/guides/manage-uploads#resumable
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx

from oneclaw_google_workspace.apis import address
from oneclaw_google_workspace.client import answer_to, read_limited, timeouts
from oneclaw_google_workspace.failures import read_failure, unclear
from oneclaw_google_workspace.problems import GoogleError, invalid

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from oneclaw_google_workspace.api_request import ApiRequest
    from oneclaw_google_workspace.client import GoogleClient

# Google wants a multiple of 256 KiB.
PIECE_BYTES = 8 * 1024 * 1024
_SLICE_BYTES = 1024 * 1024
_RESUME_INCOMPLETE = 308
_RANGE = re.compile(r"bytes=0-(\d+)")


@dataclass(frozen=True, slots=True)
class _Source:
    """The upload, read piece by piece."""

    content: Path | bytes
    size: int

    @classmethod
    def of(cls, content: Path | bytes) -> _Source:
        if isinstance(content, bytes):
            return cls(content, len(content))
        try:
            return cls(content, content.stat().st_size)
        except OSError as error:
            raise _unreadable(content, error) from None

    async def piece(self, offset: int) -> bytes:
        """The piece that begins at an offset; fewer bytes than a whole piece only at the end."""
        if isinstance(self.content, bytes):
            return self.content[offset : offset + PIECE_BYTES]
        wanted = min(PIECE_BYTES, self.size - offset)
        piece = await asyncio.to_thread(_read_at, self.content, offset, wanted)
        if len(piece) != wanted:
            raise invalid(f"The file {self.content.name} has become shorter while it was being sent.")
        return piece


async def send_upload(
    client: GoogleClient, request: ApiRequest, content: Path | bytes, media_type: str
) -> dict[str, Any]:
    """See :meth:`~oneclaw_google_workspace.client.GoogleClient.upload`."""
    async with client.in_time(request):
        return await _send(client, request, _Source.of(content), media_type)


async def _send(client: GoogleClient, request: ApiRequest, source: _Source, media_type: str) -> dict[str, Any]:
    session = await _open_session(client, request, source.size, media_type)
    offset, tries, is_lost = 0, 0, False
    while True:
        piece = await source.piece(offset)
        try:
            status, headers, body = await _put(client, session, _range(offset, len(piece), source.size), piece)
        except httpx.HTTPError as error:
            status, headers, body, is_lost = 0, httpx.Headers(), b"", True
            reason = " ".join(str(error).split())[:200] or type(error).__name__
        else:
            reason = f"status {status}"
        if 200 <= status < 300:
            return answer_to(request, body, status)
        if status == _RESUME_INCOMPLETE:
            received = _received(headers)
            tries = 0 if received > offset else tries + 1
            offset = received
            client.context.progress(f"uploaded {offset:,} of {source.size:,} bytes", offset / max(source.size, 1))
            if tries == 0 or await client.patience.wait(tries, None):
                continue
            raise GoogleError("service_unavailable", "Google does not take any more of the file. Try again later.")
        failure = read_failure(status, headers, body)
        if status and not failure.is_transient and not failure.is_rate_limit:
            if is_lost and status in (404, 410):
                # The session ends when the file is complete, too.
                raise unclear(request, "The upload broke off near its end")
            if status in (404, 410):
                message = "Google has lost the upload before its end, and nothing was changed. Upload it once more."
                raise GoogleError("service_unavailable", message, status=status)
            raise client.error(failure, request)
        tries += 1
        if not await client.patience.wait(tries, failure.retry_after_seconds):
            raise unclear(request, f"The upload broke off ({reason})")
        # Of a server that failed no one knows either whether it took the last piece.
        is_lost = is_lost or failure.is_transient
        done = await _ask_received(client, request, session, source.size)
        if isinstance(done, dict):
            return done
        offset = offset if done is None else done


async def _open_session(client: GoogleClient, request: ApiRequest, size: int, media_type: str) -> str:
    """Announce the upload; nothing is made before the content is there, so this can always be repeated."""
    from dataclasses import replace

    separator = "&" if "?" in request.target else "?"
    announced = replace(request, method=replace(request.method, is_repeatable=True), is_repeatable=True)
    headers = {"X-Upload-Content-Type": media_type, "X-Upload-Content-Length": str(size)}
    _, received, _ = await client.exchange(
        announced,
        f"{request.upload_url}{separator}uploadType=resumable",
        headers={**headers, "Content-Type": "application/json; charset=UTF-8"},
        content=request.content or b"{}",
    )
    session: str = received.get("location", "")
    # Anyone with this address can write the file, and what is in the file goes there.
    if _origin(session) != _origin(address(request.upload_url)):
        raise GoogleError("execution_error", "Google's answer to the beginning of the upload cannot be read.")
    return session


async def _put(
    client: GoogleClient, session: str, content_range: str, piece: bytes
) -> tuple[int, httpx.Headers, bytes]:
    async with client.context.service_http.stream(
        "PUT",
        session,
        headers={"Content-Range": content_range, "Content-Length": str(len(piece))},
        content=_slices(piece),
        timeout=timeouts(),
        follow_redirects=False,
    ) as response:
        return response.status_code, response.headers, await read_limited(response)


async def _slices(piece: bytes) -> AsyncIterator[bytes]:
    """Hand out a piece so that nothing keeps it afterwards: httpx's requests live on until they are collected."""
    for start in range(0, len(piece), _SLICE_BYTES):
        yield piece[start : start + _SLICE_BYTES]


async def _ask_received(
    client: GoogleClient, request: ApiRequest, session: str, size: int
) -> int | dict[str, Any] | None:
    """Ask how much of the file is there: a number of bytes, the answer if it is complete, ``None`` if no one says."""
    try:
        status, headers, body = await _put(client, session, f"bytes */{size}", b"")
    except httpx.HTTPError:
        return None
    if 200 <= status < 300:
        return answer_to(request, body, status)
    return _received(headers) if status == _RESUME_INCOMPLETE else None


def _range(offset: int, length: int, size: int) -> str:
    return f"bytes {offset}-{offset + length - 1}/{size}" if length else f"bytes */{size}"


def _received(headers: httpx.Headers) -> int:
    match = _RANGE.fullmatch(headers.get("range", ""))
    return int(match[1]) + 1 if match else 0


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc


def _read_at(path: Path, offset: int, length: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(offset)
            return file.read(length)
    except OSError as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: OSError) -> GoogleError:
    return invalid(f"The file {path.name} cannot be read: {error.strerror or error}.")
