"""Proxies that the environment names, chosen for each request.

A setting that a request does not need has no effect on it: a proxy that cannot be used, or an entry of ``NO_PROXY``
that cannot be read, is passed over until a request would go through it.
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

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping

_DEFAULT_PORTS = {"http": 80, "https": 443}


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
