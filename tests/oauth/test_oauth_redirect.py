"""The listener for the browser that comes back."""

import asyncio
import contextlib

import pytest

from oneclaw_core.http import OAuthError, RedirectListener
from oneclaw_core.http.oauth import consent


async def get(port, target, method="GET"):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"{method} {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
    answer = (await reader.read()).decode()
    writer.close()
    return answer


@pytest.mark.parametrize(
    "target",
    [
        "/favicon.ico",
        "/?code=x",
        "/?code=x&state=other",
        "/?state=my-state",
        "/other?code=x&state=my-state",
        "/?code=x&code=y&state=my-state",
        "/?code=x&state=my-state&state=my-state",
        "/?code=x&state=%FF",
        "nonsense",
    ],
)
def test_whatever_is_no_answer_is_not_found(target):
    async def run():
        async with RedirectListener() as listener:
            listener.expect("my-state")
            assert (await get(listener.port, target)).startswith("HTTP/1.1 404 ")
            with pytest.raises(OAuthError):
                await listener.wait(0)

    asyncio.run(run())


def test_the_answer_is_taken_once_and_shown_as_a_page():
    async def run():
        async with RedirectListener() as listener:
            assert (await get(listener.port, "/?code=early&state=my-state")).startswith("HTTP/1.1 404 ")
            listener.expect("my-state")
            assert "404" in await get(listener.port, "/?code=abc&state=my-state", "POST")
            page = await get(listener.port, "/?code=abc&state=my-state&iss=https%3A%2F%2Fa.example")
            await get(listener.port, "/?code=later&state=my-state")
            return page, await listener.wait(60)

    page, answer = asyncio.run(run())

    assert "You can close this window" in page
    assert "Cache-Control: no-store" in page
    assert "Referrer-Policy: no-referrer" in page
    assert answer == {"code": "abc", "state": "my-state", "iss": "https://a.example"}


def test_a_silent_connection_keeps_no_answer_waiting_and_is_dropped(monkeypatch):
    monkeypatch.setattr(consent, "_SILENT_SECONDS", 0.05)

    async def run():
        async with RedirectListener() as listener:
            listener.expect("my-state")
            silent, writer = await asyncio.open_connection("127.0.0.1", listener.port)
            await get(listener.port, "/?code=abc&state=my-state")
            assert await listener.wait(60)
            assert await silent.read() == b""
            writer.close()

    asyncio.run(run())


def test_a_silent_connection_does_not_hold_up_the_end():
    async def run():
        async with RedirectListener() as listener:
            silent, writer = await asyncio.open_connection("127.0.0.1", listener.port)
        assert await silent.read() == b""
        writer.close()

    asyncio.run(run())


def test_a_browser_that_hangs_up_has_answered():
    async def run():
        async with RedirectListener() as listener:
            listener.expect("my-state")
            _, writer = await asyncio.open_connection("127.0.0.1", listener.port)
            writer.write(b"GET /?code=abc&state=my-state HTTP/1.1\r\n\r\n")
            writer.close()
            return await listener.wait(60)

    assert asyncio.run(run())["code"] == "abc"


def test_a_head_without_an_end_is_dropped():
    async def run():
        async with RedirectListener() as listener:
            reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
            writer.write(b"GET /" + b"a" * 200_000)
            with contextlib.suppress(OSError):
                assert await reader.read() == b""
            writer.close()

    asyncio.run(run())


def test_a_port_can_be_remembered_for_the_next_time():
    async def run():
        async with RedirectListener(path="/callback") as first:
            uri = first.redirect_uri
        async with RedirectListener(port=first.port, path="/callback") as second:
            assert second.redirect_uri == uri

    asyncio.run(run())
