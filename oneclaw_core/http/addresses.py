"""The IP addresses of hosts, and which of them belong to the public internet."""

from __future__ import annotations

import asyncio
import socket
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING

from oneclaw_core.system.threads import start_in_background

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    # Called with a host, one of its addresses, and the port.
    AddressGate = Callable[[str, str, int], Awaitable[None]]

# Spelled out rather than asked of `ipaddress.is_global`, whose answer differs between patch releases of Python.
# IANA IPv4 Special-Purpose Address Registry (RFC 6890), everything that is no ordinary public host. Of IPv6, what lies
# inside global unicast (RFC 4291) and is none either.
_NOT_PUBLIC = tuple(
    ip_network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carrier-grade NAT, and Alibaba's metadata service
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # Azure's host agent, reachable from every virtual machine there
        "169.254.0.0/16",  # link-local, and the metadata service of most clouds
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments, and Oracle's metadata service
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
        "2001::/23",  # protocol assignments, among them Teredo, which wraps an IPv4 address
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4, which wraps an IPv4 address
        "3fff::/20",  # documentation
    )
)
_GLOBAL_UNICAST_IPV6 = IPv6Network("2000::/3")
_PRIVATE = tuple(map(ip_network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")))  # RFC 1918, RFC 4193
_NAT64 = IPv6Network("64:ff9b::/96")
# This machine, its link, those who listen together, and where clouds keep metadata: no name of a service is there.
_OWN = tuple(
    ip_network(network)
    for network in (
        "0.0.0.0/8",
        "100.100.100.200/32",
        "127.0.0.0/8",
        "168.63.129.16/32",
        "169.254.0.0/16",
        "192.0.0.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
        "::/96",  # unspecified, loopback, and the deprecated form that wraps an IPv4 address
        "fd00:ec2::/32",  # Amazon's metadata service
        "fd20:ce::/32",  # Google's
        "fe80::/10",  # link-local
        "fec0::/10",  # once site-local
        "ff00::/8",  # multicast
    )
)


def is_public_address(address: str) -> bool:
    """Tell whether an address is that of an ordinary host on the public internet.

    Private, loopback, link-local, multicast, reserved, documentation and cloud metadata addresses are not, nor are
    the IPv6 forms that wrap such an IPv4 address. The deprecated tunnels 6to4 and Teredo never are.

    Args:
        address: an IPv4 or IPv6 address in its usual spelling, with or without a zone.

    Returns:
        ``False`` also for what is not an address at all.
    """
    parsed = _parsed(address)
    if parsed is None or (parsed.version == 6 and parsed not in _GLOBAL_UNICAST_IPV6):
        return False
    return not any(parsed in network for network in _NOT_PUBLIC)


def private_kind(address: str) -> str:
    """Return the kind of a private address: ``loopback``, ``link-local``, ``private`` or ``other``.

    Args:
        address: one that :func:`is_public_address` denies.
    """
    try:
        parsed = ip_address(address)
    except ValueError:
        return "other"
    if isinstance(parsed, IPv6Address):
        parsed = parsed.ipv4_mapped or parsed
    if parsed.is_loopback:
        return "loopback"
    if parsed.is_link_local:
        return "link-local"
    return "private" if any(parsed in network for network in _PRIVATE) else "other"


def is_own_address(address: str) -> bool:
    """Tell whether an address means this machine, its link, a multicast group or a cloud's metadata service.

    Returns:
        ``True`` also for what is not an address at all.
    """
    parsed = _parsed(address)
    return parsed is None or any(parsed in network for network in _OWN)


def _parsed(address: str) -> IPv4Address | IPv6Address | None:
    """Parse an address; of one that wraps an IPv4 address, return that. ``None`` for what is no address."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return None
    if isinstance(parsed, IPv4Address):
        return parsed
    return IPv4Address(int(parsed) & 0xFFFF_FFFF) if parsed in _NAT64 else parsed.ipv4_mapped or parsed


async def checked_addresses(
    host: str, port: int, allow_private: AddressGate, *, timeout_seconds: float | None = None
) -> list[str]:
    """Look up the addresses of a host, and check each; what connects to one of them reaches no other.

    Args:
        host: a name or an address.
        port: that is to be connected to.
        allow_private: called with the host, an address that is not public, and the port; returns to permit, raises
            ``PermissionDeniedError`` to refuse.
        timeout_seconds: for the lookup.

    Raises:
        TimeoutError: the lookup took too long.
        OSError: the host is unknown.
        UnicodeError: it is not the name of a host.
    """
    addresses = await look_up(host, timeout_seconds)
    await check_addresses(addresses, host, port, allow_private)
    return addresses


async def look_up(host: str, timeout_seconds: float | None) -> list[str]:
    """Return the addresses of a host; raise as :func:`checked_addresses` does."""
    # In a thread that nothing waits for, since a lookup cannot be broken off.
    lookup = start_in_background(lambda: socket.getaddrinfo(host, None, type=socket.SOCK_STREAM), f"resolve {host}")
    answers = await asyncio.wait_for(asyncio.wrap_future(lookup), timeout_seconds)
    return list(dict.fromkeys(str(address[0]) for *_, address in answers))


async def check_addresses(
    addresses: Iterable[str], host: str, port: int, allow_private: AddressGate, allow_public: AddressGate | None = None
) -> None:
    """Return if all addresses of a host may be connected to; a gate raises if not."""
    for address in addresses:
        gate = allow_public if is_public_address(address) else allow_private
        if gate is not None:
            await gate(host, address, port)
