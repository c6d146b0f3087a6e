"""Many requests at once to one service."""

import asyncio
import os
import threading
from contextlib import AsyncExitStack, contextmanager

import httpx
import pytest
from model_server import ModelServer, text
from oneclaw_http_providers import client_pool
from oneclaw_http_providers.client_pool import ClientPool
from oneclaw_openai.chat import OpenAIChatProvider
from provider_session import Service, hello

from oneclaw_core.errors import ProviderUnavailableError

CHAT = Service(OpenAIChatProvider, "openai_compatible", hello("test"))


async def ask_at_once(settings, count):
    """Ask one provider several things at the same time."""

    async def ask(provider, number):
        return [event async for event in provider.stream(hello(f"model-{number}"))]

    async with CHAT.opened(settings) as provider:
        await asyncio.gather(*(ask(provider, number) for number in range(count)))


def test_no_more_requests_than_allowed_run_at_the_same_time():
    running, most, lock = 0, 0, threading.Lock()
    in_pairs = threading.Barrier(2, timeout=10)

    def reply(body):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        in_pairs.wait()
        with lock:
            running -= 1
        return text("Done.")

    with ModelServer(reply) as server:
        asyncio.run(ask_at_once(CHAT.config(server.url, concurrency=2), 10))
    assert most == 2


def test_requests_that_wait_are_sent_in_their_order():
    with ModelServer(lambda _: text("Done.")) as server:
        asyncio.run(ask_at_once(CHAT.config(server.url, concurrency=1), 20))
    assert [body["model"] for body in server.bodies] == [f"model-{number}" for number in range(20)]


def test_a_request_that_is_cancelled_while_it_waits_leaves_its_place():
    async def main():
        pool = ClientPool(httpx.AsyncClient, 1)

        async def wait():
            async with pool.acquired():
                pass

        async with pool.acquired():
            waiting = asyncio.create_task(wait())
            await asyncio.sleep(0)
            waiting.cancel()
        async with asyncio.timeout(5), pool.acquired():
            pass
        await pool.aclose()

    asyncio.run(main())


def test_each_request_has_a_client_and_clients_are_closed_when_idle(monkeypatch):
    monkeypatch.setattr(client_pool, "_IDLE_SECONDS", -1)

    async def main():
        pool = ClientPool(httpx.AsyncClient)
        async with AsyncExitStack() as stack:
            clients = [await stack.enter_async_context(pool.acquired()) for _ in range(3)]
        assert len(set(clients)) == 3
        async with pool.acquired() as client:
            # The stack ended with the first.
            assert client is clients[0]
            assert [each.is_closed for each in clients] == [False, True, True]
        await pool.aclose()
        assert client.is_closed

    asyncio.run(main())


def test_a_client_that_was_closed_in_use_is_not_used_again():
    async def main():
        pool = ClientPool(httpx.AsyncClient)
        async with pool.acquired() as closed:
            await pool.aclose()
        async with pool.acquired() as client:
            assert closed.is_closed
            assert not client.is_closed
        await pool.aclose()

    asyncio.run(main())


@contextmanager
def no_more_files():
    """Let this process open no more files."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    next_free = os.open(os.devnull, os.O_RDONLY)
    os.close(next_free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (next_free, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_limit_of_open_files_that_is_too_low_is_named():
    async def main(settings):
        async with CHAT.opened(settings) as first, CHAT.opened(settings) as second:
            [_ async for _ in first.stream(CHAT.request)]  # imports what it takes to connect
            with no_more_files():
                [_ async for _ in second.stream(CHAT.request)]

    advice = "ulimit -n NUMBER, or .*: oneclaw config set provider_concurrency acme=NUMBER"
    with ModelServer(lambda _: text("Done.")) as server, pytest.raises(ProviderUnavailableError, match=advice):
        asyncio.run(main(CHAT.config(server.url, max_retries=0)))
