"""The heads of requests to a proxy: what is passed on, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oneclaw_core.http.proxy import MAX_HEADERS, parse_proxy_request


def head(*lines):
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def test_a_tunnel_names_host_and_port():
    request = parse_proxy_request(head("CONNECT PyPI.org.:8443 HTTP/1.1", "Host: other.example"))
    assert (request.host, request.port, request.is_tunnel, request.forwarded) == ("pypi.org", 8443, True, b"")
    assert request.destination == "pypi.org:8443"

    request = parse_proxy_request(head("CONNECT [2001:DB8::1]:443 HTTP/1.1"))
    assert (request.host, request.destination) == ("2001:db8::1", "[2001:db8::1]")


def test_the_host_that_was_checked_is_the_one_that_is_asked_for():
    request = parse_proxy_request(head("GET http://allowed.example/a?b HTTP/1.1", "Host: other.example"))
    assert (request.host, request.port) == ("allowed.example", 80)
    assert request.forwarded == head("GET /a?b HTTP/1.1", "Host: allowed.example", "connection: close")


def test_what_is_meant_for_the_proxy_is_not_passed_on():
    request = parse_proxy_request(
        head(
            "POST http://a.example:81 HTTP/1.1",
            "Proxy-Authorization: Basic x",
            "Connection: keep-alive, X-Hop",
            "X-Hop: 1",
            "X-Kept: 2",
            "Content-Length: 3",
        )
    )
    assert request.forwarded == head(
        "POST / HTTP/1.1", "Host: a.example:81", "x-kept: 2", "content-length: 3", "connection: close"
    )


def test_a_change_of_protocol_is_passed_on():
    request = parse_proxy_request(
        head("GET ws://a.example/ HTTP/1.1", "Connection: keep-alive, Upgrade", "Upgrade: websocket")
    )
    assert request.forwarded == head("GET / HTTP/1.1", "Host: a.example", "connection: Upgrade", "upgrade: websocket")


@pytest.mark.parametrize(
    "line",
    [
        "GET",
        "GET / HTTP/1.1",
        "GET ftp://a.example/ HTTP/1.1",
        "GET https://a.example/ HTTP/1.1",
        "GET http://a.example/ HTTP/2",
        "GET  http://a.example/ HTTP/1.1",
        "GET http://a.example/ x HTTP/1.1",
        "GET http://b.example@a.example/ HTTP/1.1",
        "GET http://a.example:99999/ HTTP/1.1",
        "GET http://a.example:0/ HTTP/1.1",
        "GET http://a_\x00.example/ HTTP/1.1",
        "GET http://ä.example/ HTTP/1.1",
        "GET http://a.example\\@b.example/ HTTP/1.1",
        "CONNECT :80 HTTP/1.1",
        "CONNECT a.example/path HTTP/1.1",
        "CONNECT a.example:1:2 HTTP/1.1",
        "CONNECT [fe80::1%eth0]:80 HTTP/1.1",
        "CONNECT b.example@a.example:443 HTTP/1.1",
        "CONNECT .example:443 HTTP/1.1",
    ],
)
def test_a_target_that_is_not_plain_is_refused(line):
    with pytest.raises(ValueError, match=r"^(the request|https)"):
        parse_proxy_request(head(line))


@pytest.mark.parametrize(
    "headers",
    [
        ["Content-Length: 1", "Content-Length: 2"],
        ["Content-Length: 1", "Content-Length: 1"],
        ["Content-Length: 1", "Transfer-Encoding: chunked"],
        ["Content-Length: 1, 1"],
        ["Content-Length: +1"],
        ["Content-Length: -1"],
        ["Content-Length: 0x1"],
        ["Content-Length:"],
        ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"],
        ["Transfer-Encoding: gzip, chunked"],
        ["Transfer-Encoding: xchunked"],
        ["Transfer-Encoding : chunked"],
        [" Transfer-Encoding: chunked"],
        ["X: a", " folded: b"],
        ["X: a\nContent-Length: 1"],
        ["X: a\rContent-Length: 1"],
        ["X: \x00"],
        ["no colon"],
        [": no name"],
        ["X: 1"] * (MAX_HEADERS + 1),
    ],
)
def test_lengths_and_headers_that_can_be_read_in_two_ways_are_refused(headers):
    with pytest.raises(ValueError, match=r"header|length|encoding"):
        parse_proxy_request(head("POST http://a.example/ HTTP/1.1", *headers))


def test_chunks_need_a_version_that_has_them():
    with pytest.raises(ValueError, match="transfer encoding"):
        parse_proxy_request(head("POST http://a.example/ HTTP/1.0", "Transfer-Encoding: chunked"))


@pytest.mark.one_python
@given(st.binary(max_size=200) | st.tuples(st.text(max_size=40), st.text(max_size=40)))
@example(("a.example", "x: y"))
def test_whatever_comes_is_refused_or_passed_on_in_one_reading(given_head):
    data = (
        given_head
        if isinstance(given_head, bytes)
        else f"GET http://{given_head[0]}/ HTTP/1.1\r\n{given_head[1]}\r\n\r\n".encode()
    )
    try:
        request = parse_proxy_request(data)
    except ValueError:
        return
    lines = request.forwarded.split(b"\r\n")
    if not request.is_tunnel:
        assert lines[-2:] == [b"", b""]
        assert b"" not in lines[:-2]
        assert [line for line in lines if line.lower().startswith(b"host:")] == [lines[1]]
    assert not any(b"\n" in line or b"\r" in line or b"\0" in line for line in lines)
