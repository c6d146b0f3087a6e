"""Connections to a server over HTTP: to checked addresses alone, and with one write for each request."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import httpcore2

from oneclaw_core.http import checked_addresses

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable, Iterable

    AddressGate = Callable[[str, str, int], Awaitable[None]]

_MAX_JOINED_BYTES = 64 * 1024


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
                stream = await self._network.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                fault = error
            else:
                return JoiningStream(stream)
        raise fault


class JoiningStream(httpcore2.AsyncNetworkStream):
    """Sends the head of a request together with its body, which the library writes one after the other.

    Args:
        stream: to the server.
    """

    def __init__(self, stream: httpcore2.AsyncNetworkStream) -> None:
        self._stream = stream
        self._unsent = bytearray()
        self._write_timeout: float | None = None

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109  # as the library calls it
        """Keep a part of a request until the answer is read."""
        self._unsent += buffer
        self._write_timeout = timeout
        if len(self._unsent) >= _MAX_JOINED_BYTES:
            await self._send()

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        """Send what was kept, and read."""
        if self._unsent:
            # A server that does not want to read all of a request may have answered it.
            with suppress(httpcore2.WriteError):
                await self._send()
        return await self._stream.read(max_bytes, timeout)

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> httpcore2.AsyncNetworkStream:
        """Encrypt the connection; nothing is unsent before that."""
        return JoiningStream(await self._stream.start_tls(ssl_context, server_hostname, timeout))

    async def aclose(self) -> None:
        """Close the connection."""
        await self._stream.aclose()

    def get_extra_info(self, info: str) -> Any:
        """Return what the library asks about the connection."""
        return self._stream.get_extra_info(info)

    async def _send(self) -> None:
        unsent, self._unsent = bytes(self._unsent), bytearray()
        await self._stream.write(unsent, self._write_timeout)
