import asyncio
import ipaddress
import socket
import ssl
import subprocess
import sys
import threading

import httpx
import pytest
import trustme
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest_oneclaw.web_server import WebServer, response

from oneclaw_core.errors import PermissionDeniedError
from oneclaw_core.http import clients as http
from oneclaw_core.http.addresses import is_public_address
from oneclaw_core.http.clients import (
    create_client,
    create_guarded_client,
    create_guarded_sync_client,
)
from oneclaw_core.http.transports import checked_request
from oneclaw_core.system.threads import start_in_background

pytestmark = [pytest.mark.every_python, pytest.mark.lowest_versions]

PUBLIC = [
    "1.1.1.1",
    "8.8.8.8",
    "100.63.255.255",
    "100.128.0.0",
    "172.15.255.255",
    "172.32.0.1",
    "192.0.1.1",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "2001:4860:4860::8888",
    "2001:200::1",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
]
NOT_PUBLIC = [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "100.100.100.200",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.254",
    "168.63.129.16",
    "169.254.169.254",
    "169.254.170.2",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.7",
    "203.0.113.9",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::7f00:1",
    "64:ff9b::169.254.169.254",
    "64:ff9b:1::8.8.8.8",
    "100::1",
    "2001::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:a9fe:a9fe::1",
    "2002:808:808::1",
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "4000::1",
    "",
    "localhost",
    "127.1",
    "2130706433",
    "0x7f000001",
    "8.8.8.8 ",
    "[2606:4700:4700::1111]",
]


@pytest.mark.parametrize("address", PUBLIC)
def test_ordinary_addresses_are_public(address):
    assert is_public_address(address)


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_special_addresses_and_what_is_no_address_are_not_public(address):
    assert not is_public_address(address)


@pytest.mark.long
@settings(deadline=None)  # a busy machine is no fault of the code
@given(st.ip_addresses())
def test_nothing_is_public_that_the_standard_library_knows_better(address):
    if is_public_address(str(address)):
        wrapped = getattr(address, "ipv4_mapped", None)
        if wrapped is None and address in ipaddress.ip_network("64:ff9b::/96"):
            wrapped = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        seen = wrapped or address
        assert seen.is_global
        assert not any([seen.is_multicast, seen.is_reserved, seen.is_link_local, seen.is_loopback])


@pytest.mark.long
@settings(deadline=None)  # a busy machine is no fault of the code
@given(st.ip_addresses(v=4))
def test_wrapping_an_address_never_makes_it_public(address):
    number = int(address)
    for wrapped in (
        ipaddress.IPv6Address(0xFFFF_0000_0000 | number),
        ipaddress.IPv6Address((0x64_FF9B << 96) | number),
        ipaddress.IPv6Address((0x2002 << 112) | (number << 80)),
        ipaddress.IPv6Address((0x2001_0000 << 96) | (number ^ 0xFFFF_FFFF)),
    ):
        assert is_public_address(str(address)) or not is_public_address(str(wrapped))


def test_importing_is_cheap():
    code = "import sys, oneclaw_core.http; assert 'httpx' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


# The guarded clients. Each test runs with the asynchronous and the synchronous one.


class Gate:
    """Permits the hosts it is given, and notes what it was asked."""

    def __init__(self, *hosts):
        self.hosts = hosts
        self.asked = []

    async def check(self, host, address, port):
        self.asked.append((host, address))
        if host not in self.hosts:
            raise PermissionDeniedError(f"{host} is private", "network.private")


class Async:
    @staticmethod
    def get(gate, *urls, **options):
        async def main():
            async with create_guarded_client(gate.check) as client:
                return [await client.get(url, **options) for url in urls]

        return asyncio.run(main())


class Sync:
    @staticmethod
    def get(gate, *urls, **options):
        with create_guarded_sync_client(lambda sent: asyncio.run(checked_request(sent, gate.check))) as client:
            return [client.get(url, **options) for url in urls]


@pytest.fixture(params=[Async, Sync], ids=["async", "sync"])
def guarded(request):
    return request.param


@pytest.fixture
def names(monkeypatch):
    """Names that resolve to what a test says, one answer for each lookup, the last one again and again."""
    table = {}
    lookups = []
    real = socket.getaddrinfo

    def getaddrinfo(host, *arguments, **named):
        if host not in table:
            return real(host, *arguments, **named)
        lookups.append(host)
        answers = table[host]
        addresses = answers.pop(0) if len(answers) > 1 else answers[0]
        return [
            (socket.AF_INET6 if ":" in each else socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, 0))
            for each in addresses
        ]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    table["lookups"] = lookups
    return table


@pytest.fixture
def tls(monkeypatch, tmp_path):
    """A server's TLS context, whose certificate the clients trust; it notes the names asked for."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "authority.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("guarded.test").configure_cert(context)
    context.names = []
    context.sni_callback = lambda _socket, name, _context: context.names.append(name)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    http._ssl_context.cache_clear()
    yield context
    http._ssl_context.cache_clear()


def test_a_private_address_needs_permission(guarded):
    gate = Gate()
    with WebServer(lambda _: response("secret")) as server, pytest.raises(PermissionDeniedError):
        guarded.get(gate, server.url)
    assert gate.asked == [("127.0.0.1", "127.0.0.1")]
    assert server.requests == []


def test_a_permitted_private_address_is_reached(guarded):
    with WebServer(lambda _: response("hello")) as server:
        answer = guarded.get(Gate("127.0.0.1"), server.url)[0]
    assert answer.text == "hello"
    assert str(answer.url) == server.url
    assert server.requests[0].header("user-agent").startswith("oneclaw/")


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "localhost.",
        "LOCALHOST",
        "127.1",
        "2130706433",
        "0x7f.1",
        "0177.0.0.1",
        "127.0.0.1.",
        "0",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "user:pass@127.0.0.1",
        "8.8.8.8@127.0.0.1",
    ],
)
def test_no_spelling_of_this_machine_gets_past_the_gate(guarded, host):
    with WebServer(lambda _: response("secret")) as server:
        gate = Gate()
        # The library itself refuses some, and systems differ in which they resolve.
        with pytest.raises((PermissionDeniedError, httpx.ConnectError, httpx.InvalidURL)):
            guarded.get(gate, f"http://{host}:{server.port}/")
    assert server.requests == []


def test_the_odd_spellings_are_resolved_as_the_system_does(guarded):
    gate = Gate()
    for host in ("127.1", "2130706433", "0x7f.1"):
        with pytest.raises(PermissionDeniedError):
            guarded.get(gate, f"http://{host}:1/")
    assert {address for _, address in gate.asked} == {"127.0.0.1"}


def test_every_address_of_a_name_is_checked_before_any_is_connected_to(guarded, names):
    with WebServer(lambda _: response("secret")) as server:
        names["mixed.test"] = [["127.0.0.1", "10.0.0.1"]]
        gate = Gate("mixed.test")
        guarded.get(gate, f"http://mixed.test:{server.port}/")
        assert gate.asked == [("mixed.test", "127.0.0.1"), ("mixed.test", "10.0.0.1")]
        names["half.test"] = [["8.8.8.8", "127.0.0.1"]]
        with pytest.raises(PermissionDeniedError):
            guarded.get(Gate(), f"http://half.test:{server.port}/")
    assert len(server.requests) == 1


def test_a_name_that_changes_its_address_after_the_check_is_connected_where_it_was_checked(guarded, names):
    names["rebind.test"] = [["127.0.0.1"], ["127.0.0.2"]]
    gate = Gate("rebind.test")
    with WebServer(lambda _: response("hello")) as server:
        guarded.get(gate, f"http://rebind.test:{server.port}/")
    assert gate.asked == [("rebind.test", "127.0.0.1")]
    assert names["lookups"] == ["rebind.test"]
    assert server.requests[0].header("host") == f"rebind.test:{server.port}"


def test_a_redirect_is_checked_like_the_first_request(guarded, names):
    names["open.test"] = [["127.0.0.1"]]
    names["inner.test"] = [["127.0.0.1"]]
    with WebServer(
        lambda request: (
            response("", status="302 Found", headers=[("Location", f"http://inner.test:{server.port}/x")])
            if request.target == "/"
            else response("secret")
        )
    ) as server:
        gate = Gate("open.test")
        with pytest.raises(PermissionDeniedError):
            guarded.get(gate, f"http://open.test:{server.port}/")
        assert gate.asked[-1] == ("inner.test", "127.0.0.1")
        assert [request.target for request in server.requests] == ["/"]
        assert guarded.get(Gate("open.test", "inner.test"), f"http://open.test:{server.port}/")[0].text == "secret"


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://h.test/", "gopher://h.test/"])
def test_a_redirect_to_something_else_than_http_is_refused(guarded, target):
    redirect = response("", status="302 Found", headers=[("Location", target)])
    with WebServer(lambda _: redirect) as server, pytest.raises(httpx.UnsupportedProtocol):
        guarded.get(Gate("127.0.0.1"), server.url)
    assert len(server.requests) == 1


def test_redirects_come_to_an_end(guarded):
    redirect = response("", status="302 Found", headers=[("Location", "/again")])
    with WebServer(lambda _: redirect) as server, pytest.raises(httpx.TooManyRedirects):
        guarded.get(Gate("127.0.0.1"), server.url)
    assert len(server.requests) == 11


@pytest.mark.parametrize("encoding", [None, "gzip"])
def test_the_body_of_a_redirect_is_left_unread(guarded, encoding):
    pieces = []

    def endless():
        yield b"HTTP/1.1 302 Found\r\nLocation: /there\r\nSet-Cookie: a=1\r\n"
        yield b"Content-Encoding: gzip\r\n\r\n" if encoding else b"\r\n"
        while len(pieces) < 2_000:
            pieces.append(b"x" * 50_000)
            yield pieces[-1]

    with WebServer(lambda request: response("done") if request.target == "/there" else endless()) as server:
        (answer,) = guarded.get(Gate("127.0.0.1"), server.url)
    assert answer.text == "done"
    assert answer.history[0].content == b""
    assert server.requests[1].header("cookie") == "a=1"
    assert len(pieces) < 2_000


def test_headers_with_keys_do_not_follow_to_another_origin(guarded, names):
    keys = {"Authorization": "Bearer s", "X-Api-Key": "s"}
    names["a.test"] = names["b.test"] = [["127.0.0.1"]]
    with WebServer(
        lambda request: (
            response("", status="302 Found", headers=[("Location", f"http://b.test:{server.port}/x")])
            if request.target == "/"
            else response("done")
        )
    ) as server:
        guarded.get(Gate("a.test", "b.test"), f"http://a.test:{server.port}/", headers=keys | {"Accept": "a/b"})
    found = [[request.header(name) for name in (*keys, "Accept")] for request in server.requests]
    assert found == [["Bearer s", "s", "a/b"], [None, None, "a/b"]]


def test_headers_follow_to_the_same_origin(guarded):
    with WebServer(
        lambda request: (
            response("", status="302 Found", headers=[("Location", "/x")])
            if request.target == "/"
            else response("done")
        )
    ) as server:
        guarded.get(Gate("127.0.0.1"), server.url, headers={"X-Api-Key": "s"})
    assert [request.header("x-api-key") for request in server.requests] == ["s", "s"]


def test_addresses_are_tried_in_turn(guarded, names):
    names["two.test"] = [["127.0.0.2", "127.0.0.1"]]  # nothing listens at the first
    with WebServer(lambda _: response("hello")) as server:
        assert guarded.get(Gate("two.test"), f"http://two.test:{server.port}/")[0].text == "hello"


def test_a_refused_connection_says_so(guarded, names):
    names["down.test"] = [["127.0.0.1", "127.0.0.2"]]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with pytest.raises(httpx.ConnectError, match=r"the connection was refused: down\.test"):
        guarded.get(Gate("down.test"), f"http://down.test:{port}/")


@pytest.mark.parametrize("fault", [socket.gaierror(socket.EAI_NONAME, "unknown"), UnicodeError("label too long")])
def test_an_unknown_host_says_so(guarded, monkeypatch, fault):
    def unknown(*_, **__):
        raise fault

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(httpx.ConnectError, match=r"the host is not known, .*: nowhere\.test"):
        guarded.get(Gate(), "http://nowhere.test/")


def test_a_name_without_addresses_says_so(guarded, names):
    names["empty.test"] = [[]]
    with pytest.raises(httpx.ConnectError, match=r"the host has no address: empty\.test"):
        guarded.get(Gate(), "http://empty.test/")


def test_a_slow_name_service_is_left_after_the_connect_timeout(guarded, monkeypatch):
    answered = threading.Event()

    def slow(*_, **__):
        answered.wait(10)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    try:
        with pytest.raises(httpx.ConnectTimeout, match=r"slow\.test took too long"):
            guarded.get(Gate(), "http://slow.test/", timeout=httpx.Timeout(5, connect=0.05))
    finally:
        answered.set()


def test_a_port_that_cannot_be_is_refused(guarded):
    with pytest.raises(httpx.UnsupportedProtocol, match="no port 99999"):
        guarded.get(Gate(), "http://h.test:99999/")


def test_proxies_of_the_environment_are_not_used(guarded, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    with WebServer(lambda _: response("hello")) as server:
        assert guarded.get(Gate("127.0.0.1"), server.url)[0].text == "hello"


def test_tls_proves_the_name_and_not_the_address(guarded, names, tls):
    names["guarded.test"] = names["guarded.test."] = [["127.0.0.1"]]
    gate = Gate("guarded.test", "guarded.test.")
    with WebServer(lambda _: response("hello"), tls) as server:
        for host in ("guarded.test", "guarded.test."):
            assert guarded.get(gate, f"https://{host}:{server.port}/")[0].text == "hello"
    assert tls.names == ["guarded.test", "guarded.test"]
    assert server.requests[0].header("host") == f"guarded.test:{server.port}"


def test_tls_is_proved_anew_for_another_name_at_the_same_address(guarded, names, tls):
    names["guarded.test"] = names["other.test"] = [["127.0.0.1"]]

    def keep_alive(_):
        yield response("hello")
        threading.Event().wait(0.2)  # the connection stays open while the client asks again

    with WebServer(keep_alive, tls) as server, pytest.raises(httpx.ConnectError, match="certificate is not valid"):
        guarded.get(
            Gate("guarded.test", "other.test"),
            f"https://guarded.test:{server.port}/",
            f"https://other.test:{server.port}/",
        )
    assert tls.names == ["guarded.test", "other.test"]


def test_the_trusted_certificates_are_loaded_once():
    async def main():
        first = http._ssl_context()
        async with create_client():
            assert http._ssl_context() is first

    asyncio.run(main())


def test_clients_are_prepared_ahead_of_time(tls, monkeypatch):
    http.prepare_clients()
    assert http._ssl_context.cache_info().currsize == 1
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/authority.pem")
    http._ssl_context.cache_clear()
    http.prepare_clients()
    with pytest.raises(FileNotFoundError):
        create_client()


def test_a_client_for_plain_http_reads_no_certificates_and_trusts_none(tls):
    async def ask(url, *, is_for_https):
        async with create_client(is_for_https=is_for_https) as client:
            return (await client.get(url)).text

    with WebServer(lambda _: response("hello")) as plain:
        assert asyncio.run(ask(plain.url, is_for_https=False)) == "hello"
    assert http._ssl_context.cache_info().currsize == 0
    with WebServer(lambda _: response("hello"), tls) as server:
        url = f"https://127.0.0.1:{server.port}/"
        with pytest.raises(httpx.ConnectError, match="unable to get local issuer certificate"):
            asyncio.run(ask(url, is_for_https=False))


def test_a_background_call_that_exits_is_an_error_of_its_waiter():
    def leave():
        raise SystemExit(3)

    async def work():
        with pytest.raises(RuntimeError, match="SystemExit"):
            async with asyncio.timeout(10):
                await asyncio.wrap_future(start_in_background(leave, "leaving"))

    asyncio.run(work())
