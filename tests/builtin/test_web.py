"""http_request: FEAT-004, "Built-in Tools" and "Test Points"."""

from __future__ import annotations

import asyncio
import gzip
import inspect
import json
import re
import resource
import signal
import socket
import threading
import tracemalloc
import zlib
from pathlib import Path

import jsonschema
import pytest
from how_long import some
from pytest_oneclaw import running_call
from pytest_oneclaw.web_server import WebServer, response

from oneclaw_core import OneClaw, PermissionDeniedError, ToolResultEvent
from oneclaw_core.builtin import web
from oneclaw_core.builtin import web as downloads
from oneclaw_core.builtin.web import MAX_BEGINNING_BYTES, http_request
from oneclaw_core.files import PathGuard

MANIFEST = Path(web.__file__).parent / "manifests" / "http_request.json"


@pytest.fixture
def run(tmp_path):
    """Run the tool; give its result."""

    def run(url, *, permits=True, denied=(), **arguments):
        async def require(permission, detail, *about, **options):
            if permission in denied or (permission == "network.private" and not permits):
                raise PermissionDeniedError("denied", permission)

        async def main():
            async with running_call(tmp_path, require=require) as context:
                context.paths = PathGuard(tmp_path / "workspace", tmp_path)
                return await http_request(url, context=context, **arguments)

        return asyncio.run(main())

    return run


@pytest.fixture
def downloaded(tmp_path):
    """The files in the workspace, by their names and contents."""
    return lambda: {each.name: each.read_bytes() for each in (tmp_path / "workspace").rglob("*") if each.is_file()}


def shown(run, answer, path="", **arguments):
    """The text of a successful request to a server that gives one answer."""
    with WebServer(lambda _: answer) as server:
        result = run(server.url + path, **arguments)
    assert result.is_success, result.error_message
    return result.result


def parts_of(text):
    """What a result consists of: the status, a note on the body, the headers, and the body; ``None`` for what is
    missing. Headers and body stand between marks.
    """
    outside, _, marked = text.partition("\n\nFrom ")
    status, _, note = outside.partition("\n\n")
    if not marked:
        return status, note or None, None, None
    match = re.fullmatch(r"(\S+)\. .* never instructions:\n<<<(\w+)\n(.*)\n\2>>>", marked, re.DOTALL)
    assert match, marked
    message = match[3]
    if not re.match(r"[\w-]+: ", message):
        return status, note or None, None, message
    headers, separator, body = message.partition("\n\n")
    return status, note or None, headers, body if separator else None


def body_of(text):
    """The body that a result shows; ``None`` if it shows none."""
    return parts_of(text)[3]


def head_of(text):
    """The status and the headers, a line each, and the note below them."""
    status, note, headers, _ = parts_of(text)
    return "\n\n".join(filter(None, ["\n".join(filter(None, [status, headers])), note]))


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
    assert head_of(result.result) == "HTTP 200 OK\nContent-Type: text/plain; charset=utf-8\nContent-Length: 5"
    assert body_of(result.result) == "Hello"
    assert f"\n\nFrom {server.url}/path?q=1. " in result.result
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


def test_a_header_is_sent_as_often_as_it_is_given(run):
    request = sent(run, headers={"X-Tag": ["a", 2]})
    assert [value for name, value in request.headers if name == "x-tag"] == ["a", "2"]


def test_get_and_head_send_no_body(run):
    for method in ("GET", "HEAD"):
        request = sent(run, method=method, body="x")
        assert request.body == b""
        assert request.header("content-type") is None


def test_the_options_of_a_resource_are_asked_for(run):
    request = sent(run, method="options")
    assert (request.method, request.body) == ("OPTIONS", b"")
    headers = [("Allow", "GET, OPTIONS"), ("Access-Control-Allow-Methods", "GET")]
    text = shown(run, response(status="204 No Content", headers=headers, length=False), method="OPTIONS")
    assert head_of(text) == "HTTP 204 No Content\nAllow: GET, OPTIONS\nAccess-Control-Allow-Methods: GET"


def test_the_method_may_be_written_in_any_case(run):
    assert sent(run, method=" post ", body="x").method == "POST"


@pytest.mark.parametrize(
    "status", ["201 Created", "404 Not Found", "429 Too Many Requests", "500 Internal Server Error", "599 "]
)
def test_http_request_handles_various_http_status_codes(run, status):
    text = shown(run, response("why", status=status, headers=[("Retry-After", "7")]))
    assert head_of(text) == f"HTTP {status.strip()}\nRetry-After: 7\nContent-Length: 3"
    assert body_of(text) == "why"


def test_an_answer_without_body(run):
    assert shown(run, response(status="204 No Content", headers=[], length=False)) == "HTTP 204 No Content"
    assert head_of(shown(run, b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n", method="HEAD")) == (
        "HTTP 200 OK\nContent-Length: 99"
    )


def test_headers_that_occur_twice_are_shown_twice_and_noise_is_not(run):
    headers = [("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"), ("X-Powered-By", "x"), ("X-Own", "3")]
    text = shown(run, response("", headers=headers))
    assert "Set-Cookie: a=1\nSet-Cookie: b=2\nX-Own: 3" in text
    assert "Powered" not in text


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS"])
def test_who_asks_for_the_headers_alone_gets_them_all(run, method):
    headers = [("Strict-Transport-Security", "max-age=1"), ("Server", "x")]
    text = shown(run, response("", headers=headers), method=method)
    assert "Strict-Transport-Security: max-age=1\nServer: x\n" in text


def test_the_head_of_an_answer_is_bounded(run):
    headers = [("Set-Cookie", "c" * 2000)] * 30 + [("Link", "x")] * 50
    text = shown(run, response("", headers=headers))
    assert "\n[31 more headers are not shown]\n" in text
    assert head_of(text).count("\n") <= 54
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
    assert head_of(text).startswith(f"HTTP 200 OK\nFinal-URL: {server.url}/new\n")
    assert body_of(text) == "there"
    assert f"\n\nFrom {server.url}/new. " in text


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
        ("größe".encode("utf-16"), "text/plain", "größe"),
    ],
)
def test_text_is_read_in_its_character_set(run, content, content_type, text):
    assert body_of(shown(run, response(content, headers=[("Content-Type", content_type)]))) == text


def test_a_body_without_any_type_is_shown_if_it_is_text(run):
    assert body_of(shown(run, response("hi", headers=[]))) == "hi"


@pytest.mark.parametrize(
    ("content", "content_type"),
    [
        (b"\x89PNG\r\n\x1a\n\x00\x01", "image/png"),
        (b"\xff\xfe\xfa", "application/octet-stream"),
        (b"a\x00b", "text/plain"),
    ],
)
def test_a_binary_body_is_saved(run, downloaded, content, content_type, tmp_path):
    text = shown(run, response(content, headers=[("Content-Type", content_type)]), "/files/it.bin")
    assert head_of(text).endswith(
        f"\n\n[the body is binary ({content_type}, {len(content)} bytes) and is saved in "
        f"{tmp_path}/workspace/downloads/it.bin]"
    )
    assert downloaded() == {"it.bin": content}


def test_a_large_binary_body_is_saved_whole(run, downloaded, tmp_path):
    content = bytes(range(256)) * 10_000
    text = shown(run, response(content, headers=[("Content-Type", "image/png")]), "/a")
    assert head_of(text).endswith(
        f"\n\n[the body is binary (image/png, 2,560,000 bytes) and is saved in {tmp_path}/workspace/downloads/a.png]"
    )
    assert downloaded() == {"a.png": content}


def test_text_that_is_shown_whole_is_not_saved(run, downloaded):
    text = shown(run, response("x" * MAX_BEGINNING_BYTES))
    assert body_of(text) == "x" * MAX_BEGINNING_BYTES
    assert downloaded() == {}


def test_a_large_body_is_shown_to_the_limit_without_half_a_character_and_saved_whole(run, downloaded, tmp_path):
    content = "a" + "ü" * MAX_BEGINNING_BYTES
    text = shown(run, response(content), "/log")
    assert body_of(text) == "a" + "ü" * ((MAX_BEGINNING_BYTES - 1) // 2)
    assert head_of(text).endswith(
        f"\n\n[only the beginning of the body is shown; all of it, 204,801 bytes, is saved in "
        f"{tmp_path}/workspace/downloads/log.txt]"
    )
    assert downloaded() == {"log.txt": content.encode()}


def test_what_is_saved_replaces_nothing(run, downloaded, tmp_path):
    for _ in range(3):
        text = shown(run, response(b"\0"), "/a.bin")
    assert head_of(text).endswith(f"is saved in {tmp_path}/workspace/downloads/a-3.bin]")
    assert downloaded() == {"a.bin": b"\0", "a-2.bin": b"\0", "a-3.bin": b"\0"}


def test_the_path_of_what_is_saved_leads_to_it_and_not_to_a_file_of_the_user(run, tmp_path):
    (tmp_path / "downloads").mkdir()
    (tmp_path / "downloads" / "a.bin").write_bytes(b"mine")
    assert head_of(shown(run, response(b"\0"), "/a.bin")).endswith(f"is saved in {tmp_path}/workspace/downloads/a.bin]")


@pytest.mark.parametrize("content", [b"x" * (MAX_BEGINNING_BYTES + 1), b"\0" * 100])
def test_without_the_permission_to_write_files_a_body_is_only_cut(run, downloaded, content):
    text = shown(run, response(content), denied={"files.write"})
    assert "is not saved: tools may not write there]" in text
    assert body_of(text) == ("x" * MAX_BEGINNING_BYTES if content[0] else None)
    assert downloaded() == {}


def test_a_directory_for_downloads_that_leads_outside_is_not_followed(run, tmp_path):
    (tmp_path / "workspace").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "workspace" / "downloads").symlink_to(tmp_path / "elsewhere")
    assert "is not saved: tools may not write there]" in shown(run, response(b"\0"))
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_file_in_the_place_of_the_directory_for_downloads(run, tmp_path):
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "downloads").touch()
    assert "is not saved: Not a directory]" in shown(run, response(b"\0"))


def test_a_disk_that_is_full_leaves_no_part_of_a_file(run, downloaded):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, before[1]))
    try:
        text = shown(run, response("x" * 1_000_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert "all of it, 1,000,000 bytes, is not saved: File too large]" in text
    assert downloaded() == {}


@pytest.mark.parametrize("length", [True, False])
def test_a_body_of_more_than_is_saved_is_only_cut(run, downloaded, monkeypatch, length):
    monkeypatch.setattr(downloads, "MAX_SAVED_BYTES", 2 * 1024 * 1024)
    text = shown(run, response("x" * 3_000_000, length=length))
    amount = "3,000,000 bytes" if length else r"more than 2,\d{3},\d{3} bytes"
    assert re.search(rf"\[only the .* is shown; all of it, {amount}, is not saved: it has more than 2 MB\]\n", text)
    assert body_of(text) == "x" * MAX_BEGINNING_BYTES
    assert downloaded() == {}


def test_a_body_without_end_is_left(run, downloaded, monkeypatch):
    monkeypatch.setattr(downloads, "MAX_SAVED_BYTES", 1024 * 1024)
    sent_pieces = []

    def endless(_):
        yield response("", length=False)
        while len(sent_pieces) < 2000:
            sent_pieces.append(b"more and more " * 4000)
            yield sent_pieces[-1]

    with WebServer(endless) as server:
        text = run(server.url).result
    assert "is not saved: it has more than 1 MB]" in text
    assert len(text) < MAX_BEGINNING_BYTES + 1000
    assert len(sent_pieces) < 2000
    assert downloaded() == {}


def test_a_body_that_drips_without_end_is_shown_as_far_as_it_came(run, downloaded, monkeypatch):
    monkeypatch.setattr(web, "MAX_SECONDS", 0)  # one second is left for the body
    gone = threading.Event()

    def drip(_):
        yield response("first", headers=[("Content-Type", "text/plain")], length=False)
        gone.wait(10)

    with WebServer(drip) as server:
        text = run(server.url).result
        gone.set()
    assert "more than 5 bytes, is not saved: the server was still sending after 1 s]" in head_of(text)
    assert body_of(text) == "first"


@pytest.mark.long
def test_in_a_conversation_no_more_is_shown_than_the_model_is_given(tmp_path):
    content = "".join(f"line {number}\n" for number in range(9000))

    async def run(url):
        async with OneClaw.open(tmp_path / "home", allow=["network.private"], environ={}) as claw:
            asked = claw.send_message(f"Send a POST request to {url}", model="offline/rules")
            (result,) = [event.result async for event in asked if isinstance(event, ToolResultEvent)]
            return result.result, (await claw.settings()).tool_result_max_characters

    with WebServer(lambda _: response(content)) as server:
        text, limit = asyncio.run(run(server.url + "/a.log"))
    assert limit - 1500 < len(text) < limit
    assert content.startswith(body_of(text))
    assert (tmp_path / "home/workspace/downloads/a.log").read_text() == content


@pytest.mark.parametrize(
    ("path", "headers", "name"),
    [
        ("/a/report.pdf?x=1", [], "report.pdf"),
        ("/a/report", [("Content-Type", "application/pdf; x=y")], "report.pdf"),
        ("/", [("Content-Type", "application/pdf")], "127.0.0.1.pdf"),
        ("/", [], "127.0.0.1"),
        ("/x", [("Content-Disposition", 'attachment; filename="Monthly report.xlsx"')], "Monthly-report.xlsx"),
        ("/x", [("Content-Disposition", "attachment; filename*=UTF-8''%C3%BCber%20uns.bin")], "über-uns.bin"),
        ("/x", [("Content-Disposition", "attachment; filename*=klingon''a%20b.bin")], "a-b.bin"),
        ("/x.bin", [("Content-Disposition", "inline")], "x.bin"),
        ("/x", [("Content-Disposition", 'attachment; filename="../../.ssh/authorized_keys"')], "authorized_keys"),
        ("/x", [("Content-Disposition", 'attachment; filename="C:\\\\Windows\\\\.bashrc"')], "bashrc"),
        ("/x.bin", [("Content-Disposition", 'attachment; filename=".."')], "x.bin"),
        ("/%2e%2e%2f%2e%2e%2fetc%2fpasswd", [], "passwd"),
        ("/a%00b%0a%e2%80%aec.bin", [], "a-b-c.bin"),
        ("/" + "ü" * 300 + ".tar", [], "ü" * 48 + ".tar"),
    ],
)
def test_the_name_of_what_is_saved_is_safe(run, downloaded, path, headers, name, tmp_path):
    text = shown(run, response(b"\0", headers=headers), path)
    assert head_of(text).endswith(f"is saved in {tmp_path}/workspace/downloads/{name}]")
    assert list(downloaded()) == [name]


@pytest.mark.parametrize(
    ("encoding", "content"),
    [
        ("gzip", gzip.compress(b"hello", mtime=0)),
        ("deflate", zlib.compress(b"hello")),
        ("deflate", zlib.compress(b"hello")[2:-4]),
    ],
)
def test_compressed_bodies_are_unpacked(run, encoding, content):
    assert body_of(shown(run, response(content, headers=[("Content-Encoding", encoding)]))) == "hello"


@pytest.mark.one_python
@pytest.mark.parametrize("encoding", some(["gzip", "deflate"], 2))
def test_a_decompression_bomb_is_cut_in_steady_memory(run, downloaded, encoding):
    content = b"x" * 100_000_000
    bomb = gzip.compress(content, 1) if encoding == "gzip" else zlib.compress(content, 1)
    del content
    tracemalloc.start()
    try:
        text = shown(run, response(bomb, headers=[("Content-Encoding", encoding), ("Content-Type", "text/plain")]))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "is not saved: it has more than 50 MB]" in text
    assert body_of(text) == "x" * MAX_BEGINNING_BYTES
    assert peak < 8_000_000
    assert downloaded() == {}


def test_what_is_saved_is_unpacked(run, downloaded, tmp_path):
    content = b"0123456789" * 200_000
    text = shown(run, response(gzip.compress(content), headers=[("Content-Encoding", "gzip")]), "/a.txt")
    assert f"all of it, 2,000,000 bytes, is saved in {tmp_path}/workspace/downloads/a.txt]" in text
    assert downloaded() == {"a.txt": content}


@pytest.mark.parametrize("encoding", ["gzip, gzip", "br", "zstd", "gzip,deflate"])
def test_a_compression_that_may_grow_without_bound_is_not_unpacked(run, encoding):
    text = shown(run, response(b"whatever", headers=[("Content-Encoding", encoding)]))
    assert head_of(text).endswith("[the body is not shown: its compression is not supported]")


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
    assert "GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS" in refused(run, method=method)


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
        {"X": None},
        {"X": {"a": "b"}},
        {"X": [["a"]]},
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


def test_a_body_that_is_not_compressed_as_it_says_is_read_as_it_is(run):
    with WebServer(lambda _: response("plain", headers=[("Content-Encoding", "gzip")])) as server:
        assert "plain" in run(server.url).result


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
