"""Sending results where a task says."""

import asyncio
import socketserver
import threading
from contextlib import contextmanager, suppress
from datetime import UTC, datetime

import pytest
from oneclaw_scheduled_tasks import delivery
from oneclaw_scheduled_tasks.schedules import ScheduleWords
from oneclaw_scheduled_tasks.service import TaskService, TaskWords
from oneclaw_scheduled_tasks.task import Run, RunStatus

from oneclaw_core import NotFoundError, hookimpl
from oneclaw_core.channels import RetryLaterError, UndeliverableError
from oneclaw_core.plugins import Channel


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


class Notes(Channel):
    """A channel that keeps what is sent, and the plugin that registers it."""

    max_characters = 40

    def __init__(self):
        self.failures = []
        self.sent = []

    @hookimpl
    def register_channels(self, register):
        register("notes", lambda context: self, is_send_only=True)

    async def send(self, message):
        if self.failures:
            raise self.failures.pop(0)
        self.sent.append((message.to, message.text))


def send(oneclaw_factory, notes, *channels, answer="done"):
    """Deliver a result to channels; give what did not work."""

    async def work():
        async with (
            oneclaw_factory(["scheduled_tasks", notes]).opened() as claw,
            TaskService.open(claw.services) as service,
        ):
            when = ScheduleWords(schedule_type="daily", hour=9)
            words = TaskWords(name="Mail", prompt="Read it.", when=when, channels=channels, is_notified=False)
            now = datetime.now(UTC)
            run = Run(id="r", task_id="t", scheduled_at=now, not_before=now, status=RunStatus.SUCCESS, answer=answer)
            return await delivery.deliver(await service.new(words), run, claw.services.channel)

    return asyncio.run(work())


def test_results_go_through_channels_in_pieces_that_these_can_send(oneclaw_factory):
    notes = Notes()

    assert send(oneclaw_factory, notes, "notes:me", "notes", answer="a word " * 9) is None
    assert [to for to, _ in notes.sent] == ["me", "me", "me", "", "", ""]
    assert notes.sent[0][1].startswith("[Scheduled] Mail: a word")
    assert max(len(text) for _, text in notes.sent) <= 40


def test_a_channel_is_tried_again_where_that_helps(oneclaw_factory, monkeypatch):
    monkeypatch.setattr(delivery, "_WEBHOOK_PAUSES", (0, 0))
    notes = Notes()

    notes.failures = [RetryLaterError("slowly", 0), ValueError("broken")]
    assert send(oneclaw_factory, notes, "notes") is None
    notes.failures = [UndeliverableError("gone"), ValueError("never raised")]
    assert send(oneclaw_factory, notes, "notes") == "the channel notes did not send it: gone"
    assert len(notes.sent) == 1
    with pytest.raises(NotFoundError, match="no channel 'pigeon'; plugins have registered: mail, notes"):
        send(oneclaw_factory, notes, "pigeon:home")
