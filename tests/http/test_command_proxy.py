"""The proxy of a sandboxed command: hosts by name, checked addresses, and clients that mean harm."""

from __future__ import annotations

import asyncio
import gc

import pytest
from invented_names import PUBLIC_ADDRESS, PublicNames
from pytest_oneclaw.web_server import WebServer, response

from oneclaw_core.errors import PermissionDeniedError
from oneclaw_core.http import proxy as proxy_module
from oneclaw_core.http.proxy import MAX_REFUSALS, command_proxy


class Gates:
    """Permits some hosts, all public addresses, and private ones of named hosts; notes what it is asked."""

    def __init__(self, *hosts, private=()):
        self.hosts = hosts
        self.private_hosts = private
        self.asked = []

    async def host(self, host):
        self.asked.append(host)
        if host not in self.hosts:
            raise PermissionDeniedError(f"the command may not\nreach {host}: that needs shell.network:{host}", "shell")

    async def private(self, host, address, port):
        self.asked.append((host, address))
        if host not in self.private_hosts:
            raise PermissionDeniedError(f"{host} is at the private address {address}", "network.private")

    async def public(self, host, address, port):
        self.asked.append((host, address))


class Listener:
    """A listener of the test's, whose connections the proxy serves."""

    def __init__(self, gates):
        self._gates = gates

    async def __aenter__(self):
        self._context = command_proxy(self._gates.host, self._gates.private, self._gates.public)
        self.proxy = await self._context.__aenter__()
        self._server = await asyncio.start_server(self.proxy.accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *raised):
        await self._context.__aexit__(*raised)
        self._server.close()

    async def connect(self):
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def ask(self, data):
        reader, writer = await self.connect()
        writer.write(data)
        answer = await reader.read()
        writer.close()
        return answer


def ask(gates, data):
    """Send bytes to a proxy and return its answer, and the proxy."""

    async def run():
        async with Listener(gates) as listener:
            return await listener.ask(data), listener.proxy

    return asyncio.run(run())


@pytest.fixture
def names(monkeypatch):
    return PublicNames(monkeypatch)


@pytest.fixture
def server(names):
    """A server that stands for index.example at ports 80 and 443."""
    with WebServer(lambda request: response(f"{request.method} {request.target} {request.text}")) as server:
        names.add("index.example", PUBLIC_ADDRESS)
        for port in (80, 443, 8080):
            names.lead(PUBLIC_ADDRESS, port, server.port)
        yield server


def test_a_request_goes_to_the_host_that_was_checked(server, names):
    gates = Gates("index.example")

    answer, proxy = ask(
        gates, b"POST http://Index.Example./a HTTP/1.1\r\nHost: other.example\r\nContent-Length: 2\r\n\r\nhi"
    )

    assert answer.endswith(b"POST /a hi")
    assert server.requests[0].header("host") == "index.example"
    assert gates.asked == ["index.example", ("index.example", PUBLIC_ADDRESS)]
    assert (names.lookups, proxy.refusals) == (["index.example"], {})


def test_a_tunnel_answers_a_client_that_has_sent_all(server):
    async def run():
        async with Listener(Gates("index.example")) as listener:
            reader, writer = await listener.connect()
            writer.write(b"CONNECT index.example:443 HTTP/1.1\r\n\r\n")
            opened = await reader.readuntil(b"\r\n\r\n")
            writer.write(b"GET /inside HTTP/1.1\r\n\r\n")
            writer.write_eof()
            rest = await reader.read()
            writer.close()
            return opened, rest

    opened, rest = asyncio.run(run())
    assert opened == b"HTTP/1.1 200 Connection established\r\n\r\n"
    assert rest.endswith(b"GET /inside ")


@pytest.mark.parametrize("request_line", ["GET http://evil.example/", "CONNECT evil.example:443"])
def test_a_host_that_is_not_permitted_is_not_even_looked_up(names, request_line):
    answer, proxy = ask(Gates("index.example"), f"{request_line} HTTP/1.1\r\n\r\n".encode())

    assert answer.startswith(b"HTTP/1.1 403 Forbidden\r\n")
    assert answer.endswith(
        b"\r\n\r\nOneClaw: the command may not reach evil.example: that needs shell.network:evil.example\n"
    )
    assert list(proxy.refusals) == ["evil.example"]
    assert names.lookups == []


def test_another_port_is_part_of_what_is_asked_for(server):
    gates = Gates("index.example:8080")

    answer, proxy = ask(gates, b"GET http://index.example:8080/ HTTP/1.1\r\n\r\n")
    assert answer.endswith(b"GET / ")

    answer, proxy = ask(gates, b"CONNECT index.example:22 HTTP/1.1\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 403 ")
    assert list(proxy.refusals) == ["index.example:22"]


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",
        "127.0.0.1",
        "127.8.9.1",
        "169.254.169.254",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "224.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "64:ff9b::7f00:1",
        "fe80::1%lo",
        "fd00:ec2::254",
        "fd20:ce::254",
        "ff02::1",
    ],
)
def test_no_name_leads_to_this_machine_or_its_link(names, address):
    names.add("index.example", PUBLIC_ADDRESS, address)
    gates = Gates("index.example", private=["index.example"])

    answer, proxy = ask(gates, b"CONNECT index.example:443 HTTP/1.1\r\n\r\n")

    assert answer.startswith(b"HTTP/1.1 403 ")
    assert b"which no command may reach" in answer
    assert ("index.example", address) not in gates.asked
    assert proxy.refusals["index.example"].permission == "network.private"


def test_a_private_address_is_asked_for(names, server):
    names.add("mirror.example", "10.1.2.3")
    names.lead("10.1.2.3", 80, server.port)
    request = b"GET http://mirror.example/ HTTP/1.1\r\n\r\n"

    answer, proxy = ask(Gates("mirror.example"), request)
    assert answer.startswith(b"HTTP/1.1 403 ")
    assert proxy.refusals["mirror.example"].permission == "network.private"

    answer, _ = ask(Gates("mirror.example", private=["mirror.example"]), request)
    assert answer.endswith(b"GET / ")


def test_what_cannot_be_connected_to_is_said(names):
    names.add("closed.example", PUBLIC_ADDRESS)
    gates = Gates("closed.example", "unknown.invalid", f"{'a' * 64}.example")

    answer, proxy = ask(gates, b"CONNECT closed.example:443 HTTP/1.1\r\n\r\n")
    assert answer.endswith(b"OneClaw: closed.example cannot be connected to at port 443\n")
    assert proxy.refusals == {}

    answer, _ = ask(gates, f"CONNECT {'a' * 64}.example:443 HTTP/1.1\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 502 ")


def test_a_head_has_a_greatest_length():
    answer, _ = ask(Gates(), b"GET http://a.example/ HTTP/1.1\r\nX: " + b"a" * 70_000)
    assert answer.startswith(b"HTTP/1.1 431 ")


def test_a_head_with_two_lengths_is_refused(server):
    request = b"POST http://index.example/ HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"
    answer, _ = ask(Gates("index.example"), request)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert server.requests == []


def test_a_connection_carries_one_request(server):
    request = b"GET http://index.example/ HTTP/1.1\r\n\r\n"
    answer, _ = ask(Gates("index.example"), request + b"GET http://evil.example/ HTTP/1.1\r\n\r\n")
    assert answer.count(b"HTTP/1.1 ") == 1
    assert len(server.requests) == 1


def test_a_client_that_is_slow_to_ask_is_sent_away(monkeypatch):
    monkeypatch.setattr(proxy_module, "HEAD_SECONDS", 0.05)
    assert ask(Gates(), b"GET http://a.example/ HTTP/1.1\r\nX: ")[0] == b""


def test_a_tunnel_in_which_nothing_happens_ends(names, monkeypatch):
    monkeypatch.setattr(proxy_module, "IDLE_SECONDS", 0.05)

    async def run():
        accepted = []
        silent = await asyncio.start_server(lambda _, writer: accepted.append(writer), "127.0.0.1", 0)
        names.add("silent.example", PUBLIC_ADDRESS)
        names.lead(PUBLIC_ADDRESS, 443, silent.sockets[0].getsockname()[1])
        async with Listener(Gates("silent.example")) as listener:
            answer = await listener.ask(b"CONNECT silent.example:443 HTTP/1.1\r\n\r\n")
        silent.close()
        accepted[0].close()
        await accepted[0].wait_closed()
        return answer

    assert asyncio.run(run()).startswith(b"HTTP/1.1 200 ")


def test_connections_and_noted_refusals_are_limited(monkeypatch):
    monkeypatch.setattr(proxy_module, "MAX_CONNECTIONS", 1)

    async def run():
        async with Listener(Gates()) as listener:
            _, first = await listener.connect()
            reader, second = await listener.connect()
            assert await reader.read() == b""
            for each in (first, second):
                each.close()
                await each.wait_closed()
            while listener.proxy._connections:
                await asyncio.sleep(0)
            for number in range(MAX_REFUSALS + 5):
                await listener.ask(f"CONNECT h{number}.example:443 HTTP/1.1\r\n\r\n".encode())
            return listener.proxy

    assert len(asyncio.run(run()).refusals) == MAX_REFUSALS


@pytest.mark.long
def test_nothing_is_left_open_by_a_client_that_reads_nothing(names, recwarn):
    async def pour(_reader, writer):
        while not writer.is_closing():
            writer.write(b"x" * 100_000)
            await writer.drain()

    async def run():
        big = await asyncio.start_server(pour, "127.0.0.1", 0)
        names.add("big.example", PUBLIC_ADDRESS)
        names.lead(PUBLIC_ADDRESS, 443, big.sockets[0].getsockname()[1])
        async with Listener(Gates("big.example")) as listener:
            reader, writer = await listener.connect()
            writer.write(b"CONNECT big.example:443 HTTP/1.1\r\n\r\n")
            await reader.readuntil(b"\r\n\r\n")
        big.close()
        writer.close()
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(others)

    asyncio.run(run())
    gc.collect()
    assert [str(each.message) for each in recwarn if each.category is ResourceWarning] == []
