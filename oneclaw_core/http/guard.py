"""HTTP transports that connect to checked addresses only; made by :mod:`oneclaw_core.http`, which says why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx

from oneclaw_core.http.addresses import check_addresses, look_up
from oneclaw_core.http.messages import FOLLOWED, connection_fault

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable

    from oneclaw_core.http.addresses import AddressGate

    RequestGate = Callable[[httpx.Request], Awaitable[None]]

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
    """Sends every request to an address that was checked.

    Args:
        ssl_context: what proves servers.
        check: as :func:`checked_request` does.
    """

    def __init__(self, ssl_context: ssl.SSLContext, check: Callable[[httpx.Request], Awaitable[list[str]]]) -> None:
        self._check = check
        self._inner = httpx.AsyncHTTPTransport(verify=ssl_context, trust_env=False, limits=_LIMITS)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Resolve, check, and send to the first address that can be connected to."""
        faults: list[httpx.TransportError] = []
        for address in await self._check(request):
            try:
                response = await self._inner.handle_async_request(_addressed(request, address))
            except (httpx.ConnectError, httpx.ConnectTimeout) as fault:
                faults.append(fault)
                continue
            if not response.has_redirect_location:
                return response
            await response.aclose()
            return _redirect(request, response)
        raise _connect_fault(faults, request)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()


class GuardedSyncTransport(httpx.BaseTransport):
    """The same for synchronous clients."""

    def __init__(self, ssl_context: ssl.SSLContext, check: Callable[[httpx.Request], list[str]]) -> None:
        self._check = check
        self._inner = httpx.HTTPTransport(verify=ssl_context, trust_env=False, limits=_LIMITS)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Resolve, check, and send to the first address that can be connected to."""
        faults: list[httpx.TransportError] = []
        for address in self._check(request):
            try:
                response = self._inner.handle_request(_addressed(request, address))
            except (httpx.ConnectError, httpx.ConnectTimeout) as fault:
                faults.append(fault)
                continue
            if not response.has_redirect_location:
                return response
            response.close()
            return _redirect(request, response)
        raise _connect_fault(faults, request)

    def close(self) -> None:
        """Close the connections."""
        self._inner.close()


async def checked_request(
    request: httpx.Request,
    allow_private: AddressGate,
    allow_public: AddressGate | None = None,
    allow_request: RequestGate | None = None,
) -> list[str]:
    """Return the addresses that a request may be sent to, all of them checked.

    Raises:
        httpx.TransportError: its URL is not one of a host, or the host has no address.
    """
    host, port = _checked_place(request)
    if allow_request is not None:
        await allow_request(request)
    try:
        addresses = await look_up(host, request.extensions.get("timeout", {}).get("connect"))
    except TimeoutError:
        raise httpx.ConnectTimeout(f"looking up the address of {host} took too long", request=request) from None
    except (OSError, UnicodeError) as fault:
        raise httpx.ConnectError(f"{connection_fault(fault).text}: {host}", request=request) from fault
    await check_addresses(addresses, host, port, allow_private, allow_public)
    return addresses


def _checked_place(request: httpx.Request) -> tuple[str, int]:
    url = request.url
    if url.scheme not in ("http", "https"):
        raise httpx.UnsupportedProtocol(f"only http and https can be requested, not {url.scheme!r}", request=request)
    host = _host(request)
    if not host:
        raise httpx.UnsupportedProtocol("the URL has no host", request=request)
    if url.port is not None and not 0 < url.port < 65_536:
        raise httpx.UnsupportedProtocol(f"there is no port {url.port}", request=request)
    return host, url.port or (443 if url.scheme == "https" else 80)


def _host(request: httpx.Request) -> str:
    """Return the raw host, since the decoded one fails on malformed international names."""
    return request.url.raw_host.decode("ascii")


def _addressed(request: httpx.Request, address: str) -> httpx.Request:
    """Point a request at an address; the ``Host`` header and, for TLS, the name to prove stay those of the host."""
    return httpx.Request(
        request.method,
        request.url.copy_with(host=address, userinfo=b""),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": _host(request).rstrip(".")},
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


def _connect_fault(faults: list[httpx.TransportError], request: httpx.Request) -> httpx.TransportError:
    if not faults:
        return httpx.ConnectError(f"the host has no address: {_host(request)}", request=request)
    error = type(faults[-1])(f"{connection_fault(faults[-1]).text}: {_host(request)}", request=request)
    error.__cause__ = faults[-1]
    return error
