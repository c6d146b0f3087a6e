"""Transfers of more than a request: batches, downloads that are resumed, and uploads in pieces.

Google's description of uploads: https://developers.google.com/workspace/drive/api/guides/manage-uploads#resumable
"""

from __future__ import annotations

import asyncio
import os
import re
from contextlib import suppress
from dataclasses import dataclass
from secrets import token_hex
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx

from oneclaw_google_workspace.client import answer_to, read_limited, timeouts
from oneclaw_google_workspace.failures import GoogleError, invalid, read_failure, unclear
from oneclaw_google_workspace.methods import ApiRequest, Method, address

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
    from pathlib import Path

    from oneclaw_google_workspace.client import GoogleClient
    from oneclaw_google_workspace.failures import Failure

# Google takes 100; Gmail answers the later parts of long batches with rate limits.
_MAX_PARTS = 50
_MAX_GMAIL_PARTS = 25
_CONTENT_ID = re.compile(r"(\d+)>?\s*$")
# The hosts that an access token is meant for.
_TOKEN_HOSTS = (".googleapis.com", "docs.google.com", "drive.google.com")
_PIECE_BYTES = 1024 * 1024
# Google wants a multiple of 256 KiB.
PIECE_BYTES = 8 * 1024 * 1024
_SLICE_BYTES = 1024 * 1024
_RESUME_INCOMPLETE = 308
_RANGE = re.compile(r"bytes=0-(\d+)")


class Part:
    """The answer to one request of a batch: status, headers with names in lower case, and content."""

    __slots__ = ("content", "headers", "status")

    def __init__(self, status: int, headers: dict[str, str], content: bytes) -> None:
        self.status = status
        self.headers = headers
        self.content = content


async def send_batch(client: GoogleClient, requests: Sequence[ApiRequest]) -> list[dict[str, Any] | GoogleError]:
    """See :meth:`~oneclaw_google_workspace.client.GoogleClient.batch`."""
    if not requests:
        return []
    size = _MAX_GMAIL_PARTS if requests[0].method.id.startswith("gmail.") else _MAX_PARTS
    outcomes: dict[int, dict[str, Any] | GoogleError] = {}
    for start in range(0, len(requests), size):
        try:
            await _settle(client, dict(enumerate(requests[start : start + size], start)), outcomes)
        except GoogleError as error:
            if not any(isinstance(outcome, dict) for outcome in outcomes.values()):
                raise
            # What was done before is done, and must be told; the rest is not even tried.
            untried = GoogleError("service_unavailable", f"Not tried, because of what came before: {error}")
            outcomes.update({number: untried for number in range(len(requests)) if number not in outcomes})
            break
    return [outcomes[number] for number in range(len(requests))]


async def _settle(
    client: GoogleClient, waiting: dict[int, ApiRequest], outcomes: dict[int, dict[str, Any] | GoogleError]
) -> None:
    """Send the requests of one batch until each has an outcome; only those that failed are sent again."""
    tries = 0
    refused: str | None = None
    while waiting:
        tries += 1
        try:
            authorization = await _authorization(client, waiting, refused)
            refused = None
            parts = await _exchange(client, waiting, authorization)
        except GoogleError as error:
            outcomes.update(dict.fromkeys(waiting, error))
            raise
        failures: dict[int, Failure] = {}
        for number, request in waiting.items():
            part = parts.get(number)
            if part is None:
                outcomes[number] = _left_out(request)
            elif 200 <= part.status < 300:
                try:
                    outcomes[number] = answer_to(request, part.content, part.status)
                except GoogleError as error:
                    outcomes[number] = error
            else:
                failures[number] = read_failure(part.status, part.headers, part.content)
                outcomes[number] = client.error(failures[number], request)
        again = [number for number, failure in failures.items() if _can_repeat(failure, waiting[number], tries)]
        if not again:
            return
        if any(failures[number].is_unauthorized for number in again):
            refused = authorization
        else:
            pauses = [failures[number].retry_after_seconds for number in again]
            longest = max((pause for pause in pauses if pause is not None), default=None)
            if not await client.patience.wait(tries, longest):
                return
        waiting = {number: waiting[number] for number in again}


def _left_out(request: ApiRequest) -> GoogleError:
    problem = "Google's answer leaves this one out"
    return GoogleError("execution_error", f"{problem}.") if request.method.is_reading else unclear(request, problem)


def _can_repeat(failure: Failure, request: ApiRequest, tries: int) -> bool:
    if failure.is_unauthorized:
        return tries == 1
    return failure.is_rate_limit or (failure.is_transient and request.is_repeatable)


async def _authorization(client: GoogleClient, requests: dict[int, ApiRequest], refused: str | None) -> str:
    writing = [request for request in requests.values() if not request.method.is_reading]
    return await client.authorization(next(iter(writing or requests.values())), refused)


async def _exchange(client: GoogleClient, requests: dict[int, ApiRequest], authorization: str) -> dict[int, Part]:
    first = next(iter(requests.values()))
    boundary = f"batch_{token_hex(16)}"
    envelope = _envelope(requests)
    _, headers, content = await client.exchange(
        envelope,
        envelope.url,
        verb="POST",
        headers={"Content-Type": f"multipart/mixed; boundary={boundary}"},
        content=_written(requests, boundary, authorization),
    )
    try:
        return read_parts(headers.get("content-type", ""), content)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):  # Python's parser of mails raises all
        problem = f"The {first.method.api.title}'s answer to a batch cannot be read"
        if envelope.method.is_reading:
            raise GoogleError("execution_error", f"{problem}.") from None
        raise unclear(envelope, problem) from None


def _envelope(requests: dict[int, ApiRequest]) -> ApiRequest:
    """The request that carries the others: it can be repeated if each of them can, and reads if each of them does."""
    methods = [request.method for request in requests.values()]
    method = Method(
        methods[0].id,
        "POST",
        methods[0].api.batch_path,
        is_repeatable=True,
        is_reading=all(each.is_reading for each in methods),
        takes_all_drives=False,
    )
    is_repeatable = all(request.is_repeatable for request in requests.values())
    hint = next((request.unclear_hint for request in requests.values() if request.unclear_hint), "")
    return ApiRequest(method, method.path, None, is_repeatable, hint)


def _written(requests: dict[int, ApiRequest], boundary: str, authorization: str) -> bytes:
    pieces: list[bytes] = []
    for number, request in requests.items():
        content = request.content
        lines = [
            f"--{boundary}",
            "Content-Type: application/http",
            f"Content-ID: <{number}>",
            "",
            f"{request.method.verb} {request.target} HTTP/1.1",
            f"Authorization: {authorization}",
        ]
        if content is not None:
            lines += ["Content-Type: application/json", f"Content-Length: {len(content)}"]
        pieces.append("\r\n".join([*lines, "", ""]).encode() + (content or b"") + b"\r\n")
    return b"".join(pieces) + f"--{boundary}--\r\n".encode()


def read_parts(content_type: str, content: bytes) -> dict[int, Part]:
    """Take the answer to a batch apart.

    Args:
        content_type: of the answer, with its boundary.
        content: the body.

    Returns:
        The answers by the number of their request.

    Raises:
        ValueError: it is not what a batch is answered with.
    """
    from email import policy
    from email.parser import BytesParser

    head = f"Content-Type: {content_type}\r\n\r\n".encode()
    message = BytesParser(policy=policy.HTTP).parsebytes(head + content)
    if not message.is_multipart():
        raise ValueError(content_type)
    found: dict[int, Part] = {}
    for each in message.iter_parts():
        match = _CONTENT_ID.search(str(each.get("Content-ID", "")))
        if match is not None:
            payload = each.get_payload(decode=True)
            found[int(match[1])] = _read_response(payload if isinstance(payload, bytes) else b"")
    return found


def _read_response(content: bytes) -> Part:
    head, _, body = content.replace(b"\r\n", b"\n").lstrip(b"\n").partition(b"\n\n")
    status_line, *lines = head.decode("latin-1").split("\n")
    words = status_line.split(None, 2)
    if len(words) < 2 or not words[1].isdigit():
        raise ValueError(status_line)
    pairs = (line.partition(":") for line in lines)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    return Part(int(words[1]), dict(httpx.Headers(headers)), body)


@dataclass(frozen=True, slots=True)
class Download:
    """A file that has arrived.

    Attributes:
        path: where it is.
        size: in bytes.
        media_type: as Google says, without parameters.
    """

    path: Path
    size: int
    media_type: str


class _BrokenOffError(Exception):
    """The content ended before its end."""


async def receive(
    client: GoogleClient,
    request: ApiRequest,
    url: str,
    target: Path,
    *,
    max_bytes: int | None,
    check: Callable[[Path], Awaitable[None]] | None = None,
) -> Download:
    """See :meth:`~oneclaw_google_workspace.client.GoogleClient.download` and ``download_link``."""
    temporary = target.with_name(f".{target.name[:100]}.{token_hex(8)}.part")
    try:
        await asyncio.to_thread(target.parent.mkdir, parents=True, exist_ok=True)
        with temporary.open("xb") as file:
            async with client.in_time(request):
                media_type = await _fill(client, request, url, file, max_bytes)
            size = file.tell()
        if check is not None:
            await check(temporary)
        temporary.replace(target)
    except OSError as error:
        raise GoogleError(
            "execution_error", f"The file {target.name} cannot be written: {error.strerror or error}."
        ) from None
    finally:
        with suppress(OSError):
            temporary.unlink()
    return Download(target, size, media_type)


async def _fill(client: GoogleClient, request: ApiRequest, url: str, file: IO[bytes], max_bytes: int | None) -> str:
    """Write the content to a file, with as many requests as it takes; give its media type."""
    tries, refused, validator = 0, None, None
    while True:
        tries += 1
        authorization = await client.authorization(request, refused) if _wants_token(url) else None
        start = file.tell()
        # Of a compressed content no one could tell how long it is, or ask for the rest.
        headers = {"Accept-Encoding": "identity"}
        if authorization is not None:
            headers |= {**client.headers, "Authorization": authorization}
        if start and validator:
            headers |= {"Range": f"bytes={start}-", "If-Range": validator}
        try:
            async with client.context.service_http.stream(
                "GET" if url != request.url else request.method.verb,
                address(url),
                headers=headers,
                timeout=timeouts(),
                follow_redirects=url != request.url,
            ) as response:
                if response.is_success:
                    if response.status_code != 206 or not _goes_on_at(response, start):
                        file.seek(0)
                        file.truncate()
                    validator = response.headers.get("etag")
                    await _write(client, response, file, max_bytes)
                    media_type: str = response.headers.get("content-type", "")
                    return media_type.partition(";")[0].strip()
                failure = read_failure(response.status_code, response.headers, await read_limited(response))
        except (httpx.HTTPError, _BrokenOffError) as error:
            if file.tell() > start:
                tries = 0
            elif not await client.patience.wait(tries, None):
                reason = " ".join(str(error).split())[:200] or type(error).__name__
                raise GoogleError(
                    "service_unavailable", f"The download broke off ({reason}). Try again later."
                ) from None
            continue
        if failure.is_unauthorized and refused is None and authorization is not None:
            refused = authorization
            tries -= 1
        elif not await client.should_retry(failure, request, tries):
            raise client.error(failure, request)


async def _write(client: GoogleClient, response: httpx.Response, file: IO[bytes], max_bytes: int | None) -> None:
    total = _total(response, file.tell())
    if max_bytes is not None and total is not None and total > max_bytes:
        raise _too_large(max_bytes)
    async for piece in response.aiter_bytes(_PIECE_BYTES):
        if max_bytes is not None and file.tell() + len(piece) > max_bytes:
            raise _too_large(max_bytes)
        await asyncio.to_thread(file.write, piece)
        if total:
            client.context.progress(f"downloaded {file.tell():,} of {total:,} bytes", file.tell() / total)
    if total is not None and file.tell() < total:
        raise _BrokenOffError(f"after {file.tell():,} of {total:,} bytes")
    file.flush()
    await asyncio.to_thread(os.fsync, file.fileno())


def _goes_on_at(response: httpx.Response, start: int) -> bool:
    """Return True if a part of the content is the part that was asked for.

    Raises:
        _BrokenOffError: it is another one.
    """
    if not response.headers.get("content-range", "").startswith(f"bytes {start}-"):
        raise _BrokenOffError("Google has answered another part than it was asked for")
    return True


def _total(response: httpx.Response, start: int) -> int | None:
    """Return the length of the whole content, ``None`` if unknown; compressed content is longer than its length."""
    length = response.headers.get("content-length", "")
    if not (length.isascii() and length.isdigit() and len(length) < 20) or response.headers.get("content-encoding"):
        return None
    return start + int(length)


def _wants_token(url: str) -> bool:
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme != "https":
        raise GoogleError("execution_error", "Google's answer links to an address that is not secure.")
    return any(host == each or (each.startswith(".") and host.endswith(each)) for each in _TOKEN_HOSTS)


def _too_large(max_bytes: int) -> GoogleError:
    return GoogleError("validation_error", f"The file is larger than the {max_bytes:,} bytes that were asked for.")


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
