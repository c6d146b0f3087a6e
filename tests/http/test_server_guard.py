"""The guard in front of servers."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from oneclaw_core.errors import UsageError
from oneclaw_core.http import ServerGuard, bearer_token

OURS = "http://127.0.0.1:8311"


async def echo(scope, receive, send):
    body = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionError("the client is gone")
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


def answer(headers=None, *, content=b"hi", url=OURS, method="POST", **options):
    async def send():
        transport = httpx.ASGITransport(ServerGuard(echo, [OURS, "http://localhost:8311"], **options))
        async with httpx.AsyncClient(transport=transport) as client:
            return await client.request(method, url, headers=headers, content=content)

    return asyncio.run(send())


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": OURS}, 200),
        ({"Host": "LOCALHOST:8311", "Origin": OURS}, 200),
        ({"Host": "evil.example"}, 421),
        ({"Host": "evil.example:8311", "Origin": "http://evil.example:8311"}, 421),  # DNS rebinding
        ({"Host": "127.0.0.1"}, 421),
        ({"Host": "127.0.0.1:8312"}, 421),
        ({"Origin": "http://127.0.0.1:8312"}, 403),
        ({"Origin": "https://127.0.0.1:8311"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://["}, 403),
        ({"X-Forwarded-Host": "127.0.0.1:8311"}, 400),
        ({"Content-Length": "99999999999999999999999"}, 413),
        ({"Content-Length": "-1"}, 413),
    ],
)
def test_requests_of_other_sites_are_refused(headers, status):
    assert answer(headers).status_code == status


def test_a_public_name_behind_a_proxy_is_accepted():
    async def send():
        guarded = ServerGuard(echo, ["https://Assistant.example/"], is_behind_proxy=True)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(guarded)) as client:
            headers = {"Origin": "https://assistant.example", "X-Forwarded-For": "192.0.2.1"}
            return await client.get("http://assistant.example/", headers=headers)

    assert asyncio.run(send()).status_code == 200


def test_a_body_without_a_length_is_cut_off():
    async def pieces():
        for _ in range(10):
            yield b"x" * 100

    found = answer(content=pieces(), max_body_bytes=500)
    assert found.status_code == 413
    assert found.json()["error"] == {"type": "content_too_large", "message": "the body is longer than 500 bytes"}


def test_slow_clients_are_cut_off():
    sent = []

    async def never(*_):
        await asyncio.Event().wait()

    async def keep(message):
        sent.append(message)

    scope = {"type": "http", "scheme": "http", "headers": [(b"host", b"127.0.0.1:8311")]}
    guard = ServerGuard(echo, [OURS], slow_seconds=0.01)
    asyncio.run(guard(scope, never, keep))
    assert sent[0]["status"] == 408

    async def whole():
        return {"type": "http.request", "body": b""}

    with pytest.raises(OSError, match="does not read"):
        asyncio.run(guard(scope, whole, never))


def test_sockets_are_refused():
    sent = []

    async def keep(message):
        sent.append(message)

    asyncio.run(ServerGuard(echo, [OURS])({"type": "websocket", "headers": []}, None, keep))
    assert sent == [{"type": "websocket.close", "code": 1008}]


@pytest.mark.parametrize(
    "origin", ["127.0.0.1:8311", "ftp://a", "http://a/path", "http://u@a", "http://a:x", "http://"]
)
def test_an_origin_of_no_server_is_refused(origin):
    with pytest.raises(UsageError, match="not an origin"):
        ServerGuard(echo, [origin])


@pytest.mark.parametrize(
    ("headers", "token"),
    [
        ([(b"authorization", b"Bearer abc")], "abc"),
        ([(b"Authorization", b"bearer  abc ")], "abc"),
        ([(b"authorization", b"Basic abc")], None),
        ([(b"authorization", b"Bearer ")], None),
        ([(b"authorization", b"Bearer a"), (b"authorization", b"Bearer b")], None),
        ([], None),
    ],
)
def test_a_token_is_read_from_the_header(headers, token):
    assert bearer_token({"headers": headers}) == token
