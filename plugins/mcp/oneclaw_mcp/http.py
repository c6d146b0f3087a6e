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
from oneclaw_core.http import shown_url
from oneclaw_mcp.http_answers import (
    EVENTS,
    MAX_EVENT_BYTES,
    TooLongError,
    looks_like_events,
    readable_body,
    readable_events,
)
from oneclaw_mcp.http_network import GuardedBackend
from oneclaw_mcp.servers import SSE

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Mapping

    from oneclaw_mcp.connection import HttpState
    from oneclaw_mcp.http_network import AddressGate
    from oneclaw_mcp.servers import Server

# A server may think for long before it answers; a call has another limit.
_READ_SECONDS = 900.0
_CONNECT_SECONDS = 30.0
# Shorter than most servers keep a connection: one that a server closes just then loses the request.
_KEEP_SECONDS = 2.0
_KEPT_STATUSES = 8
_FIRST_ERROR = 400
_BEGINNING_BYTES = 1_024
_SESSION_HEADER = "mcp-session-id"
_OWN_HEADERS = frozenset({"host", "accept-encoding"})


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Sends requests over connections to checked addresses; follows no redirect.

    Args:
        allow_private: as for :class:`GuardedBackend`.
        state: gets what the answers say of the server.
        own_url: the server's address, as the user gave it. An address that a server gives has no user name or password
            but those of this one, and is ``https`` unless it is the same place or this machine.
    """

    def __init__(self, allow_private: AddressGate, state: HttpState, own_url: str) -> None:
        self._state = state
        self._own_url = own_url
        self._own_userinfo = httpx2.URL(own_url).userinfo
        self._pool = httpcore2.AsyncConnectionPool(
            _ssl_context(),
            max_connections=None,
            keepalive_expiry=_KEEP_SECONDS,
            network_backend=GuardedBackend(allow_private),
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request."""
        url = request.url
        if url.userinfo not in (b"", self._own_userinfo):
            raise PermissionDeniedError(
                f"the MCP server leads to {shown_url(str(url))} with a user name or password that is not yours",
                "network.public",
            )
        if url.scheme != "https" and not is_protected_place(self._own_url, str(url)):
            raise PermissionDeniedError(
                f"the MCP server leads to {shown_url(str(url))}, which is neither https nor the place that you have "
                "named",
                "network.public",
            )
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
        self._state.statuses.append(answer.status)
        del self._state.statuses[:-_KEPT_STATUSES]
        headers = httpx2.Headers(answer.headers)
        if headers.get("content-encoding", "identity").lower() != "identity":
            await answer.aclose()
            raise httpx2.ReadError("it compresses its answer, which it was asked not to do", request=request)
        # The requests of a sign-in do not accept events; their answers are no messages.
        is_of_messages = EVENTS in request.headers.get("accept", "")
        content_type = headers.get("content-type", "")
        body = _Body(answer, request)
        if not is_of_messages:  # read as a whole, and so with a limit, whatever its type
            return await _whole(answer, headers, body)
        is_labelled = content_type.lower().startswith(EVENTS)
        if answer.status < _FIRST_ERROR and (is_labelled or await body.looks_like_events()):
            headers["content-type"] = EVENTS
            return httpx2.Response(answer.status, headers=headers, stream=body)
        response = await _whole(answer, headers, body)
        session = request.headers.get(_SESSION_HEADER)
        kind, content = readable_body(
            answer.status, content_type, response.content, request.content, self._state, has_session=bool(session)
        )
        headers = httpx2.Headers([(name, value) for name, value in headers.raw if name.lower() != b"content-length"])
        if kind:
            headers["content-type"] = kind
        return httpx2.Response(answer.status, headers=headers, content=content)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._pool.aclose()


async def _whole(answer: httpcore2.Response, headers: httpx2.Headers, body: _Body) -> httpx2.Response:
    try:
        return httpx2.Response(answer.status, headers=headers, content=await body.whole())
    finally:
        await answer.aclose()


class _Body(httpx2.AsyncByteStream):
    """The body of an answer: a stream of events, or one that is read as a whole, and so has a limit.

    Args:
        answer: whose body it is.
        request: for errors.
    """

    def __init__(self, answer: httpcore2.Response, request: httpx2.Request) -> None:
        self._answer, self._request = answer, request
        self._pieces = self._received()
        self._beginning = b""

    async def __aiter__(self) -> AsyncGenerator[bytes, None]:
        try:
            async for event in readable_events(self._with_beginning()):
                yield event
        except TooLongError as error:
            raise httpx2.ReadError(str(error), request=self._request) from None

    async def looks_like_events(self) -> bool:
        """Read the beginning of the body; return True if it is one of events."""
        async for piece in self._pieces:
            self._beginning += piece
            if self._beginning.strip() or len(self._beginning) > _BEGINNING_BYTES:
                break
        return looks_like_events(self._beginning)

    async def whole(self) -> bytes:
        read, left_bytes = [], MAX_EVENT_BYTES
        async with aclosing(self._with_beginning()) as pieces:
            async for piece in pieces:
                left_bytes -= len(piece)
                if left_bytes < 0:
                    raise httpx2.ReadError(str(TooLongError()), request=self._request)
                read.append(piece)
        return b"".join(read)

    async def aclose(self) -> None:
        await self._answer.aclose()

    async def _with_beginning(self) -> AsyncGenerator[bytes, None]:
        if self._beginning:
            yield self._beginning
        async for piece in self._pieces:
            yield piece

    async def _received(self) -> AsyncGenerator[bytes, None]:
        pieces: AsyncIterable[bytes] = self._answer.aiter_stream()
        try:
            async for piece in pieces:
                yield piece
        except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException) as error:
            raise httpx2.ReadError(str(error), request=self._request) from None


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


def is_protected_place(own_url: str, url: str) -> bool:
    """Return True if requests to an address are protected by TLS, or go where the user has said that they need not.

    Args:
        own_url: of the server, as the user gave it.
        url: where the server leads to.
    """
    parts = urlsplit(url)
    return parts.scheme == "https" or (
        parts.scheme == "http" and is_named_place(own_url, parts.hostname or "", parts.port or 80)
    )


@asynccontextmanager
async def http_streams(
    server: Server, url: str, headers: Mapping[str, str], auth: httpx2.Auth | None, state: HttpState
) -> AsyncIterator[tuple[Any, Any]]:
    """Give the streams of messages that a client of the SDK takes.

    Args:
        server: the server.
        url: its address, with all references resolved.
        headers: for each request, the same.
        auth: signs requests; ``None`` to send them unsigned.
        state: gets what the answers say of the server.
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
            transport=GuardedTransport(allow_private, state, url),
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
