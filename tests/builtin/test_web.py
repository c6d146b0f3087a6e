"""http_request: FEAT-004, "Built-in Tools" and "Test Points"."""

from __future__ import annotations

import asyncio
import gzip
import inspect
import json
import socket
import zlib
from pathlib import Path

import jsonschema
import pytest
from web_server import WebServer, response

from oneclaw_core import PathGuard, PermissionDeniedError, ToolContext
from oneclaw_core.builtin import web
from oneclaw_core.builtin.web import MAX_BODY_BYTES, http_request
from oneclaw_core.http import create_guarded_client

MANIFEST = Path(web.__file__).parent / "manifests" / "http_request.json"


class Services:
    def __init__(self, *, permits):
        self.permits = permits
        self.client = None

    async def gate(self, host, address):
        if not self.permits:
            raise PermissionDeniedError(f"{host} is at {address}", "network.private")

    def http_client(self):
        self.client = self.client or create_guarded_client(self.gate)
        return self.client


@pytest.fixture
def run(tmp_path):
    """Run the tool; give its result."""

    def run(url, *, permits=True, **arguments):
        async def main():
            services = Services(permits=permits)
            guard = PathGuard(tmp_path / "workspace", tmp_path)
            context = ToolContext(tmp_path, None, "test", "http_request", "call_1", guard, services)
            try:
                return await http_request(url, context=context, **arguments)
            finally:
                await services.http_client().aclose()

        return asyncio.run(main())

    return run


def shown(run, answer, **arguments):
    """The text of a successful request to a server that gives one answer."""
    with WebServer(lambda _: answer) as server:
        result = run(server.url, **arguments)
    assert result.is_success, result.error_message
    return result.result


def sent(run, **arguments):
    """The request that the server gets."""
    with WebServer(lambda _: response("ok")) as server:
        result = run(server.url + "/path?q=1", **arguments)
    assert result.is_success, result.error_message
    (request,) = server.requests
    return request


def refused(run, url="http://127.0.0.1:1/", **arguments):
    result = run(url, **arguments)
    assert result.error_type == "validation_error"
    return result.error_message


def failed(run, url, **arguments):
    result = run(url, **arguments)
    assert result.error_type == "execution_error"
    return result.error_message


def test_http_request_makes_a_get_request_correctly(run):
    with WebServer(lambda _: response("Hello")) as server:
        result = run(server.url + "/path?q=1")
    assert result.result == ("HTTP 200 OK\nContent-Type: text/plain; charset=utf-8\nContent-Length: 5\n\nHello")
    (request,) = server.requests
    assert (request.method, request.target, request.body) == ("GET", "/path?q=1", b"")


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_http_request_makes_a_request_with_a_body_correctly(run, method):
    request = sent(run, method=method, body='{"größe": 1}')
    assert request.method == method
    assert request.body == '{"größe": 1}'.encode()
    assert request.header("content-type") == "application/json"


def test_a_body_that_is_no_json_is_sent_as_text(run):
    assert sent(run, method="POST", body="a=1").header("content-type") == "text/plain; charset=utf-8"


def test_a_content_type_of_the_caller_stays(run):
    request = sent(run, method="POST", body="{}", headers={"content-TYPE": "application/vnd.api+json"})
    assert request.header("content-type") == "application/vnd.api+json"


def test_headers_of_the_caller_are_sent_as_given(run):
    request = sent(run, headers={"X-Count": 7, "X-Flag": True, "User-Agent": "me", "X-Name": "Jürgen"})
    assert request.header("x-count") == "7"
    assert request.header("x-flag") == "true"
    assert request.header("user-agent") == "me"
    assert request.header("x-name") == "Jürgen"


def test_get_and_head_send_no_body(run):
    for method in ("GET", "HEAD"):
        request = sent(run, method=method, body="x")
        assert request.body == b""
        assert request.header("content-type") is None


def test_the_method_may_be_written_in_any_case(run):
    assert sent(run, method=" post ", body="x").method == "POST"


@pytest.mark.parametrize("status", ["201 Created", "404 Not Found", "429 Too Many Requests", "500 Oops", "599 "])
def test_http_request_handles_various_http_status_codes(run, status):
    text = shown(run, response("why", status=status, headers=[("Retry-After", "7")]))
    assert text == f"HTTP {status.strip()}\nRetry-After: 7\nContent-Length: 3\n\nwhy"


def test_an_answer_without_body(run):
    assert shown(run, response(status="204 No Content", headers=[], length=False)) == "HTTP 204 No Content\n\n"
    assert shown(run, b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n", method="HEAD") == (
        "HTTP 200 OK\nContent-Length: 99\n\n"
    )


def test_headers_that_occur_twice_are_shown_twice_and_noise_is_not(run):
    headers = [("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"), ("X-Powered-By", "x"), ("X-RateLimit-Remaining", "3")]
    text = shown(run, response("", headers=headers))
    assert "Set-Cookie: a=1\nSet-Cookie: b=2\nX-Ratelimit-Remaining: 3" in text
    assert "Powered" not in text


def test_the_head_of_an_answer_is_bounded(run):
    headers = [("Set-Cookie", "c" * 2000)] * 30 + [("Link", "x")] * 50
    text = shown(run, response("", headers=headers))
    assert text.count("\n") <= 53
    assert "c" * 1001 not in text


def test_a_redirect_is_followed_and_the_last_url_named(run):
    with WebServer(
        lambda request: (
            response("there")
            if request.target == "/new"
            else response("", status="301 Moved", headers=[("Location", "/new")])
        )
    ) as server:
        text = run(server.url + "/old").result
    assert text.startswith(f"HTTP 200 OK\nFinal-URL: {server.url}/new\n")
    assert text.endswith("\n\nthere")


# Bodies


@pytest.mark.parametrize(
    ("content", "content_type", "text"),
    [
        ("größe".encode("latin-1"), "text/html; charset=ISO-8859-1", "größe"),
        ("größe".encode("utf-16"), "text/plain; charset=utf-16", "größe"),
        ("größe".encode(), "text/plain; charset=ascii", "größe"),
        ("größe".encode(), "application/json", "größe"),
        ("größe".encode(), "text/plain; charset=klingon", "größe"),
        (b"\xef\xbb\xbfx", 'text/plain; charset="UTF-8"', "x"),
        (b"xn--ka-a", "text/plain; charset=punycode", "xn--ka-a"),
        (b"eJwDAAAAAAE=", "text/plain; charset=zlib", "eJwDAAAAAAE="),
        (b"a\xffb", "text/plain", "a\ufffdb"),
        (b"<svg/>", "image/svg+xml", "<svg/>"),
        (b"plain enough", "application/octet-stream", "plain enough"),
    ],
)
def test_text_is_read_in_its_character_set(run, content, content_type, text):
    assert shown(run, response(content, headers=[("Content-Type", content_type)])).endswith(f"\n\n{text}")


def test_a_body_without_any_type_is_shown_if_it_is_text(run):
    assert shown(run, response("hi", headers=[])).endswith("\n\nhi")


@pytest.mark.parametrize(
    ("content", "content_type"),
    [
        (b"\x89PNG\r\n\x1a\n\x00\x01", "image/png"),
        (b"\xff\xfe\xfa", "application/octet-stream"),
        (b"a\x00b", "text/plain"),
    ],
)
def test_a_binary_body_is_described(run, content, content_type):
    text = shown(run, response(content, headers=[("Content-Type", content_type)]))
    assert text.endswith(f"\n\n[binary body not shown: {content_type}, {len(content)} bytes]")


def test_a_large_binary_body_is_described_by_the_size_the_server_names(run):
    text = shown(run, response(bytes(MAX_BODY_BYTES + 1), headers=[("Content-Type", "image/png")]))
    assert text.endswith("[binary body not shown: image/png, 102,401 bytes]")


def test_a_body_of_just_the_limit_is_whole(run):
    text = shown(run, response("x" * MAX_BODY_BYTES))
    assert text.endswith("\n\n" + "x" * MAX_BODY_BYTES)


def test_a_large_body_is_cut_with_a_note_and_no_half_character(run):
    text = shown(run, response("a" + "ü" * MAX_BODY_BYTES))
    body, _, note = text.partition("\n\n")[2].partition("\n")
    assert body == "a" + "ü" * ((MAX_BODY_BYTES - 1) // 2)
    assert note == "[cut here: the first 102,400 bytes of 204,801 bytes are shown]"


def test_a_body_without_end_is_left(run):
    sent_pieces = []

    def endless(_):
        yield response("", length=False)
        while len(sent_pieces) < 2000:
            sent_pieces.append(b"more and more " * 4000)
            yield sent_pieces[-1]

    with WebServer(endless) as server:
        text = run(server.url).result
    assert text.endswith("[cut here: the first 102,400 bytes of a longer body are shown]")
    assert len(text) < MAX_BODY_BYTES + 1000
    assert len(sent_pieces) < 2000


@pytest.mark.parametrize(
    ("encoding", "content"), [("gzip", gzip.compress(b"hello")), ("deflate", zlib.compress(b"hello"))]
)
def test_compressed_bodies_are_unpacked(run, encoding, content):
    assert shown(run, response(content, headers=[("Content-Encoding", encoding)])).endswith("\n\nhello")


def test_a_decompression_bomb_is_cut(run):
    bomb = gzip.compress(b"x" * 20_000_000)
    text = shown(run, response(bomb, headers=[("Content-Encoding", "gzip"), ("Content-Type", "text/plain")]))
    assert text.endswith("x\n[cut here: the first 102,400 bytes of a longer body are shown]")


@pytest.mark.parametrize("encoding", ["gzip, gzip", "br", "zstd", "gzip,deflate"])
def test_a_compression_that_may_grow_without_bound_is_not_unpacked(run, encoding):
    text = shown(run, response(b"whatever", headers=[("Content-Encoding", encoding)]))
    assert text.endswith(f"[body not shown: its compression {encoding!r} is not supported]")


# What is refused before anything is sent


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.com",
        "ftp://h.test/",
        "file:///etc/passwd",
        "http://",
        "http:///x",
        "http://xn--/",
        "http://h\n.test",
    ],
)
def test_what_is_no_url_is_refused(run, url):
    assert "url" in refused(run, url)


def test_a_password_in_a_url_is_not_repeated(run):
    assert "hunter22" not in refused(run, "ftp://joe:hunter22@h.test/")
    assert "hunter22" not in failed(run, "http://joe:hunter22@127.0.0.1:1/")


@pytest.mark.parametrize("method", ["", "BREW", "GET / HTTP/1.1\r\nX: y", "CONNECT", "TRACE"])
def test_an_unknown_method_is_refused(run, method):
    assert "GET, POST, PUT, PATCH, DELETE, HEAD" in refused(run, method=method)


@pytest.mark.parametrize(
    "headers",
    [
        {"X": "a\r\nHost: evil.test"},
        {"X": "a\nb"},
        {"X": "a\x00b"},
        {"X\r\nY": "a"},
        {"X Y": "a"},
        {"": "a"},
        {"Näme": "a"},
        {"Host": "evil.test"},
        {"hOST": "evil.test"},
        {"Transfer-Encoding": "chunked"},
        {"Content-Length": "0"},
        {"Connection": "close"},
        {"Proxy-Authorization": "x"},
    ],
)
def test_headers_that_could_change_the_request_are_refused(run, headers):
    assert "header" in refused(run, headers=headers)


# What goes wrong on the way


def test_a_private_address_is_refused_without_permission(run):
    with WebServer(lambda _: response("secret")) as server, pytest.raises(PermissionDeniedError):
        run(server.url, permits=False)
    assert server.requests == []


def test_an_unreachable_host_says_what_is_wrong(run):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    assert failed(run, f"http://127.0.0.1:{port}/x") == (
        f"The request to http://127.0.0.1:{port}/x failed: the connection was refused."
    )


def test_an_unknown_host_says_what_is_wrong(run, monkeypatch):
    def unknown(*_, **__):
        raise socket.gaierror(socket.EAI_NONAME, "unknown")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert "the host is not known" in failed(run, "http://nowhere.test/")


def test_a_server_without_tls_says_what_is_wrong(run):
    with WebServer(lambda _: response("x")) as server:
        assert "no secure connection" in failed(run, server.url.replace("http:", "https:"))


@pytest.mark.parametrize(
    "answer",
    [b"", b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nhalf"],
)
def test_half_an_answer_is_an_error(run, answer):
    with WebServer(lambda _: answer) as server:
        assert "before its answer was complete" in failed(run, server.url)


def test_a_body_that_is_not_compressed_as_it_says_is_an_error(run):
    with WebServer(lambda _: response("plain", headers=[("Content-Encoding", "gzip")])) as server:
        assert "cannot be read" in failed(run, server.url)


@pytest.mark.parametrize("target", ["http://xn--/", "http://[::1/", "http://h\x7f/"])
def test_a_redirect_to_no_url_is_an_error(run, target):
    with WebServer(lambda _: response("", status="302 Found", headers=[("Location", target)])) as server:
        assert failed(run, server.url)


def test_a_redirect_away_from_http_is_an_error(run):
    with WebServer(lambda _: response("", status="302 Found", headers=[("Location", "file:///etc/passwd")])) as server:
        assert "cannot be requested" in failed(run, server.url)


def test_redirects_in_a_circle_are_an_error(run):
    with WebServer(lambda _: response("", status="302 Found", headers=[("Location", "/")])) as server:
        assert "redirects too often" in failed(run, server.url)


def test_the_manifest_fits_the_function():
    manifest = json.loads(MANIFEST.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(manifest["parameters"])
    assert manifest["name"] == "http_request"
    assert manifest["function"] == f"{http_request.__module__}:{http_request.__name__}"
    assert set(manifest["parameters"]["properties"]) == set(inspect.signature(http_request).parameters) - {"context"}
    assert manifest["required_permissions"] == ["network.public"]
    assert manifest["timeout_seconds"] == 30
