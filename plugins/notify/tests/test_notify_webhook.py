"""Messages to webhooks, on servers of this machine that answer well, badly or never."""

import asyncio
import json
import socketserver
import threading
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from oneclaw_notify import webhook

from oneclaw_core import OneClawError
from oneclaw_core.channels import UndeliverableError
from oneclaw_core.plugins import OutMessage


@contextmanager
def server_that_drips(head, drop):
    """A server that begins to answer and goes on, a drop at a time, until no one listens; gives its URL."""
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


@contextmanager
def server_that_answers(status):
    """A server that answers with a status; gives its URL and what it was sent."""
    taken = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            taken.append((json.loads(self.rfile.read(int(self.headers["Content-Length"]))), dict(self.headers)))
            self.send_response(status)
            self.end_headers()

        def log_message(self, *arguments):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/secret", taken
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def send(oneclaw_factory):
    def send(url, **about):
        async def work():
            async with oneclaw_factory(["notify"]).opened() as claw, asyncio.timeout(20):
                await (await claw.services.channel("webhook")).send(OutMessage(to=url, **about))

        asyncio.run(work())

    return send


@pytest.mark.long
def test_data_or_text_comes_as_json(send):
    with server_that_answers(204) as (url, taken):
        send(url, text="Good morning.", title="Hello")
        send(url, text="Good morning.", data={"answer": 42}, key="run-1")

    assert [document for document, _ in taken] == [{"title": "Hello", "text": "Good morning."}, {"answer": 42}]
    assert [headers.get("Idempotency-Key") for _, headers in taken] == [None, "run-1"]


@pytest.mark.parametrize(("status", "is_lasting"), [(404, True), (302, True), (429, False), (503, False)])
def test_what_may_be_tried_again_is_told_apart(send, status, is_lasting):
    with (
        server_that_answers(status) as (url, _),
        pytest.raises(OneClawError, match=f"the webhook at 127.0.0.1 answered {status}") as caught,
    ):
        send(url, text="x")

    assert isinstance(caught.value, UndeliverableError) is is_lasting
    assert "secret" not in str(caught.value)


def test_an_answer_without_end_keeps_no_one(send):
    with server_that_drips(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n") as url:
        send(url, text="x")


def test_an_answer_that_never_begins_is_given_up(send, monkeypatch):
    monkeypatch.setattr(webhook, "_SECONDS", 0.3)
    with (
        server_that_drips(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n") as url,
        pytest.raises(OneClawError, match=r"the webhook at 127.0.0.1 was not reached \(TimeoutError\)"),
    ):
        send(url, text="x")


def test_an_address_that_is_no_url_is_refused(send):
    with pytest.raises(UndeliverableError, match="a URL that begins with https"):
        send("ftp://example.com/x", text="x")


def test_a_proxy_that_is_not_needed_stops_no_message(send, monkeypatch):
    monkeypatch.setenv("ALL_PROXY", "socks://127.0.0.1:9/")
    monkeypatch.setenv("NO_PROXY", "[::1],fd07:b51a:cc66:f0::/64")
    with server_that_answers(204) as (url, taken):
        send(url, text="Good morning.")
    assert len(taken) == 1
