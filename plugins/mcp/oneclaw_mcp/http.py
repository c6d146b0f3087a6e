"""A server that is reached over HTTP: the client of the SDK, behind the core's guard.

The SDK uses httpx2, whose connections the guard does not see. So each of its requests is sent by a guarded client.
"""

from __future__ import annotations

import ipaddress
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx
import httpx2

from oneclaw_core import PermissionDeniedError
from oneclaw_core.http import create_guarded_client
from oneclaw_mcp.servers import SSE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from oneclaw_mcp.servers import Server

MAX_EVENT_BYTES = 16 * 1024 * 1024
# A server may think for long before it answers; a call has another limit.
_READ_SECONDS = 900.0
_CONNECT_SECONDS = 30.0
_KEPT_STATUSES = 8
_OWN_HEADERS = (b"host", b"accept-encoding")


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Sends the requests of a client of httpx2 by a guarded client of httpx.

    Args:
        client: the guarded client.
        statuses: gets the statuses of the last answers.
    """

    def __init__(self, client: httpx.AsyncClient, statuses: list[int]) -> None:
        self._client = client
        self._statuses = statuses

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; no redirect is followed."""
        content = await request.aread()
        headers = [(name, value) for name, value in request.headers.raw if name.lower() not in _OWN_HEADERS]
        headers.append((b"Accept-Encoding", b"identity"))
        outgoing = httpx.Request(
            request.method,
            str(request.url),
            headers=headers,
            content=content,
            extensions={name: value for name, value in request.extensions.items() if name == "timeout"},
        )
        try:
            response = await self._client.send(outgoing, stream=True, follow_redirects=False)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise httpx2.ConnectError(str(error), request=request) from None
        except httpx.TimeoutException as error:
            raise httpx2.ReadTimeout(str(error), request=request) from None
        except httpx.TransportError as error:
            raise httpx2.ReadError(str(error), request=request) from None
        self._statuses.append(response.status_code)
        del self._statuses[:-_KEPT_STATUSES]
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            await response.aclose()
            raise httpx2.ReadError("it compresses its answer, which it was asked not to do", request=request)
        return httpx2.Response(
            response.status_code, headers=response.headers.raw, stream=_Body(response, request), request=request
        )


class _Body(httpx2.AsyncByteStream):
    """The body of an answer; one that is no stream of events is read as a whole, and so has a limit."""

    def __init__(self, response: httpx.Response, request: httpx2.Request) -> None:
        self._response, self._request = response, request
        is_stream = response.headers.get("content-type", "").lower().startswith("text/event-stream")
        self._left_bytes = None if is_stream else MAX_EVENT_BYTES

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._response.aiter_raw():
                if self._left_bytes is not None:
                    self._left_bytes -= len(piece)
                    if self._left_bytes < 0:
                        text = f"its answer is longer than {MAX_EVENT_BYTES // 1024**2} MiB"
                        raise httpx2.ReadError(text, request=self._request)
                yield piece
        except httpx.TransportError as error:
            raise httpx2.ReadError(str(error), request=self._request) from None

    async def aclose(self) -> None:
        await self._response.aclose()


def is_named_place(url: str, host: str, port: int) -> bool:
    """Return True if the user has named a place with the URL of a server; another one is the server's idea.

    What stands for this machine, such as ``localhost``, is all of its ports, where authorization servers are tried out.
    Another name can come to stand for an address that the user knows nothing of, so it is one port.
    """
    parts = urlsplit(url)
    named = (parts.hostname or "").lower()
    if host.lower() != named:
        return False
    try:
        is_here = ipaddress.ip_address(named).is_loopback
    except ValueError:
        is_here = named == "localhost"
    return is_here or port == (parts.port or (443 if parts.scheme == "https" else 80))


@asynccontextmanager
async def http_streams(
    server: Server, url: str, headers: Mapping[str, str], auth: httpx2.Auth | None, statuses: list[int]
) -> AsyncIterator[tuple[Any, Any]]:
    """Give the streams of messages that a client of the SDK takes.

    Args:
        server: the server.
        url: its address, with all references resolved.
        headers: for each request, the same.
        auth: signs requests; ``None`` to send them unsigned.
        statuses: gets the statuses of the last answers.
    """

    async def allow_private(host: str, address: str, port: int) -> None:
        if not is_named_place(url, host, port):
            raise PermissionDeniedError(
                f"the MCP server {server.name} leads to port {port} of {host} at the private address {address}",
                "network.private",
            )

    async with create_guarded_client(allow_private) as guarded:

        def made(
            headers: dict[str, str] | None = None,
            timeout: httpx2.Timeout | None = None,
            auth: httpx2.Auth | None = None,
        ) -> httpx2.AsyncClient:
            return httpx2.AsyncClient(
                transport=GuardedTransport(guarded, statuses),
                headers={"User-Agent": guarded.headers["User-Agent"], **(headers or {})},
                timeout=httpx2.Timeout(_CONNECT_SECONDS, read=_READ_SECONDS),
                trust_env=False,
                auth=auth,
            )

        if server.transport == SSE:
            from mcp.client.sse import sse_client

            async with sse_client(url, dict(headers), httpx_client_factory=made, auth=auth) as streams:
                yield streams
        else:
            from mcp.client.streamable_http import streamable_http_client

            async with (
                made(dict(headers), auth=auth) as client,
                streamable_http_client(url, http_client=client, max_sse_event_size=MAX_EVENT_BYTES) as streams,
            ):
                yield streams
