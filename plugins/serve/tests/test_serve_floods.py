"""Connections that send no request, and wrong logins by the dozen: others are served all the same."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

import pytest
from oneclaw_serve.access import Access, new_link_code, source_of
from oneclaw_serve.errors import Refusal
from starlette.requests import Request

from oneclaw_core.http import ImpatientConnection

HEAD = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
UNFINISHED = {
    "nothing": b"",
    "half a line": b"GET /hea",
    "half a head": HEAD,
    "a head that gets no further": HEAD + b"X-A: b\r\n",
}


async def connect(rig, data=b""):
    port = urlsplit(rig.origin).port
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data.replace(b"%d", b"%d" % port))
    return reader, writer


async def rest(reader):
    """Read up to the end of the connection, however it ends."""
    try:
        return await reader.read()
    except ConnectionError:
        return b""


@pytest.mark.parametrize("data", UNFINISHED.values(), ids=UNFINISHED)
def test_a_connection_that_sends_no_request_is_closed(serving, monkeypatch, data):
    monkeypatch.setattr(ImpatientConnection, "head_seconds", 0.1)

    async def work(rig):
        reader, writer = await connect(rig, data)
        async with asyncio.timeout(3):
            await rest(reader)
        writer.close()
        return True

    assert serving.run(work)


@pytest.mark.long
def test_a_head_that_comes_byte_by_byte_has_no_more_time(serving, monkeypatch):
    monkeypatch.setattr(ImpatientConnection, "head_seconds", 0.2)

    async def work(rig):
        reader, writer = await connect(rig, HEAD)
        ended = asyncio.create_task(rest(reader))
        async with asyncio.timeout(5):
            while not ended.done():
                writer.write(b"X")
                await asyncio.wait({ended}, timeout=0.02)
        writer.close()
        return True

    assert serving.run(work)


def test_many_open_connections_keep_no_one_out(serving, monkeypatch):
    monkeypatch.setattr(ImpatientConnection, "max_connections", 5)

    async def work(rig):
        idle = [await connect(rig, HEAD) for _ in range(30)]
        async with rig.client() as client, asyncio.timeout(5):
            status = (await client.get("/health")).status_code
            await asyncio.gather(*(rest(reader) for reader, _ in idle[:20]))  # these are closed
        for _, writer in idle:
            writer.close()
        return status

    assert serving.run(work) == 200


@pytest.mark.parametrize("headers", [{f"X-{n}": "a" for n in range(200)}, {"X-Long": "a" * 40_000}])
def test_too_many_or_too_long_headers_are_refused(serving, headers):
    async def work(rig):
        async with rig.client(**headers) as client:
            return (await client.get("/health")).status_code

    assert serving.run(work) in (400, 431)


def test_wrong_logins_lock_out_neither_a_fresh_link_nor_a_token(serving):
    async def work(rig):
        async with rig.client(Origin=rig.origin) as client:
            wrong = [(await client.post("/login", json={"code": f"x{n}"})).status_code for n in range(12)]
            right = await client.post("/login", json={"code": await new_link_code(rig.storage)})
        async with rig.client(Authorization="Bearer oneclaw_wrong") as client:
            tokens = [(await client.get("/api/sessions")).status_code for _ in range(12)]
        async with await rig.program("read") as client:
            return wrong, right.status_code, tokens, (await client.get("/api/sessions")).status_code

    wrong, right, tokens, program = serving.run(work)
    assert wrong == tokens == [401] * 10 + [429] * 2
    assert (right, program) == (200, 200)


@pytest.mark.parametrize(
    ("peer", "forwarded", "source"),
    [
        ("127.0.0.1", ["198.51.100.7"], "127.0.0.1"),  # no proxy of ours says so
        ("192.0.2.1", ["198.51.100.7"], "198.51.100.7"),
        ("192.0.2.1", ["203.0.113.9, 198.51.100.7"], "198.51.100.7"),  # the first is what the client wrote
        ("192.0.2.1", ["203.0.113.9", "198.51.100.7, 192.0.2.1"], "198.51.100.7"),
        ("192.0.2.1", ["2001:db8:1:2:3::4"], "2001:db8:1:2::/64"),
        ("192.0.2.1", [], "192.0.2.1"),
    ],
)
def test_the_source_is_what_the_proxy_says(peer, forwarded, source):
    headers = [(b"x-forwarded-for", each.encode()) for each in forwarded]
    request = Request({"type": "http", "client": (peer, 1), "headers": headers})
    assert source_of(request, {"192.0.2.1"}) == source


@pytest.mark.long
def test_wrong_logins_count_for_their_source_alone(serving):
    async def work(rig):
        access = Access(rig.storage, "cookie", proxies={"192.0.2.1"})

        async def status(source):
            headers = [(b"x-forwarded-for", source)]
            with pytest.raises(Refusal) as refused:
                await access.log_in("x", Request({"type": "http", "client": ("192.0.2.1", 1), "headers": headers}))
            return refused.value.status

        return [await status(b"198.51.100.7") for _ in range(11)], await status(b"203.0.113.9")

    many, other = serving.run(work)
    assert (many[-1], other) == (429, 401)
