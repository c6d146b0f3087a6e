"""Connections to servers over HTTP: to checked addresses, and kept between calls."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import struct
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
import trustme
from mcp_homes import McpHome
from oneclaw_mcp.connection import HttpState, ServerError
from oneclaw_mcp.http import GuardedTransport

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter
    from collections.abc import Awaitable, Callable, Iterator

    from pytest_oneclaw import HomeFactory

pytestmark = pytest.mark.lowest_versions

RESULTS = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "kept", "version": "1"},
    },
    "tools/list": {"tools": [{"name": "say", "inputSchema": {"type": "object"}}]},
    "tools/call": {"content": [{"type": "text", "text": "hello"}]},
}


class Handler(BaseHTTPRequestHandler):
    """Answers JSON, and keeps its connections."""

    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        self.server.connections += 1  # type: ignore[attr-defined]
        super().setup()

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if message.get("method") in RESULTS:
            self.reply(200, {"jsonrpc": "2.0", "id": message["id"], "result": RESULTS[message["method"]]})
        elif "id" in message:
            error = {"code": -32601, "message": "unknown"}
            self.reply(200, {"jsonrpc": "2.0", "id": message["id"], "error": error})
        else:
            self.reply(202)

    def do_GET(self) -> None:
        self.reply(405)

    def do_DELETE(self) -> None:
        self.reply(405)

    def reply(self, status: int, document: Any = None) -> None:
        self.server.headers.append(dict(self.headers))  # type: ignore[attr-defined]
        body = json.dumps(document).encode() if document is not None else b""
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002  # the base class's name
        return


class KeepingServer(ThreadingHTTPServer):
    """Counts its connections."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.connections = 0
        self.headers: list[dict[str, str]] = []

    def url(self, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.server_port}/mcp"


@pytest.fixture
def web() -> Iterator[KeepingServer]:
    with KeepingServer() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.mark.long
def test_calls_share_a_connection(oneclaw_factory: HomeFactory, web: KeepingServer) -> None:
    home = McpHome(oneclaw_factory(["mcp"], allow=["mcp.web.*"]))
    home.add("web", transport="http", url=web.url())
    home.call("web__say")
    before = web.connections
    for _ in range(5):
        assert home.call("web__say").result == "hello"
    assert web.connections == before


def test_requests_say_where_they_go_whatever_is_configured(oneclaw_factory: HomeFactory, web: KeepingServer) -> None:
    home = McpHome(oneclaw_factory(["mcp"], allow=["mcp.web.*"]))
    home.add(
        "web", transport="http", url=web.url(), headers={"Host": "evil.test", "Accept-Encoding": "gzip", "X-Own": "1"}
    )
    assert home.call("web__say").result == "hello"
    assert {(each["Host"], each["Accept-Encoding"], each["X-Own"]) for each in web.headers} == {
        (f"127.0.0.1:{web.server_port}", "identity", "1")
    }


def test_name_that_stands_for_an_address_of_somebody_else_is_not_connected_to(
    oneclaw_factory: HomeFactory, web: KeepingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oneclaw_mcp.http.is_named_place", lambda url, host, port: False)
    home = McpHome(oneclaw_factory(["mcp"], allow=["mcp.web.*"]))
    with pytest.raises(ServerError, match="leads to"):
        home.add("web", transport="http", url=web.url("localhost"))
    assert not web.connections


def test_unknown_name_is_reported(oneclaw_factory: HomeFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*given: object, **options: object) -> list[Any]:
        raise OSError("no such name")

    home = McpHome(oneclaw_factory(["mcp"], allow=["mcp.web.*"]))
    monkeypatch.setattr("socket.getaddrinfo", unknown)
    with pytest.raises(ServerError, match=r"the address of nowhere\.test cannot be found"):
        home.add("web", transport="http", url="http://nowhere.test/mcp")


def test_refused_connection_is_reported(oneclaw_factory: HomeFactory) -> None:
    home = McpHome(oneclaw_factory(["mcp"], allow=["mcp.web.*"]))
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # and does not listen
        port = unused.getsockname()[1]
        with pytest.raises(ServerError, match=rf"127\.0\.0\.1, port {port}: Connection refused"):
            home.add("web", transport="http", url=f"http://127.0.0.1:{port}/mcp")


async def posted(
    body: bytes,
    answered: Callable[[StreamReader, StreamWriter], Awaitable[None]],
    *,
    tls: ssl.SSLContext | None = None,
    scheme: str | None = None,
    timeout_seconds: float = 10,
) -> httpx2.Response:
    """Return the answer to a request with a body, of a server that is given."""

    async def allow(host: str, address: str, port: int) -> None:
        return

    handlers: list[asyncio.Task[None]] = []

    async def handled(reader: StreamReader, writer: StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        handlers.append(task)
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            await answered(reader, writer)
        writer.close()

    async with await asyncio.start_server(handled, "127.0.0.1", 0, ssl=tls) as server:
        place = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        url = f"{scheme or ('https' if tls else 'http')}://{place}/mcp"
        transport = GuardedTransport(allow, HttpState(), url)
        try:
            async with httpx2.AsyncClient(transport=transport, timeout=timeout_seconds) as client:
                return await client.post(url, content=body)
        finally:
            await asyncio.gather(*handlers)


def server_context(names: list[str], monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """Return the context of a server for names, whose authority the clients trust."""
    authority = trustme.CA()
    trusted = ssl.create_default_context()
    authority.configure_trust(trusted)
    monkeypatch.setattr("oneclaw_mcp.http._ssl_context", lambda: trusted)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(context)
    return context


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Type: application/json\r\n\r\n{}"


def test_long_request_arrives_as_a_whole() -> None:
    arrived: list[bytes] = []

    async def answered(reader: StreamReader, writer: StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        arrived.append(await reader.readexactly(3_000_000))
        writer.write(OK)

    body = bytes(range(250)) * 12_000
    assert asyncio.run(posted(body, answered)).content == b"{}"
    assert arrived == [body]


def test_answer_counts_that_comes_before_a_request_was_read() -> None:
    async def answered(reader: StreamReader, writer: StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        await reader.read()

    assert asyncio.run(posted(b"x" * 200_000, answered)).status_code == 413


def test_broken_answer_is_an_error_of_reading() -> None:
    async def answered(reader: StreamReader, writer: StreamWriter) -> None:
        await reader.read(65_536)
        writer.write(OK[:-1])

    with pytest.raises(httpx2.ReadError):
        asyncio.run(posted(b"{}", answered))


async def echoed(reader: StreamReader, writer: StreamWriter) -> None:
    """Answer a request with its body, which has 20 bytes."""
    body = (await reader.readuntil(b"\r\n\r\n"), await reader.readexactly(20))[1]
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n" + body)


def test_encrypted_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    context = server_context(["127.0.0.1"], monkeypatch)
    assert asyncio.run(posted(b"a question and so on", echoed, tls=context)).content == b"a question and so on"


def test_server_with_the_certificate_of_another_one_is_not_spoken_to(monkeypatch: pytest.MonkeyPatch) -> None:
    context = server_context(["other.test"], monkeypatch)
    with pytest.raises(httpx2.ConnectError, match="127"):
        asyncio.run(posted(b"a question and so on", echoed, tls=context))


@pytest.mark.parametrize("said", [b"", OK, b"\x16\x03\x03\x00\x02"])
def test_what_is_said_before_encryption_is_no_answer(said: bytes) -> None:
    async def answered(reader: StreamReader, writer: StreamWriter) -> None:
        writer.write(said)

    with pytest.raises(httpx2.ConnectError):
        asyncio.run(posted(b"{}", answered, scheme="https"))


def test_server_that_does_not_encrypt_is_given_up() -> None:
    async def answered(reader: StreamReader, writer: StreamWriter) -> None:
        await reader.read()

    with pytest.raises(httpx2.ConnectError, match="does not encrypt"):
        asyncio.run(posted(b"{}", answered, scheme="https", timeout_seconds=0.1))


def test_server_that_does_not_answer_is_given_up() -> None:
    async def answered(reader: StreamReader, writer: StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await reader.read()

    with pytest.raises(httpx2.ReadTimeout, match=r"nothing was received for 0\.1 s"):
        asyncio.run(posted(b"{}", answered, timeout_seconds=0.1))


def test_long_answer_is_taken_piece_by_piece() -> None:
    async def answered(reader: StreamReader, writer: StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 3000000\r\n\r\n" + b"0123456789" * 300_000)

    assert asyncio.run(posted(b"{}", answered)).content == b"0123456789" * 300_000


def test_broken_connection_is_an_error_of_reading() -> None:
    async def answered(reader: StreamReader, writer: StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK[:-1])
        await writer.drain()
        await asyncio.sleep(0.05)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    with pytest.raises(httpx2.ReadError, match="reset"):
        asyncio.run(posted(b"{}", answered))
