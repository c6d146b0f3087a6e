"""Proxies that connect to checked addresses only, for programs that resolve names and follow redirects themselves.

A browser, or a command in a sandbox, gets one proxy for all its connections. The proxy looks each name up once, checks
every address, and connects to one that was checked: a name that resolves to something else a moment later gains
nothing. Its clients are hostile: the head of a request has limits in size and time, a connection carries one request
or one tunnel, and all of it ends with the block.
"""

from __future__ import annotations

import asyncio
import base64
import secrets
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING
from weakref import WeakSet

from oneclaw_core.errors import PermissionDeniedError
from oneclaw_core.http.addresses import is_own_address, is_public_address, start_lookup
from oneclaw_core.http.proxy_request import ProxyRequest, parse_proxy_request

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from oneclaw_core.http.addresses import AddressGate

    HostGate = Callable[[str], Awaitable[None]]

USER_NAME = "oneclaw"
CONNECT_SECONDS = 10
HEAD_SECONDS = 10
IDLE_SECONDS = 120
MAX_CONNECTIONS = 64
MAX_REFUSALS = 100
_CLOSE_SECONDS = 5
_MAX_HEAD_BYTES = 65_536
_PIECE_BYTES = 65_536
_MAX_REASON_CHARACTERS = 500


class _UnreachableError(Exception):
    """There is no connection to a host; the message says why."""


class GuardedProxy:
    """An HTTP proxy for one call of one tool. Made by :func:`guarded_proxy` and :func:`command_proxy`.

    Attributes:
        url: where it listens; empty if its connections come from elsewhere.
        user_name: Credentials that its clients must send.
        password: Credentials that its clients must send; empty if they need none.
        refusals: by host, with the port unless that is 80 or 443, why it was not connected to.
    """

    def __init__(
        self,
        allow_private: AddressGate,
        allow_public: AddressGate,
        allow_host: HostGate | None = None,
        password: str = "",
    ) -> None:
        self.url = ""
        self.user_name = USER_NAME
        self.password = password
        self.refusals: dict[str, PermissionDeniedError] = {}
        self._allow_private = allow_private
        self._allow_public = allow_public
        self._allow_host = allow_host
        self._connections: set[asyncio.Task[None]] = set()
        self._transports: WeakSet[asyncio.WriteTransport] = WeakSet()
        self._is_closed = False

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection, for as long as it lasts."""
        if self._is_closed or len(self._connections) >= MAX_CONNECTIONS:
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
        # A task that had not begun has closed nothing, and what no one reads would keep a connection open.
        for transport in list(self._transports):
            transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._answer(reader, writer)
            writer.close()
            async with asyncio.timeout(_CLOSE_SECONDS):
                await writer.wait_closed()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.transport.abort()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            # A client that is silent, or sends no password, is refused before anything is looked up.
            async with asyncio.timeout(HEAD_SECONDS):
                request = await self._authorised_request(reader, writer)
            far_reader, far_writer = await self._connect(request)
        except asyncio.LimitOverrunError:
            self._refuse(writer, "431 Request Header Fields Too Large", "the head of the request is too long")
            return
        except ValueError as fault:
            self._refuse(writer, "400 Bad Request", str(fault))
            return
        except PermissionDeniedError as error:
            self._refuse(writer, "403 Forbidden", str(error))
            return
        except _UnreachableError as fault:
            self._refuse(writer, "502 Bad Gateway", str(fault))
            return
        self._transports.add(far_writer.transport)
        try:
            if request.is_tunnel:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            far_writer.write(request.forwarded)
            await _relay(reader, writer, far_reader, far_writer)
        finally:
            far_writer.transport.abort()

    def _refuse(self, writer: asyncio.StreamWriter, status: str, reason: str) -> None:
        head = f"HTTP/1.1 {status}\r\nConnection: close\r\n"
        body = b""
        if self._allow_host is not None:  # a browser would show the words as the page, and ask for its icon
            head += "Content-Type: text/plain; charset=utf-8\r\n"
            body = f"OneClaw: {' '.join(reason.split())[:_MAX_REASON_CHARACTERS]}\n".encode()
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)

    async def _authorised_request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> ProxyRequest:
        """Read the head of a request that has the password.

        Raises:
            ValueError: it is not valid.
            asyncio.LimitOverrunError: it is too long.
            asyncio.IncompleteReadError: the client has gone.
        """
        credentials = base64.b64encode(f"{USER_NAME}:{self.password}".encode())
        while True:
            request = parse_proxy_request(await reader.readuntil(b"\r\n\r\n"))
            given = [each.partition(b" ") for each in request.values(b"proxy-authorization")]
            if not self.password or any(
                scheme.lower() == b"basic" and secrets.compare_digest(value.strip(), credentials)
                for scheme, _, value in given
            ):
                return request
            writer.write(
                b'HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="oneclaw"\r\n'
                b"Content-Length: 0\r\n\r\n"
            )
            await writer.drain()

    async def _connect(self, request: ProxyRequest) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        host, port = request.host, request.port
        try:
            if self._allow_host is not None:
                await self._allow_host(request.destination)
            addresses = await _look_up(host)
            for address in addresses:
                await (self._allow_public if is_public_address(address) else self._allow_private)(host, address, port)
        except PermissionDeniedError as error:
            if len(self.refusals) < MAX_REFUSALS:
                self.refusals[request.destination] = error
            raise
        for address in addresses:
            with suppress(OSError):
                async with asyncio.timeout(CONNECT_SECONDS):
                    return await asyncio.open_connection(address, port)
        raise _UnreachableError(f"{host} cannot be connected to at port {port}")


@asynccontextmanager
async def guarded_proxy(allow_private: AddressGate, allow_public: AddressGate) -> AsyncGenerator[GuardedProxy, None]:
    """Run a proxy on a separate port for as long as the block lasts.

    It asks for a password, since other users of the machine could connect to it too.

    Args:
        allow_private: called with the host, each of its addresses that is not public, and the port; returns to permit,
            raises ``PermissionDeniedError`` to refuse.
        allow_public: the same for public addresses.
    """
    proxy = GuardedProxy(allow_private, allow_public, password=secrets.token_urlsafe(24))
    server = await asyncio.start_server(proxy.accept, "127.0.0.1", 0, limit=_MAX_HEAD_BYTES)
    proxy.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield proxy
    finally:
        server.close()
        await proxy.aclose()


@asynccontextmanager
async def command_proxy(
    allow_host: HostGate, allow_private: AddressGate, allow_public: AddressGate
) -> AsyncGenerator[GuardedProxy, None]:
    """Give a proxy for a command that has no other way to the network, for as long as the block lasts.

    It listens nowhere: pass its ``accept`` what connects, such as by ``run_program(on_connection=proxy.accept)``. No
    gate can permit an address of this machine or its link, such as a loopback or a metadata address.

    Args:
        allow_host: called first, with the host, and with its port unless that is 80 or 443, such as
            ``example.com:8080``; returns to permit, raises ``PermissionDeniedError`` to refuse. A name is looked up
            only then.
        allow_private: called with the host, each of its addresses that is not public, and the port.
        allow_public: the same for public addresses.
    """

    async def allow_foreign(host: str, address: str, port: int) -> None:
        if is_own_address(address):
            raise PermissionDeniedError(
                f"{host} is at {address}, an address of this machine or its link, which no command may reach",
                "network.private",
            )
        await allow_private(host, address, port)

    proxy = GuardedProxy(allow_foreign, allow_public, allow_host)
    try:
        yield proxy
    finally:
        await proxy.aclose()


async def _look_up(host: str) -> list[str]:
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            return await asyncio.wrap_future(start_lookup(host))
    except (OSError, UnicodeError) as fault:
        raise _UnreachableError(f"no address of {host} is known") from fault


async def _relay(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    far_reader: asyncio.StreamReader,
    far_writer: asyncio.StreamWriter,
) -> None:
    """Pass on what comes, both ways, until the server ends, either side breaks off, or nothing comes any more.

    A client that has only sent all that it has still gets its answer.
    """
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(IDLE_SECONDS) as limit:

        async def pass_on(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            while piece := await source.read(_PIECE_BYTES):
                sink.write(piece)
                await sink.drain()
                limit.reschedule(loop.time() + IDLE_SECONDS)

        async def send() -> None:
            try:
                await pass_on(reader, far_writer)
                far_writer.write_eof()
            except OSError:
                receiving.cancel()

        receiving = asyncio.create_task(pass_on(far_reader, writer))
        sending = asyncio.create_task(send())
        try:
            await asyncio.wait({receiving})
        finally:
            receiving.cancel()
            sending.cancel()
            await asyncio.gather(receiving, sending, return_exceptions=True)
