"""Names at public or private addresses that lead to servers of the test on loopback; nothing leaves the machine."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

PUBLIC_ADDRESS = "93.184.216.34"


class PublicNames:
    """Resolves names of the test, and leads connections to their addresses elsewhere.

    Attributes:
        lookups: the names that were looked up, in order.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.lookups: list[str] = []
        self._addresses: dict[str, tuple[str, ...]] = {}
        self._ports: dict[tuple[str, int], int] = {}
        self._getaddrinfo = socket.getaddrinfo
        self._open_connection = asyncio.open_connection
        monkeypatch.setattr(socket, "getaddrinfo", self._resolve)
        monkeypatch.setattr(asyncio, "open_connection", self._connect)

    def add(self, name: str, *addresses: str) -> None:
        """Have a name resolve to addresses."""
        self._addresses[name] = addresses

    def lead(self, address: str, port: int, server_port: int) -> None:
        """Lead connections to a port of an address to a port of this machine's loopback."""
        self._ports[address, port] = server_port

    def _resolve(self, host: Any, port: Any, *arguments: Any, **named: Any) -> Any:
        self.lookups.append(host)
        if host not in self._addresses:
            return self._getaddrinfo(host, port, *arguments, **named)
        return [
            (socket.AF_INET6 if ":" in each else socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, 0))
            for each in self._addresses[host]
        ]

    async def _connect(self, host: str, port: int, **named: Any) -> Any:
        if host != "127.0.0.1" and (host, port) not in self._ports:
            raise ConnectionRefusedError(f"the test has no server at {host}:{port}")
        return await self._open_connection("127.0.0.1", self._ports.get((host, port), port), **named)
