"""A server that is reached over HTTP: the client of the SDK, whose connections lead to checked addresses alone."""

from __future__ import annotations

import ipaddress
from contextlib import aclosing, asynccontextmanager
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpcore2
import httpx
import httpx2

from oneclaw_core import PermissionDeniedError, __version__
from oneclaw_mcp.http_network import GuardedBackend
from oneclaw_mcp.servers import SSE

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Mapping

    from oneclaw_mcp.http_network import AddressGate
    from oneclaw_mcp.servers import Server

MAX_EVENT_BYTES = 16 * 1024 * 1024
# A server may think for long before it answers; a call has another limit.
_READ_SECONDS = 900.0
_CONNECT_SECONDS = 30.0
# Shorter than most servers keep a connection: one that a server closes just then loses the request.
_KEEP_SECONDS = 2.0
_KEPT_STATUSES = 8
_OWN_HEADERS = frozenset({"host", "accept-encoding"})


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
        body = _Body(answer, request)
        if headers.get("content-type", "").lower().startswith("text/event-stream"):
            return httpx2.Response(answer.status, headers=headers, stream=body)
        try:
            return httpx2.Response(answer.status, headers=headers, content=await body.whole())
        finally:
            await answer.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._pool.aclose()


class _Body(httpx2.AsyncByteStream):
    """The body of an answer: a stream of events, or one that is read as a whole, and so has a limit."""

    def __init__(self, answer: httpcore2.Response, request: httpx2.Request) -> None:
        self._answer, self._request = answer, request

    async def __aiter__(self) -> AsyncGenerator[bytes, None]:
        pieces: AsyncIterable[bytes] = self._answer.aiter_stream()
        try:
            async for piece in pieces:
                yield piece
        except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException) as error:
            raise httpx2.ReadError(str(error), request=self._request) from None

    async def whole(self) -> bytes:
        read, left_bytes = [], MAX_EVENT_BYTES
        async with aclosing(self.__aiter__()) as pieces:
            async for piece in pieces:
                left_bytes -= len(piece)
                if left_bytes < 0:
                    text = f"its answer is longer than {MAX_EVENT_BYTES // 1024**2} MiB"
                    raise httpx2.ReadError(text, request=self._request)
                read.append(piece)
        return b"".join(read)

    async def aclose(self) -> None:
        await self._answer.aclose()


class _Client(httpx2.AsyncClient):
    """A client of one server, whose address is parsed once.

    Args:
        address: of the server.
        **options: as for any client.
    """

    def __init__(self, address: str, **options: Any) -> None:
        super().__init__(**options)
        self._address, self._parsed_address = address, httpx2.URL(address)

    def build_request(self, method: str, url: httpx2.URL | str, **options: Any) -> httpx2.Request:
        return super().build_request(method, self._parsed_address if url == self._address else url, **options)


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
        return _Client(
            url,
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
