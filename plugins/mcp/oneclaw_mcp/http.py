"""A server that is reached over HTTP: the client of the SDK, behind the core's guard.

The SDK uses httpx2, whose connections the guard does not see. So each of its requests is sent by a guarded client.
"""

from __future__ import annotations

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
        headers = [(name, value) for name, value in request.headers.raw if name.lower() != b"host"]
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
        return httpx2.Response(
            response.status_code, headers=response.headers.raw, stream=_Body(response, request), request=request
        )


class _Body(httpx2.AsyncByteStream):
    def __init__(self, response: httpx.Response, request: httpx2.Request) -> None:
        self._response, self._request = response, request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._response.aiter_raw():
                yield piece
        except httpx.TransportError as error:
            raise httpx2.ReadError(str(error), request=self._request) from None

    async def aclose(self) -> None:
        await self._response.aclose()


@asynccontextmanager
async def http_streams(
    server: Server, url: str, headers: Mapping[str, str], auth: httpx2.Auth | None, statuses: list[int]
) -> AsyncIterator[tuple[Any, Any]]:
    """Give the streams of messages that a client of the SDK takes.

    Args:
        server: the server.
        url: its address, with all references resolved.
        headers: for each request, the same.
        auth: signs requests; ``None`` for no such.
        statuses: gets the statuses of the last answers.
    """
    place = (urlsplit(url).hostname or "").lower()

    async def allow_private(host: str, address: str, port: int) -> None:
        # The user has named this place; another one is the server's idea.
        if host != place:
            raise PermissionDeniedError(
                f"the MCP server {server.name} leads to {host} at the private address {address}", "network.private"
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
