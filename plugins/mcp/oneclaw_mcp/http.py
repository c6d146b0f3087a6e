"""A server that is reached over HTTP: the client of the SDK, whose connections lead to checked addresses alone."""

from __future__ import annotations

import ipaddress
from contextlib import asynccontextmanager
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpcore2
import httpx
import httpx2

from oneclaw_core import PermissionDeniedError, __version__
from oneclaw_core.http import checked_addresses
from oneclaw_mcp.servers import SSE

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Mapping

    from oneclaw_mcp.servers import Server

    AddressGate = Callable[[str, str, int], Awaitable[None]]

MAX_EVENT_BYTES = 16 * 1024 * 1024
# A server may think for long before it answers; a call has another limit.
_READ_SECONDS = 900.0
_CONNECT_SECONDS = 30.0
# Shorter than most servers keep a connection: one that a server closes just then loses the request.
_KEEP_SECONDS = 2.0
_KEPT_STATUSES = 8
_OWN_HEADERS = frozenset({"host", "accept-encoding"})


class GuardedBackend(httpcore2.AsyncNetworkBackend):
    """Connects to checked addresses of a host. A connection is kept for the name that it was made for.

    Args:
        allow_private: asked before an address that is not public is connected to.
    """

    def __init__(self, allow_private: AddressGate) -> None:
        self._allow_private = allow_private
        self._network = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  # as the library calls it
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to the first address that answers."""
        try:
            addresses = await checked_addresses(host, port, self._allow_private, timeout_seconds=timeout)
        except (OSError, UnicodeError):  # such as an unknown name, or a TimeoutError
            addresses = []
        fault: Exception = httpcore2.ConnectError(f"the address of {host} cannot be found")
        for address in addresses:
            try:
                return await self._network.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                fault = error
        raise fault


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Sends requests over connections to checked addresses; follows no redirect.

    Args:
        allow_private: as for :class:`GuardedBackend`.
        statuses: gets the statuses of the last answers.
    """

    def __init__(self, allow_private: AddressGate, statuses: list[int]) -> None:
        self._statuses = statuses
        self._pool = httpcore2.AsyncConnectionPool(
            _ssl_context(),
            max_connections=None,
            keepalive_expiry=_KEEP_SECONDS,
            network_backend=GuardedBackend(allow_private),
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request."""
        url = request.url
        try:
            answer = await self._pool.handle_async_request(
                httpcore2.Request(
                    request.method,
                    httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
                    headers=request.headers.raw,
                    content=request.stream,
                    extensions=request.extensions,
                )
            )
        except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
            raise httpx2.ConnectError(str(error), request=request) from None
        except httpcore2.TimeoutException as error:
            raise httpx2.ReadTimeout(str(error), request=request) from None
        except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.UnsupportedProtocol) as error:
            raise httpx2.ReadError(str(error), request=request) from None
        self._statuses.append(answer.status)
        del self._statuses[:-_KEPT_STATUSES]
        headers = httpx2.Headers(answer.headers)
        if headers.get("content-encoding", "identity").lower() != "identity":
            await answer.aclose()
            raise httpx2.ReadError("it compresses its answer, which it was asked not to do", request=request)
        return httpx2.Response(answer.status, headers=headers, stream=_Body(answer, headers, request))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._pool.aclose()


class _Body(httpx2.AsyncByteStream):
    """The body of an answer; one that is no stream of events is read as a whole, and so has a limit."""

    def __init__(self, answer: httpcore2.Response, headers: httpx2.Headers, request: httpx2.Request) -> None:
        self._answer, self._request = answer, request
        is_stream = headers.get("content-type", "").lower().startswith("text/event-stream")
        self._left_bytes = None if is_stream else MAX_EVENT_BYTES

    async def __aiter__(self) -> AsyncIterator[bytes]:
        pieces: AsyncIterable[bytes] = self._answer.aiter_stream()
        try:
            async for piece in pieces:
                if self._left_bytes is not None:
                    self._left_bytes -= len(piece)
                    if self._left_bytes < 0:
                        text = f"its answer is longer than {MAX_EVENT_BYTES // 1024**2} MiB"
                        raise httpx2.ReadError(text, request=self._request)
                yield piece
        except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException) as error:
            raise httpx2.ReadError(str(error), request=self._request) from None

    async def aclose(self) -> None:
        await self._answer.aclose()


@cache
def _ssl_context() -> ssl.SSLContext:
    """Load the trusted certificates once: it takes long."""
    return httpx.create_ssl_context()


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

    own = {name: value for name, value in headers.items() if name.lower() not in _OWN_HEADERS}

    def made(
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            transport=GuardedTransport(allow_private, statuses),
            headers={"User-Agent": f"oneclaw/{__version__}", **(headers or {}), "Accept-Encoding": "identity"},
            timeout=httpx2.Timeout(_CONNECT_SECONDS, read=_READ_SECONDS),
            trust_env=False,
            auth=auth,
        )

    if server.transport == SSE:
        from mcp.client.sse import sse_client

        async with sse_client(url, own, httpx_client_factory=made, auth=auth) as streams:
            yield streams
    else:
        from mcp.client.streamable_http import streamable_http_client

        async with (
            made(own, auth=auth) as client,
            streamable_http_client(url, http_client=client, max_sse_event_size=MAX_EVENT_BYTES) as streams,
        ):
            yield streams
