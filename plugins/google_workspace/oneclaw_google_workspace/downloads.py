"""Downloads: what Google sends goes to a file as it comes, and is taken up where it broke off."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from dataclasses import dataclass
from secrets import token_hex
from typing import IO, TYPE_CHECKING
from urllib.parse import urlsplit

import httpx

from oneclaw_google_workspace.apis import address
from oneclaw_google_workspace.client import read_limited, timeouts
from oneclaw_google_workspace.failures import read_failure
from oneclaw_google_workspace.problems import GoogleError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from oneclaw_google_workspace.api_request import ApiRequest
    from oneclaw_google_workspace.client import GoogleClient

# The hosts that an access token is meant for.
_TOKEN_HOSTS = (".googleapis.com", "docs.google.com", "drive.google.com")
_PIECE_BYTES = 1024 * 1024


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
