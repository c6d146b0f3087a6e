"""Sending results where a task says."""

import asyncio
from datetime import UTC, datetime

import pytest
from oneclaw_scheduled_tasks import delivery
from oneclaw_scheduled_tasks.service import TaskService
from oneclaw_scheduled_tasks.task import Run, RunStatus

from oneclaw_core import NotFoundError, hookimpl
from oneclaw_core.channels import RetryLaterError, UndeliverableError
from oneclaw_core.plugins import Channel


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(delivery, "_PAUSES", ())


class Notes(Channel):
    """A channel that keeps what is sent, and the plugin that registers it."""

    max_characters = 40

    def __init__(self):
        self.failures = []
        self.sent = []
        self.messages = []

    @hookimpl
    def register_channels(self, register):
        for name in ("notes", "webhook", "command", "desktop"):
            register(name, lambda context: self, is_send_only=True)

    async def send(self, message):
        if self.failures:
            raise self.failures.pop(0)
        self.sent.append((message.to, message.text))
        self.messages.append(message)


def send(oneclaw_factory, notes, *channels, answer="done", is_notified=False, **given):
    """Deliver a result to channels; give what did not work."""

    async def work():
        async with (
            oneclaw_factory(["scheduled_tasks", notes]).opened() as claw,
            TaskService.open(claw.services) as service,
        ):
            when = {"schedule_type": "daily", "hour": 9}
            words = dict(name="Mail", prompt="Read it.", **when, channels=channels, is_notified=is_notified)
            now = datetime.now(UTC)
            run = Run(id="r", task_id="t", scheduled_at=now, not_before=now, status=RunStatus.SUCCESS, answer=answer)
            return await delivery.deliver(await service.new(words | given), run, claw.services.channel)

    return asyncio.run(work())


def test_results_go_through_channels_in_pieces_that_these_can_send(oneclaw_factory):
    notes = Notes()

    assert send(oneclaw_factory, notes, "notes:me", "notes", answer="a word " * 9) is None
    assert [to for to, _ in notes.sent] == ["me", "me", "me", "", "", ""]
    assert notes.sent[0][1].startswith("[Scheduled] Mail: a word")
    assert max(len(text) for _, text in notes.sent) <= 40


def test_a_channel_is_tried_again_where_that_helps(oneclaw_factory, monkeypatch):
    monkeypatch.setattr(delivery, "_PAUSES", (0, 0))
    notes = Notes()

    notes.failures = [RetryLaterError("slowly", 0), ValueError("broken")]
    assert send(oneclaw_factory, notes, "notes") is None
    notes.failures = [UndeliverableError("gone"), ValueError("never raised")]
    assert send(oneclaw_factory, notes, "notes") == "the channel notes did not send it: gone"
    assert len(notes.sent) == 1
    with pytest.raises(NotFoundError, match="no channel 'pigeon'; plugins have registered: command, desktop, n"):
        send(oneclaw_factory, notes, "pigeon:home")


def test_webhooks_commands_and_the_desktop_are_channels_too(oneclaw_factory):
    notes = Notes()
    notes.max_characters = None

    given = {"webhook": "https://example.com/x", "command": "cat >it", "is_notified": True}
    assert send(oneclaw_factory, notes, **given) is None

    desktop, webhook, command = notes.messages
    assert (desktop.title, desktop.text, desktop.to) == ("Mail", "done", "")
    assert (webhook.to, webhook.key, webhook.data["answer"]) == ("https://example.com/x", "r", "done")
    assert webhook.data["task"] == "Mail"
    assert command.data == webhook.data
    assert command.to.endswith("ONECLAW_TASK_NAME=Mail ONECLAW_RUN_ID=r ONECLAW_RUN_STATUS=success\ncat >it")


def test_no_desktop_is_no_problem_of_a_run(oneclaw_factory):
    notes = Notes()
    notes.failures = [UndeliverableError("no desktop")]

    assert send(oneclaw_factory, notes, is_notified=True) is None


@pytest.mark.parametrize("given", [{"webhook": "https://example.com/x"}, {"command": "cat"}, {"channels": ("mail",)}])
def test_a_plugin_that_is_missing_is_named(oneclaw_factory, given):
    async def work():
        async with (
            oneclaw_factory(["scheduled_tasks"]).opened() as claw,
            TaskService.open(claw.services) as service,
        ):
            words = dict(name="Mail", prompt="x", schedule_type="daily", hour=9, **given)
            await service.new(words)

    with pytest.raises(NotFoundError, match=r"needs the plugin notify, which .*oneclaw-notify"):
        asyncio.run(work())
