"""Proxies that connect to checked addresses only, for programs that resolve names and follow redirects themselves.

A browser, or a command in a sandbox, gets one proxy for all its connections. The proxy looks each name up once, checks
every address, and connects to one that was checked: a name that resolves to something else a moment later gains
nothing. Its clients are hostile: the head of a request has limits in size and time, a connection carries one request
or one tunnel, and all of it ends with the block.
"""

from __future__ import annotations

import asyncio
import base64
import re
import secrets
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from weakref import WeakSet

from oneclaw_core.errors import PermissionDeniedError
from oneclaw_core.http.addresses import check_addresses, is_own_address, look_up

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
MAX_HEADERS = 200
WEB_PORTS = (80, 443)
_REQUEST_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}) ([\x21-\x7e]+) HTTP/1\.([01])")
_TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
# A name or an IPv4 address, or an IPv6 address without a zone.
_HOST = re.compile(r"[a-z0-9_][a-z0-9._-]{0,252}|[0-9a-f:.]{2,45}")
_LENGTH = re.compile(rb"[0-9]{1,18}")
_HOP_HEADERS = frozenset({b"connection", b"keep-alive", b"te", b"trailer", b"upgrade", b"host"})


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
            addresses = await look_up(host, CONNECT_SECONDS)
            await check_addresses(addresses, host, port, self._allow_private, self._allow_public)
        except PermissionDeniedError as error:
            if len(self.refusals) < MAX_REFUSALS:
                self.refusals[request.destination] = error
            raise
        except (OSError, UnicodeError) as fault:
            raise _UnreachableError(f"no address of {host} is known") from fault
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


@dataclass(frozen=True, slots=True)
class ProxyRequest:
    """A request to a proxy.

    Attributes:
        host: a name in lower case without a dot at its end, or an address; of an IPv6 address without brackets.
        port: from 1 to 65535.
        is_tunnel: True for ``CONNECT``.
        headers: names in lower case, and values.
        forwarded: the head for the server; empty for a tunnel.
    """

    host: str
    port: int
    is_tunnel: bool
    headers: tuple[tuple[bytes, bytes], ...]
    forwarded: bytes

    @property
    def destination(self) -> str:
        """The host, with its port unless that is 80 or 443, such as ``example.com:8080``; as in a URL."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port in WEB_PORTS else f"{host}:{self.port}"

    def values(self, name: bytes) -> list[bytes]:
        """Return the values of a header."""
        return [value for each, value in self.headers if each == name]


def parse_proxy_request(head: bytes) -> ProxyRequest:
    """Parse a request without its body.

    Args:
        head: up to and including the empty line.

    Raises:
        ValueError: it is no valid request to a proxy; the message says why, in a few words.
    """
    lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    request_line = _REQUEST_LINE.fullmatch(lines[0])
    if request_line is None:
        raise ValueError("the request line is not valid")
    if len(lines) > MAX_HEADERS + 1:
        raise ValueError("the request has too many headers")
    headers = tuple(_header(line) for line in lines[1:])
    method, target, minor_version = request_line.groups()
    if method == b"CONNECT":
        host, port = _authority(target.decode("ascii"), 443)
        return ProxyRequest(host, port, True, headers, b"")
    host, port, path = _absolute(target.decode("ascii"))
    _check_length(headers, has_chunks=minor_version == b"1")
    # The host that was checked is the host that is asked for, whatever the client's own header says.
    shown_host = f"[{host}]" if ":" in host else host
    authority = shown_host if port == 80 else f"{shown_host}:{port}"
    lines = [method + b" " + path.encode("ascii") + b" HTTP/1.1", b"Host: " + authority.encode("ascii")]
    lines += [name + b": " + value for name, value in _end_to_end(headers)]
    return ProxyRequest(host, port, False, headers, b"\r\n".join([*lines, b"", b""]))


def _header(line: bytes) -> tuple[bytes, bytes]:
    name, colon, value = line.partition(b":")
    if not colon or _TOKEN.fullmatch(name) is None or _CONTROL.search(value):
        raise ValueError("a header is not valid")
    return name.lower(), value.strip(b" \t")


def _absolute(target: str) -> tuple[str, int, str]:
    try:
        parts = urlsplit(target)
    except ValueError as fault:
        raise ValueError("the request names no valid URL") from fault
    if parts.scheme == "https":
        raise ValueError("https goes through a proxy by CONNECT")
    if parts.scheme not in ("http", "ws"):
        raise ValueError("the request names no http URL")
    host, port = _authority(parts.netloc, 80)
    return host, port, (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _authority(authority: str, default_port: int) -> tuple[str, int]:
    if "@" in authority:
        raise ValueError("the request names a user")
    try:
        parts = urlsplit(f"//{authority}")
        host, port = parts.hostname or "", parts.port
    except ValueError as fault:
        raise ValueError("the request names no valid host and port") from fault
    if parts.path or parts.query or parts.fragment or _HOST.fullmatch(host) is None or port == 0:
        raise ValueError("the request names no valid host and port")
    return host.rstrip("."), port or default_port


def _check_length(headers: tuple[tuple[bytes, bytes], ...], *, has_chunks: bool) -> None:
    lengths = [value for name, value in headers if name == b"content-length"]
    encodings = [value.lower() for name, value in headers if name == b"transfer-encoding"]
    if len(lengths) > 1 or (lengths and encodings):
        raise ValueError("the request has more than one length")
    if lengths and _LENGTH.fullmatch(lengths[0]) is None:
        raise ValueError("the request's length is not valid")
    if encodings and (encodings != [b"chunked"] or not has_chunks):
        raise ValueError("the request's transfer encoding is not supported")


def _end_to_end(headers: tuple[tuple[bytes, bytes], ...]) -> list[tuple[bytes, bytes]]:
    """Leave out what is meant for the proxy, and have the server close the connection: it carries one request."""
    named = {each.strip().lower() for name, value in headers if name == b"connection" for each in value.split(b",")}
    named -= {b"content-length", b"transfer-encoding"}
    kept = [
        (name, value)
        for name, value in headers
        if name not in _HOP_HEADERS and name not in named and not name.startswith(b"proxy-")
    ]
    upgrades = [value for name, value in headers if name == b"upgrade"]
    if upgrades and b"upgrade" in named:
        return [*kept, (b"connection", b"Upgrade"), *((b"upgrade", value) for value in upgrades)]
    return [*kept, (b"connection", b"close")]
