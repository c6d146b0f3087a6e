"""A proxy on this machine's loopback that connects to checked addresses only.

A browser resolves names and follows redirects by itself, so guarding its addresses takes a place that all its
connections go through. The proxy looks each name up once, checks every address, and connects to one that was checked:
a name that resolves to something else a moment later gains nothing. It asks for a password, since other users of the
machine could connect to it too.
"""

from __future__ import annotations

import asyncio
import base64
import secrets
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from weakref import WeakSet

from oneclaw_core.errors import PermissionDeniedError
from oneclaw_core.http.addresses import is_public_address, start_lookup

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from oneclaw_core.http.clients import AddressGate

USER_NAME = "oneclaw"
CONNECT_SECONDS = 10
_MAX_HEAD_BYTES = 65_536
_PIECE_BYTES = 65_536
_HOP_HEADERS = (b"proxy-", b"connection:", b"keep-alive:")


class GuardedProxy:
    """An HTTP proxy for one call of one tool. Made by :func:`guarded_proxy`.

    Attributes:
        url: where it listens.
        user_name: Credentials that its clients must send.
        password: Credentials that its clients must send.
        refusals: by host, why it was not connected to.
    """

    def __init__(self, allow_private: AddressGate, allow_public: AddressGate) -> None:
        self.url = ""
        self.user_name = USER_NAME
        self.password = secrets.token_urlsafe(24)
        self.refusals: dict[str, PermissionDeniedError] = {}
        self._allow_private = allow_private
        self._allow_public = allow_public
        self._credentials = base64.b64encode(f"{USER_NAME}:{self.password}".encode())
        self._connections: set[asyncio.Task[None]] = set()
        self._transports: WeakSet[asyncio.WriteTransport] = WeakSet()
        self._is_closed = False

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection, for as long as it lasts."""
        if self._is_closed:
            writer.transport.abort()
            return
        self._transports.add(writer.transport)
        task = asyncio.create_task(self._serve(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def aclose(self) -> None:
        """End all connections."""
        self._is_closed = True
        tasks = list(self._connections)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        # A task that had not begun has closed nothing, and what nobody reads would keep a connection open.
        for transport in list(self._transports):
            transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            # Whoever is silent, or wants no password, is sent away before anything is looked up.
            async with asyncio.timeout(CONNECT_SECONDS):
                head = await _read_head(reader)
                while head is not None and not self._is_authorised(head):
                    writer.write(
                        b'HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="oneclaw"\r\n'
                        b"Content-Length: 0\r\n\r\n"
                    )
                    await writer.drain()
                    head = await _read_head(reader)
            if head is not None:
                await self._forward(head, reader, writer)
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            pass
        finally:
            with suppress(OSError):
                writer.close()

    def _is_authorised(self, head: list[bytes]) -> bool:
        expected = b"proxy-authorization: basic " + self._credentials
        return any(
            line.lower().startswith(b"proxy-authorization: basic ")
            and secrets.compare_digest(line[27:].strip(), expected[27:])
            for line in head[1:]
        )

    async def _forward(self, head: list[bytes], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        method, _, rest = head[0].partition(b" ")
        target = rest.rpartition(b" ")[0].decode("latin-1")
        try:
            host, port, path = _split(method, target)
        except ValueError:
            writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            await writer.drain()
            return
        try:
            far_reader, far_writer = await self._connect(host, port)
        except PermissionDeniedError as error:
            self.refusals[host] = error
            writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            await writer.drain()
            return
        except (OSError, TimeoutError):
            writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            await writer.drain()
            return
        self._transports.add(far_writer.transport)
        try:
            if method == b"CONNECT":
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await writer.drain()
            else:
                is_upgrade = any(line.lower().startswith(b"upgrade:") for line in head[1:])
                kept = [line for line in head[1:] if is_upgrade or not line.lower().startswith(_HOP_HEADERS)]
                kept = [line for line in kept if not line.lower().startswith(b"proxy-")]
                # One request a connection: the next one may be for another host.
                closing = [] if is_upgrade else [b"Connection: close"]
                request_line = method + b" " + path.encode("latin-1") + b" HTTP/1.1"
                far_writer.write(b"\r\n".join([request_line, *kept, *closing, b"", b""]))
                await far_writer.drain()
            await _pass_both_ways(reader, writer, far_reader, far_writer)
        finally:
            with suppress(OSError):
                far_writer.close()

    async def _connect(self, host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        async with asyncio.timeout(CONNECT_SECONDS):
            try:
                addresses = await asyncio.wrap_future(start_lookup(host))
            except UnicodeError as fault:
                raise OSError(f"no such host: {host}") from fault
        for address in addresses:
            await (self._allow_public if is_public_address(address) else self._allow_private)(host, address, port)
        for address in addresses:
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(CONNECT_SECONDS):
                    return await asyncio.open_connection(address, port)
        raise OSError(f"none of the host's addresses can be connected to: {host}")


@asynccontextmanager
async def guarded_proxy(allow_private: AddressGate, allow_public: AddressGate) -> AsyncGenerator[GuardedProxy, None]:
    """Run a proxy on a port of its own for as long as the block lasts.

    Args:
        allow_private: called with the host and each of its addresses that is not public; returns to permit, raises
            ``PermissionDeniedError`` to refuse.
        allow_public: the same for public addresses.
    """
    proxy = GuardedProxy(allow_private, allow_public)
    server = await asyncio.start_server(proxy.accept, "127.0.0.1", 0, limit=_MAX_HEAD_BYTES)
    proxy.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield proxy
    finally:
        server.close()
        await proxy.aclose()


async def _read_head(reader: asyncio.StreamReader) -> list[bytes] | None:
    """Read a request's lines up to the empty one; ``None`` if there is no request, or one that is too long."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return None
    return head[:-4].split(b"\r\n")


def _split(method: bytes, target: str) -> tuple[str, int, str]:
    """Take the target of a request apart: host, port and path.

    Raises:
        ValueError: it is none that a proxy is asked for.
    """
    if method == b"CONNECT":
        parts = urlsplit(f"//{target}")
        default_port = 443
    else:
        parts = urlsplit(target)
        default_port = 80
        if parts.scheme not in ("http", "ws"):
            raise ValueError(target)
    if not parts.hostname:
        raise ValueError(target)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return parts.hostname, parts.port or default_port, path


async def _pass_both_ways(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    far_reader: asyncio.StreamReader,
    far_writer: asyncio.StreamWriter,
) -> None:
    async def pass_on(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while piece := await source.read(_PIECE_BYTES):
            sink.write(piece)
            await sink.drain()

    directions = {
        asyncio.create_task(pass_on(reader, far_writer)),
        asyncio.create_task(pass_on(far_reader, writer)),
    }
    try:
        # Whichever side hangs up ends the exchange: browsers close no half of a connection.
        await asyncio.wait(directions, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in directions:
            task.cancel()
        await asyncio.gather(*directions, return_exceptions=True)
