"""Connections to a server over HTTP: to checked addresses alone.

The library's own connections let other tasks run before each read and write, which cost a call 0.1 ms.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any, cast

import httpcore2

from oneclaw_core.http import checked_addresses

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable, Iterable

    AddressGate = Callable[[str, str, int], Awaitable[None]]

# A server that sends more than is read has to wait.
_MOST_UNREAD_BYTES = 256 * 1024


class GuardedBackend(httpcore2.AsyncNetworkBackend):
    """Connects to checked addresses of a host. A connection is kept for the name that it was made for.

    Args:
        allow_private: asked before an address that is not public is connected to.
    """

    def __init__(self, allow_private: AddressGate) -> None:
        self._allow_private = allow_private

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  # as the library calls it
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to the first address that answers; the last two arguments are never given."""
        try:
            addresses = await checked_addresses(host, port, self._allow_private, timeout_seconds=timeout)
        except (OSError, UnicodeError):  # such as an unknown name, or a TimeoutError
            addresses = []
        fault: Exception = httpcore2.ConnectError(f"the address of {host} cannot be found")
        for address in addresses:
            try:
                async with asyncio.timeout(timeout):
                    _, stream = await asyncio.get_running_loop().create_connection(Stream, address, port)
            except TimeoutError:
                fault = httpcore2.ConnectTimeout(f"{host} does not answer at {address}")
            except OSError as error:
                reason = os.strerror(error.errno) if error.errno else str(error)
                fault = httpcore2.ConnectError(f"{address}, port {port}: {reason}")
            else:
                return stream
        raise fault


class Stream(asyncio.Protocol, httpcore2.AsyncNetworkStream):
    """A connection to a server."""

    _transport: asyncio.Transport

    def __init__(self) -> None:
        self._unread = bytearray()
        self._is_ended = self._is_paused = False
        self._fault: Exception | None = None
        self._news = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport."""
        self._transport = cast("asyncio.Transport", transport)  # of any event loop

    def data_received(self, data: bytes) -> None:
        """Keep what was received."""
        self._unread += data
        if len(self._unread) > _MOST_UNREAD_BYTES and not self._is_paused:
            self._is_paused = True
            self._transport.pause_reading()
        self._news.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """End what is read, after what was received."""
        self._is_ended, self._fault = True, exc
        self._news.set()

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109  # as the library calls it
        """Send a part of a request; what the server does not take yet is kept, and ends when its answer is late."""
        self._transport.write(buffer)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        """Read what has arrived, or wait for it; ``b""`` at the end."""
        if not self._unread and not self._is_ended:
            self._news.clear()
            try:
                async with asyncio.timeout(timeout):
                    await self._news.wait()
            except TimeoutError:
                raise httpcore2.ReadTimeout(f"nothing was received for {timeout:g} s") from None
        if not self._unread and self._fault is not None:
            raise httpcore2.ReadError(str(self._fault))
        found = bytes(self._unread[:max_bytes])
        del self._unread[:max_bytes]
        if self._is_paused and len(self._unread) <= _MOST_UNREAD_BYTES:
            self._is_paused = False
            self._transport.resume_reading()
        return found

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> httpcore2.AsyncNetworkStream:
        """Encrypt the connection; what was received before that is dropped."""
        encrypted = Stream()
        try:
            async with asyncio.timeout(timeout):
                transport = await asyncio.get_running_loop().start_tls(
                    self._transport, encrypted, ssl_context, server_hostname=server_hostname
                )
        except TimeoutError:
            raise httpcore2.ConnectTimeout("the server does not encrypt the connection in time") from None
        except OSError as error:  # also one of a certificate
            raise httpcore2.ConnectError(str(error)) from None
        if transport is None:
            raise httpcore2.ConnectError("the server has closed the connection")
        encrypted.connection_made(transport)
        return encrypted

    async def aclose(self) -> None:
        """Close the connection."""
        # A transport that the server has closed cannot be aborted after another close (Python 3.11.2).
        if not self._transport.is_closing():
            self._transport.close()
            # What ends the encryption is sent before that, nothing else that the server would not read.
            await asyncio.sleep(0)
        self._transport.abort()

    def get_extra_info(self, info: str) -> Any:
        """Return what the library asks about the connection."""
        if info == "is_readable":
            return bool(self._unread) or self._is_ended
        return self._transport.get_extra_info(info)
