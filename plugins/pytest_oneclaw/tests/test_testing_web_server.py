"""The web server of a test, asked by tools and by a client."""

import greeting_plugin
import httpx
import pytest
from pytest_oneclaw import WebAnswer, assert_tool_error, assert_tool_succeeded


@pytest.fixture
def oneclaw_plugins():
    return [greeting_plugin]


@pytest.fixture
def fetch(oneclaw, web_server):
    oneclaw.user.says("once", to="network.private")
    return lambda path: oneclaw.call_tool("fetch_greeting", url=web_server.url_of(path))


@pytest.fixture
def client():
    with httpx.Client(trust_env=False) as made:
        yield made


def test_a_tool_gets_a_fixed_answer(fetch, web_server):
    web_server.answers("/hello", "Hello from the web")

    assert assert_tool_succeeded(fetch("/hello?to=Ada")) == "Hello from the web"
    (request,) = web_server.requests
    assert (request.method, request.path, request.query) == ("GET", "/hello", {"to": ["Ada"]})
    assert request.header("User-Agent").startswith("oneclaw/")


def test_no_one_reaches_it_unasked(oneclaw, web_server):
    result = oneclaw.call_tool("fetch_greeting", url=web_server.url_of("/"))

    assert_tool_error(result, "permission_denied", match="network.private")
    assert web_server.requests == []


@pytest.mark.parametrize(
    ("body", "media_type", "content"),
    [
        ("Grüße", "text/plain; charset=utf-8", "Grüße".encode()),
        (b"\x00\xff", "application/octet-stream", b"\x00\xff"),
        ({"a": [1]}, "application/json", b'{"a": [1]}'),
        (WebAnswer("", 204), "text/plain; charset=utf-8", b""),
    ],
)
def test_bodies_of_all_kinds(client, web_server, body, media_type, content):
    web_server.answers("/", body) if not isinstance(body, WebAnswer) else web_server.answers("/", lambda _: body)

    answer = client.get(web_server.url_of())

    assert answer.headers["content-type"] == media_type
    assert answer.content == content


def test_a_function_answers_by_the_request(client, web_server):
    web_server.answers("/double", lambda request: {"doubled": request.json()["value"] * 2}, method="POST")

    assert client.post(web_server.url_of("/double"), json={"value": 4}).json() == {"doubled": 8}
    assert client.post(web_server.url_of("/double"), content=iter([b'{"value"', b": 1}"])).json() == {"doubled": 2}
    assert client.get(web_server.url_of("/double")).status_code == 404
    assert client.post(web_server.url_of("/double"), content=b"{").status_code == 500


def test_an_unknown_path_is_told_with_the_known_ones(client, web_server):
    web_server.answers("/here", method="PUT")

    answer = client.get(web_server.url_of("/there"))

    assert answer.status_code == 404
    assert answer.text == "the test's web server does not know GET /there; it knows: PUT /here\n"


def test_headers_and_status(client, web_server):
    web_server.answers("/", "no", status=503, headers={"Retry-After": "1", "content-type": "text/html"})
    web_server.answers("/odd", status=599)

    answer = client.get(web_server.url_of())

    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert answer.headers.get_list("content-type") == ["text/html"]
    assert client.head(web_server.url_of()).content == b""
    assert client.get(web_server.url_of("/odd")).status_code == 599


def test_a_function_makes_the_whole_answer(web_server):
    with pytest.raises(ValueError, match="return a WebAnswer"):
        web_server.answers("/", lambda _: "", status=500)


@pytest.mark.long
def test_a_connection_that_breaks(fetch, web_server):
    web_server.hangs_up("/at-once")
    web_server.hangs_up("/halfway", "Hello from the web", after_bytes=5)

    for path in ("/at-once", "/halfway"):
        assert_tool_error(fetch(path), "execution_error")


@pytest.mark.long
@pytest.mark.parametrize("after_bytes", [0, 5])
def test_a_server_that_falls_silent(fetch, web_server, after_bytes):
    web_server.stalls("/", "Hello from the web", after_bytes=after_bytes)

    assert_tool_error(fetch("/"), "timeout")


@pytest.mark.long
def test_a_slow_server(fetch, web_server):
    web_server.answers("/", "late", delay_seconds=30)

    assert_tool_error(fetch("/"), "timeout")
