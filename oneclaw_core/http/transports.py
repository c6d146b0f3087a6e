"""HTTP transports: to checked addresses alone, and through the proxies that the environment names.

:mod:`oneclaw_core.http.clients` makes them, and says why. A setting of a proxy that a request does not need has no
effect on it: a proxy that cannot be used, or an entry of ``NO_PROXY`` that cannot be read, is passed over until a
request would go through it.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import getproxies

import httpx

from oneclaw_core.errors import SettingsError
from oneclaw_core.http.addresses import check_addresses, look_up
from oneclaw_core.http.messages import FOLLOWED, connection_fault

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable, Mapping

    from oneclaw_core.http.addresses import AddressGate

    RequestGate = Callable[[httpx.Request], Awaitable[None]]

# Connections are pooled by address, and a TLS connection proves the name it was made for only; kept alive, one host's
# could serve another host that resolves to the same address, whose certificate no one then looks at.
_LIMITS = httpx.Limits(max_connections=100, max_keepalive_connections=0)
_DEFAULT_PORTS = {"http": 80, "https": 443}
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
    return host, url.port or _DEFAULT_PORTS[url.scheme]


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


@dataclass(frozen=True, slots=True)
class EnvironmentProxies:
    """The proxies that the environment names.

    Attributes:
        urls: by scheme, ``all`` for those without one of their own.
        direct: the entries of ``NO_PROXY``.
    """

    urls: Mapping[str, str]
    direct: tuple[str, ...] = ()

    @classmethod
    def read(cls) -> EnvironmentProxies:
        """Read the environment, and the settings of the system on macOS and Windows."""
        found = getproxies()
        direct = found.pop("no", "")
        return cls(found, tuple(each for each in direct.replace(",", " ").split() if each))

    def proxy_for(self, url: httpx.URL) -> str | None:
        """Return the URL of the proxy for a request; ``None`` to connect directly."""
        if not self.urls or _is_this_machine(url.host) or any(_names(each, url) for each in self.direct):
            return None
        return self.urls.get(url.scheme) or self.urls.get("all") or None

    def variable_of(self, url: httpx.URL) -> str:
        """Return the environment variable that names the proxy for a request, for messages."""
        kind = url.scheme if self.urls.get(url.scheme) else "all"
        names = (f"{kind}_proxy", f"{kind}_proxy".upper())
        return next((name for name in names if os.environ.get(name)), names[1])


class EnvironmentTransport(httpx.AsyncBaseTransport):
    """A transport that connects directly, or through the proxy that the environment names for a request.

    Args:
        verify: what proves servers.
        limits: of connections.
    """

    def __init__(self, verify: ssl.SSLContext, limits: httpx.Limits) -> None:
        self._verify = verify
        self._limits = limits
        self._proxies = EnvironmentProxies.read()
        self._transports: dict[str | None, httpx.AsyncHTTPTransport] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request.

        Raises:
            SettingsError: the proxy for it cannot be used.
        """
        proxy = self._proxies.proxy_for(request.url)
        transport = self._transports.get(proxy)
        if transport is None:
            transport = self._transports[proxy] = self._connected(proxy, request.url)
        return await transport.handle_async_request(request)

    async def aclose(self) -> None:
        """Close the connections."""
        for each in self._transports.values():
            await each.aclose()

    def _connected(self, proxy: str | None, url: httpx.URL) -> httpx.AsyncHTTPTransport:
        if proxy is None:
            return httpx.AsyncHTTPTransport(verify=self._verify, limits=self._limits, trust_env=False)
        scheme, separator, rest = proxy.partition("://")
        if not separator:
            scheme, rest = "http", proxy
        if scheme == "socks":  # as desktops write it
            scheme = "socks5"
        try:
            return httpx.AsyncHTTPTransport(
                verify=self._verify, limits=self._limits, trust_env=False, proxy=httpx.Proxy(f"{scheme}://{rest}")
            )
        except (ImportError, ValueError, httpx.InvalidURL):
            # The error's own text may quote the proxy's password.
            raise SettingsError(
                f"{self._proxies.variable_of(url)} names a proxy that cannot be used for {url.host}: give an http:// "
                f"URL, install httpx[socks] for a socks5:// one, or add {url.host} to NO_PROXY to connect directly"
            ) from None


def _is_this_machine(host: str) -> bool:
    """Return True for the names and addresses of this machine itself, where no proxy finds a local server."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    address = _address(host)
    return address is not None and address.is_loopback


def _names(entry: str, url: httpx.URL) -> bool:
    """Return True if an entry of ``NO_PROXY`` is about the host of a URL.

    An entry is ``*``, an address, a network such as ``10.0.0.0/8``, or a domain, whose subdomains it covers; a scheme,
    a port, brackets, a leading dot and wildcards are understood. One that cannot be read is about no host.
    """
    scheme, separator, entry = entry.lower().rpartition("://")
    if separator and scheme not in (url.scheme, "all"):
        return False
    host = url.host.rstrip(".")
    address = _address(host)
    with suppress(ValueError):  # it is a name, or has a port
        network = ip_network(entry.removeprefix("[").replace("]/", "/"), strict=False)
        return address is not None and address in network
    try:
        parts = urlsplit(f"//{entry}")
        name, port = parts.hostname or "", parts.port
    except ValueError:
        return False
    if port is not None and port != (url.port or _DEFAULT_PORTS.get(url.scheme)):
        return False
    if "*" in name and not name.strip("*."):
        return True
    if address is not None:
        return address == _address(name) or ("*" in name and fnmatchcase(host, name))
    name = name.lstrip("*.").rstrip(".")
    return bool(name) and (host == name or host.endswith(f".{name}") or fnmatchcase(host, name))


def _address(host: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address
