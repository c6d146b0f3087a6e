"""The proxy that a browser is kept to checked addresses by."""

from __future__ import annotations

import asyncio
import base64
import socket

import httpx
import pytest
from pytest_oneclaw.web_server import WebServer, response

from oneclaw_core.errors import PermissionDeniedError
from oneclaw_core.http import addresses
from oneclaw_core.http.proxy import USER_NAME, guarded_proxy

pytestmark = pytest.mark.lowest_versions


class Gates:
    """Notes what it is asked, and permits what it is told to."""

    def __init__(self, *, permits: bool) -> None:
        self.permits = permits
        self.asked: list[tuple[str, str]] = []

    async def private(self, host: str, address: str, port: int) -> None:
        self.asked.append((host, address))
        if not self.permits:
            raise PermissionDeniedError(f"{host} is private", "network.private")

    async def public(self, host: str, address: str, port: int) -> None:
        raise AssertionError(f"{host} at {address} is not public")


def through_proxy(gates, url, *, password=None, method="GET", content=None):
    """Request a URL through the proxy; give the answer, and the proxy."""

    async def run():
        async with guarded_proxy(gates.private, gates.public) as proxy:
            via = httpx.Proxy(proxy.url, auth=(USER_NAME, password or proxy.password))
            async with httpx.AsyncClient(proxy=via, trust_env=False) as client:
                return await client.request(method, url, content=content), proxy

    return asyncio.run(run())


def test_a_request_is_passed_on_without_the_proxys_own_headers():
    with WebServer(lambda request: response(f"{request.method} {request.target} {request.body.decode()}")) as server:
        answer, _ = through_proxy(Gates(permits=True), f"{server.url}/a?b=c", method="POST", content="hello")
        (request,) = server.requests

    assert answer.text == "POST /a?b=c hello"
    assert request.header("host") == f"127.0.0.1:{server.port}"
    assert request.header("connection") == "close"
    assert not [name for name, _ in request.headers if name.startswith("proxy-")]


def test_an_address_that_is_not_permitted_is_not_connected_to():
    gates = Gates(permits=False)
    with WebServer(lambda _: response("secret")) as server:
        answer, proxy = through_proxy(gates, server.url)

        assert (answer.status_code, answer.text, server.requests) == (403, "", [])
    assert gates.asked == [("127.0.0.1", "127.0.0.1")]
    assert list(proxy.refusals) == [f"127.0.0.1:{server.port}"]


def test_a_name_is_looked_up_once_and_its_address_is_the_one_that_is_used(monkeypatch):
    lookups = []

    def look_up(host, port, **options):
        lookups.append(host)
        address = "127.0.0.1" if len(lookups) == 1 else "169.254.169.254"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0))]

    with WebServer(lambda _: response("ok")) as server:
        monkeypatch.setattr(addresses.socket, "getaddrinfo", look_up)
        gates = Gates(permits=True)
        # The event loop looks up literal addresses too, to connect to them.
        answer = asyncio.run(_head(gates, f"GET http://rebinding.example:{server.port}/ HTTP/1.1\r\n"))
        monkeypatch.undo()

    assert answer.startswith(b"HTTP/1.1 200 OK")
    assert gates.asked == [("rebinding.example", "127.0.0.1")]
    assert lookups.count("rebinding.example") == 1


@pytest.mark.parametrize(
    "request_line",
    [
        "GET ftp://127.0.0.1/ HTTP/1.1",
        "GET / HTTP/1.1",
        "CONNECT :80 HTTP/1.1",
        "CONNECT 127.0.0.1:99999 HTTP/1.1",
        "GET",
    ],
)
def test_what_is_no_request_to_a_proxy_is_refused(request_line):
    answer = asyncio.run(_head(Gates(permits=True), f"{request_line}\r\n"))

    assert answer.startswith(b"HTTP/1.1 400 ")


def test_no_one_uses_it_without_the_password():
    with WebServer(lambda _: response("secret")) as server:
        answer, _ = through_proxy(Gates(permits=True), server.url, password="guess")

        assert (answer.status_code, server.requests) == (407, [])


def test_a_server_that_is_not_there_is_told_as_such():
    answer, _ = through_proxy(Gates(permits=True), "http://127.0.0.1:1/")

    assert answer.status_code == 502


def test_a_tunnel_carries_what_it_is_given():
    with WebServer(lambda request: response(request.target)) as server:
        answer = asyncio.run(
            _head(
                Gates(permits=True),
                f"CONNECT 127.0.0.1:{server.port} HTTP/1.1\r\n",
                after=b"GET /inside HTTP/1.1\r\n\r\n",
            )
        )

    assert answer.startswith(b"HTTP/1.1 200 Connection established")
    assert answer.endswith(b"/inside")


def test_nothing_is_left_open_at_the_end():
    async def run():
        async with guarded_proxy(Gates(permits=True).private, Gates(permits=True).public) as proxy:
            reader, writer = await asyncio.open_connection("127.0.0.1", int(proxy.url.rpartition(":")[2]))
            await asyncio.sleep(0)
        rest = await reader.read()
        writer.close()
        return rest, len(asyncio.all_tasks())

    assert asyncio.run(run()) == (b"", 1)


def test_a_connection_that_is_just_being_taken_is_not_left_open_either(caplog):
    async def run():
        async with guarded_proxy(Gates(permits=True).private, Gates(permits=True).public) as proxy:
            opening = asyncio.create_task(asyncio.open_connection("127.0.0.1", int(proxy.url.rpartition(":")[2])))
            while not proxy._connections:
                await asyncio.sleep(0)
        reader, writer = await opening
        rest = await asyncio.wait_for(reader.read(), 10)
        writer.close()
        return rest

    assert asyncio.run(run()) == b""
    assert caplog.messages == []  # such as that a stream was closed when it was forgotten


async def _head(gates, head, after=b""):
    """Speak to the proxy byte for byte."""
    async with guarded_proxy(gates.private, gates.public) as proxy:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(proxy.url.rpartition(":")[2]))
        credentials = base64.b64encode(f"{USER_NAME}:{proxy.password}".encode()).decode()
        writer.write(f"{head}Proxy-Authorization: Basic {credentials}\r\nHost: x\r\n\r\n".encode())
        if after:
            answer = await reader.readuntil(b"\r\n\r\n")
            writer.write(after)
            answer += await reader.read()
        else:
            answer = await reader.read()
        writer.close()
        return answer
