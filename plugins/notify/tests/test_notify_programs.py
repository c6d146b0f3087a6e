"""Messages to commands and to the desktop."""

import asyncio
import json

import pytest
from oneclaw_notify import command

from oneclaw_core.channels import UndeliverableError
from oneclaw_core.plugins import OutMessage


@pytest.fixture
def send(oneclaw_factory):
    def send(channel, **about):
        async def work():
            async with oneclaw_factory(["notify"]).opened() as claw, asyncio.timeout(30):
                await (await claw.services.channel(channel)).send(OutMessage(**about))

        asyncio.run(work())

    return send


@pytest.mark.long
def test_a_command_reads_the_message_as_json(send, tmp_path):
    long = "word " * 50_000  # more than a pipe holds
    send("command", to=f"cat >{tmp_path}/data", text="x", data={"answer": long})
    send("command", to=f"cat >{tmp_path}/text", text="Good morning.", title="Hello")
    send("command", to="true", text="x", data={"answer": long})

    assert json.loads((tmp_path / "data").read_text()) == {"answer": long}
    assert json.loads((tmp_path / "text").read_text()) == {"title": "Hello", "text": "Good morning."}


def test_a_command_that_fails_is_explained(send, monkeypatch):
    with pytest.raises(UndeliverableError, match="the command ended with status 3: too bad"):
        send("command", to="echo too bad >&2; exit 3", text="x")
    monkeypatch.setattr(command, "_SECONDS", 0.2)
    with pytest.raises(UndeliverableError, match=r"the command was stopped after 0\.2 seconds"):
        send("command", to="sleep 60", text="x")


def test_the_desktop_shows_the_title_and_the_beginning_of_the_text(send, tmp_path, monkeypatch):
    program = tmp_path / "notify-send"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >{tmp_path}/shown\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("DISPLAY", ":0")
    send("desktop", title="Clo\u202eck", text="It\u200b is <b>late</b>\n& dark. " + "So dark. " * 50)

    application, end, title, body = (tmp_path / "shown").read_text().splitlines()
    assert (application, end, title) == ("--app-name=OneClaw", "--", "Clo\\u202eck")
    assert body.startswith("It\\u200b is &lt;b>late&lt;/b> &amp; dark. So dark.")
    assert len(body) < 120


def test_without_a_desktop_nothing_can_be_shown(send, monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    with pytest.raises(UndeliverableError, match="no desktop here"):
        send("desktop", text="x")


def test_a_command_gets_no_keys(send, tmp_path, monkeypatch):
    monkeypatch.setenv("ACME_API_KEY", "sk-canary-1234567890")
    monkeypatch.setenv("ONECLAW_TELEGRAM_BOT_TOKEN", "1234:canary")
    monkeypatch.setenv("DATABASE_URL", "postgres://ada:canary@db.example/x")
    monkeypatch.setenv("ACME_PLACE", "Berlin")
    send("command", to=f"env >{tmp_path}/environment", text="x")
    found = (tmp_path / "environment").read_text()
    assert "canary" not in found
    assert "ACME_PLACE=Berlin" in found
    assert "PATH=" in found
