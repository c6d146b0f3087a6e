"""The model as the attacker: URLs."""

import json
import socket

import pytest
from how_long import some
from pytest_oneclaw.web_server import WebServer, response

LOCAL = (
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "2130706433",
    "0x7f000001",
    "0x7f.0.0.1",
    "0177.0.0.1",
    "017700000001",
    "0",
    "0.0.0.0",
    "127.255.255.254",
    "localhost",
    "LOCALHOST",
    "localhost.",
    "[::1]",
    "[::]",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[2002:7f00:1::]",
    "[fe80::1%25lo]",
    "[fd00::1]",
    "169.254.169.254",
    "metadata.google.internal",
    "\uff11\uff12\uff17.0.0.1",
    "\u2460\u2461\u2466.\u24ea.\u24ea.\u2460",
    "127\u30020\u30020\u30021",
    "\uff4c\uff4f\uff43\uff41\uff4c\uff48\uff4f\uff53\uff54",
    "loc\u00adalhost",
    "xn--lcalhost-",
    "example.com@127.0.0.1",
    "user:password@127.0.0.1",
    "127.0.0.1%00.example.com",
    "127.0.0.1%2f.example.com",
)
NO_URLS = (
    "file:///etc/passwd",
    "ftp://127.0.0.1:{port}/",
    "gopher://127.0.0.1:{port}/_GET",
    "data:text/html,hello",
    "javascript:alert(1)",
    "ws://127.0.0.1:{port}/",
    "unix:///var/run/docker.sock",
    "dict://127.0.0.1:{port}/",
    "jar:http://127.0.0.1:{port}!/",
    "http:127.0.0.1:{port}",
    "http:///127.0.0.1:{port}/",
    "//127.0.0.1:{port}/",
    "http://127.0.0.1:{port}\\@example.com/",
    "http://exa mple.com/",
    "http://127.0.0.1:{port}/\r\nX-Injected: 1",
    "http://127.0.0.1:99999/",
    "http://127.0.0.1:-1/",
    "http://[::1",
    "http://",
    "http://\0/",
    "http://" + "a" * 70_000,
)
REDIRECTS = ("302 Found", "301 Moved", "303 See", "307 Temporary", "308 Permanent")
TOOLS = {
    "http_request": lambda url: {"url": url},
    "webfetch": lambda url: {"url": url},
    "js_eval": lambda url: {
        "code": f"try {{ return await (await fetch({json.dumps(url)})).text() }} catch (e) {{ return String(e) }}"
    },
}
# Each JavaScript program is a process.
SLOW = {"js_eval": 6}


# All of them go through one client.
first_on_every_python = pytest.mark.parametrize(
    "tool",
    ["http_request", *(pytest.param(each, marks=pytest.mark.one_python) for each in TOOLS if each != "http_request")],
)


def of(tool, values):
    return values[:: SLOW.get(tool, 1)]


@pytest.fixture
def service():
    with WebServer(lambda _: response("reached")) as server:
        yield server


@first_on_every_python
def test_no_spelling_of_a_private_address_is_reached_without_leave(oneclaw_factory, service, tool):
    oneclaw = oneclaw_factory(("javascript", "web"))
    oneclaw.user.says("no")

    for host in of(tool, LOCAL):
        result = oneclaw.call_tool(tool, TOOLS[tool](f"http://{host}:{service.port}/"))
        assert "reached" not in result.text(), host
        assert tool == "js_eval" or not result.is_success, host

    assert service.requests == []
    assert oneclaw.user.asked
    for question in oneclaw.user.asked:
        assert question.permission == "network.private"


@first_on_every_python
def test_what_is_no_address_of_the_web_is_refused_before_anybody_is_asked(oneclaw_factory, service, tool):
    oneclaw = oneclaw_factory(("javascript", "web"))
    oneclaw.user.says("no")

    for url in of(tool, NO_URLS):
        result = oneclaw.call_tool(tool, TOOLS[tool](url.replace("{port}", str(service.port))))
        assert "reached" not in result.text(), url
        assert len(result.text()) < 2_000, url

    assert service.requests == []


@pytest.mark.one_python
@pytest.mark.parametrize(
    ("tool", "status"), some([(tool, status) for tool in TOOLS for status in of(tool, REDIRECTS)], 4)
)
def test_leave_for_one_host_is_no_leave_for_where_it_sends_on_to(oneclaw_factory, service, tool, status):
    oneclaw = oneclaw_factory(("javascript", "web"))

    def send_on(_):
        return response("", status=status, headers=[("Location", f"http://localhost:{service.port}/")])

    with WebServer(send_on) as first:
        oneclaw.user.says("once", "no")
        result = oneclaw.call_tool(tool, TOOLS[tool](f"{first.url}/"))

    assert "reached" not in result.text()
    assert service.requests == []
    assert [("127.0.0.1" in each.detail, "localhost" in each.detail) for each in oneclaw.user.asked] == [
        (True, False),
        (True, True),
    ]


@pytest.mark.one_python
@pytest.mark.parametrize(
    "target", some(["file:///etc/passwd", "ftp://127.0.0.1/", "javascript:1", "//[", "\\\\x\\y", "http://"], 6)
)
def test_a_redirect_leads_to_the_web_or_nowhere(oneclaw_factory, target):
    oneclaw = oneclaw_factory(("javascript", "web"), allow=["network.private"])
    with WebServer(lambda _: response("", status="302 Found", headers=[("Location", target)])) as first:
        for tool in ("http_request", "webfetch"):
            assert not oneclaw.call_tool(tool, TOOLS[tool](f"{first.url}/")).is_success


@first_on_every_python
def test_a_name_that_means_something_else_at_every_look_is_asked_about_as_what_is_connected_to(
    oneclaw_factory, service, monkeypatch, tool
):
    oneclaw = oneclaw_factory(("javascript", "web"))
    oneclaw.user.says("no")
    looks = []

    def rebinding(host, port, *arguments, **more):
        looks.append(host)
        # Public to whoever asks first, this machine to whoever asks next.
        address = "93.184.215.14" if len(looks) % 2 else "127.0.0.1"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port or 0))]

    connected = []

    def refuse(self, address):
        connected.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr("asyncio.base_events.BaseEventLoop.sock_connect", refuse, raising=False)
    result = oneclaw.call_tool(tool, TOOLS[tool](f"http://rebinding.example:{service.port}/"))

    assert "reached" not in result.text()
    assert service.requests == []
    assert looks == ["rebinding.example"]


@pytest.mark.one_python
@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "127.0.0.1"},
        {"X": "a\r\nHost: evil"},
        {"X": "a\nTransfer-Encoding: chunked"},
        {"X\r\nY": "b"},
        {"Transfer-Encoding": "chunked"},
        {"Content-Length": "0"},
        {"Connection": "upgrade"},
        {"Proxy-Authorization": "x"},
        {"X": ["a", "b\0"]},
        {"": "x"},
        {"X": {"nested": 1}},
    ],
)
def test_headers_cannot_smuggle_a_second_request(oneclaw_factory, service, headers):
    oneclaw = oneclaw_factory(("javascript", "web"), allow=["network.private"])
    result = oneclaw.call_tool("http_request", {"url": service.url, "headers": headers})
    assert result.error_type == "validation_error"
    assert service.requests == []
