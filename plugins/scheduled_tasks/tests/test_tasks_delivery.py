"""Sending results where a task says."""

import asyncio
import socketserver
import threading
from contextlib import contextmanager, suppress

import pytest
from oneclaw_scheduled_tasks import delivery


@contextmanager
def server_that_drips(head, drop):
    """A server that begins to answer and goes on, a drop at a time, until nobody listens; gives its URL."""
    left = threading.Event()

    class Connection(socketserver.StreamRequestHandler):
        def handle(self):
            while self.rfile.readline().strip():
                pass
            self.wfile.write(head)
            with suppress(OSError):  # it is hung up on
                while not left.wait(0.02):
                    self.wfile.write(drop)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = False  # closing the server waits for them

    with Server(("127.0.0.1", 0), Connection) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/secret"
        finally:
            left.set()
            server.shutdown()
            thread.join()


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(delivery, "_WEBHOOK_PAUSES", ())
    monkeypatch.setattr(delivery, "WEBHOOK_SECONDS", 0.3)


def post(url):
    async def run():
        async with asyncio.timeout(20):
            return await delivery._post(url, {"status": "success"}, "run-1")

    return asyncio.run(run())


def test_an_answer_without_end_keeps_no_worker():
    with server_that_drips(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n") as url:
        assert post(url) is None


def test_an_answer_that_never_begins_is_given_up():
    with server_that_drips(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n") as url:
        assert post(url) == "the webhook at 127.0.0.1 was not reached (TimeoutError)"
