"""HTTP transports that connect to checked addresses only; made by :mod:`oneclaw_core.http`, which says why."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import httpx

from oneclaw_core.http.addresses import check_addresses, is_public_address, start_lookup
from oneclaw_core.http.messages import FOLLOWED, connection_fault

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable

    from oneclaw_core.http.addresses import AddressGate

    SyncAddressGate = Callable[[str, str, int], None]
    RequestGate = Callable[[httpx.Request], Awaitable[None]]
    SyncRequestGate = Callable[[httpx.Request], None]

# Connections are pooled by address, and a TLS connection proves the name it was made for only; kept alive, one host's
# could serve another host that resolves to the same address, whose certificate no one then looks at.
_LIMITS = httpx.Limits(max_connections=100, max_keepalive_connections=0)


# What goes along to another origin; of a request with a body, what describes it.
_FOLLOWING_HEADERS = frozenset(
    {
        "accept",
        "accept-encoding",
        "accept-language",
        "connection",
        "content-length",
        "content-type",
        "host",
        "range",
        "transfer-encoding",
        "user-agent",
    }
)


class GuardedTransport(httpx.AsyncBaseTransport):
    """Sends every request to an address that was checked."""

    def __init__(
        self,
        ssl_context: ssl.SSLContext,
        allow_private: AddressGate,
        allow_public: AddressGate | None = None,
        allow_request: RequestGate | None = None,
    ) -> None:
        self._allow_private = allow_private
        self._allow_public = allow_public
        self._allow_request = allow_request
        self._inner = httpx.AsyncHTTPTransport(verify=ssl_context, trust_env=False, limits=_LIMITS)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Resolve, check, and send to the first address that can be connected to."""
        host, port = _checked_place(request)
        if self._allow_request is not None:
            await self._allow_request(request)
        lookup = start_lookup(host)
        try:
            addresses = await asyncio.wait_for(asyncio.wrap_future(lookup), _connect_timeout(request))
        except (TimeoutError, OSError, UnicodeError) as fault:
            raise _lookup_fault(host, fault, request) from fault
        await check_addresses(addresses, host, port, self._allow_private, self._allow_public)
        faults: list[httpx.TransportError] = []
        for address in addresses:
            try:
                response = await self._inner.handle_async_request(_addressed(request, host, address))
            except (httpx.ConnectError, httpx.ConnectTimeout) as fault:
                faults.append(fault)
                continue
            if not response.has_redirect_location:
                return response
            await response.aclose()
            return _redirect(request, response)
        raise _connect_fault(host, faults, request)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()


class GuardedSyncTransport(httpx.BaseTransport):
    """Sends every request to an address that was checked, for synchronous clients."""

    def __init__(
        self,
        ssl_context: ssl.SSLContext,
        allow_private: SyncAddressGate,
        allow_public: SyncAddressGate | None = None,
        allow_request: SyncRequestGate | None = None,
    ) -> None:
        self._allow_private = allow_private
        self._allow_public = allow_public
        self._allow_request = allow_request
        self._inner = httpx.HTTPTransport(verify=ssl_context, trust_env=False, limits=_LIMITS)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Resolve, check, and send to the first address that can be connected to."""
        host, port = _checked_place(request)
        if self._allow_request is not None:
            self._allow_request(request)
        try:
            addresses = start_lookup(host).result(_connect_timeout(request))
        except (TimeoutError, OSError, UnicodeError) as fault:
            raise _lookup_fault(host, fault, request) from fault
        for address in addresses:
            gate = self._allow_public if is_public_address(address) else self._allow_private
            if gate is not None:
                gate(host, address, port)
        faults: list[httpx.TransportError] = []
        for address in addresses:
            try:
                response = self._inner.handle_request(_addressed(request, host, address))
            except (httpx.ConnectError, httpx.ConnectTimeout) as fault:
                faults.append(fault)
                continue
            if not response.has_redirect_location:
                return response
            response.close()
            return _redirect(request, response)
        raise _connect_fault(host, faults, request)

    def close(self) -> None:
        """Close the connections."""
        self._inner.close()


def _checked_place(request: httpx.Request) -> tuple[str, int]:
    url = request.url
    if url.scheme not in ("http", "https"):
        raise httpx.UnsupportedProtocol(f"only http and https can be requested, not {url.scheme!r}", request=request)
    # The raw host, since the decoded one fails on malformed international names.
    host = url.raw_host.decode("ascii")
    if not host:
        raise httpx.UnsupportedProtocol("the URL has no host", request=request)
    if url.port is not None and not 0 < url.port < 65_536:
        raise httpx.UnsupportedProtocol(f"there is no port {url.port}", request=request)
    return host, url.port or (443 if url.scheme == "https" else 80)


def _connect_timeout(request: httpx.Request) -> float | None:
    seconds: float | None = request.extensions.get("timeout", {}).get("connect")
    return seconds


def _addressed(request: httpx.Request, host: str, address: str) -> httpx.Request:
    """Point a request at an address; the ``Host`` header and, for TLS, the name to prove stay those of the host."""
    return httpx.Request(
        request.method,
        request.url.copy_with(host=address, userinfo=b""),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": host.rstrip(".")},
    )


def _redirect(request: httpx.Request, response: httpx.Response) -> httpx.Response:
    """Prepare a redirect to be followed.

    It has no body: the library reads that whole before it goes on, and it may have no end. To another origin, it takes
    none of the headers that the caller chose, such as ``X-Api-Key``: the library leaves out ``Authorization`` alone.
    """
    request.extensions[FOLLOWED] = True  # of the next request too
    try:
        target = request.url.join(response.headers["location"])
    except httpx.InvalidURL:  # which the library answers
        target = request.url
    if (target.scheme, target.host, target.port) != (request.url.scheme, request.url.host, request.url.port):
        for name in request.headers.keys() - _FOLLOWING_HEADERS:
            del request.headers[name]
    kept = [
        (name, value)
        for name, value in response.headers.raw
        if name.lower() not in (b"content-encoding", b"content-length", b"transfer-encoding")
    ]
    extensions = dict(response.extensions)
    extensions.pop("network_stream", None)  # which is closed
    return httpx.Response(response.status_code, headers=kept, extensions=extensions)


def _lookup_fault(host: str, fault: Exception, request: httpx.Request) -> httpx.TransportError:
    if isinstance(fault, TimeoutError):
        return httpx.ConnectTimeout(f"looking up the address of {host} took too long", request=request)
    return httpx.ConnectError(f"{connection_fault(fault).text}: {host}", request=request)


def _connect_fault(host: str, faults: list[httpx.TransportError], request: httpx.Request) -> httpx.TransportError:
    if not faults:
        return httpx.ConnectError(f"the host has no address: {host}", request=request)
    last = faults[-1]
    error = type(last)(f"{connection_fault(last).text}: {host}", request=request)
    error.__cause__ = last
    return error
