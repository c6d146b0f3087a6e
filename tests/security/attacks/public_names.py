"""Names of the public internet that lead to servers of the test."""

from __future__ import annotations

import socket
from ipaddress import ip_network
from typing import TYPE_CHECKING, Any

from oneclaw_core.http import addresses

if TYPE_CHECKING:
    import pytest

_LOOPBACK = ip_network("127.0.0.0/8")


class PublicNames:
    """Has all names below ``.example`` lead to this machine, which counts as a public address then.

    Attributes:
        asked: the names that were looked up, in order: a server for names can be an attacker's too.
    """

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.asked: list[str] = []
        real = socket.getaddrinfo

        def getaddrinfo(host: Any, port: Any, *rest: Any, **named: Any) -> Any:
            name = host.decode() if isinstance(host, bytes) else str(host)
            if not name.rstrip(".").endswith(".example"):
                return real(host, port, *rest, **named)
            self.asked.append(name)
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", int(port or 0)))]

        patch.setattr(socket, "getaddrinfo", getaddrinfo)
        networks = tuple(each for each in addresses._NOT_PUBLIC if each != _LOOPBACK)
        patch.setattr(addresses, "_NOT_PUBLIC", networks)
