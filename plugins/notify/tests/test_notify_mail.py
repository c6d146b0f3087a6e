"""Messages by mail, to a server on this machine."""

from __future__ import annotations

import asyncio
import socketserver
import threading
from email import message_from_bytes, policy

import pytest

from oneclaw_core import UsageError
from oneclaw_core.channels import UndeliverableError
from oneclaw_core.cli.main import main
from oneclaw_core.config.keys import secret_store
from oneclaw_core.plugins import OutMessage


class MailServer(socketserver.ThreadingTCPServer):
    """Takes mail, but none for ``no one``."""

    def __init__(self):
        self.mails = []
        super().__init__(("127.0.0.1", 0), Dialogue)
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}).start()

    def close(self):
        self.shutdown()
        self.server_close()


class Dialogue(socketserver.StreamRequestHandler):
    def handle(self):
        self.wfile.write(b"220 here\r\n")
        for line in self.rfile:
            word = line.split(maxsplit=1)[0].upper()
            if word == b"DATA":
                self.wfile.write(b"354 go on\r\n")
                lines = iter(self.rfile.readline, b".\r\n")
                self.server.mails.append(message_from_bytes(b"".join(lines), policy=policy.default))
            refused = word == b"RCPT" and b"nobody" in line
            self.wfile.write(b"550 no\r\n" if refused else b"250 well\r\n")
            if word == b"QUIT":
                return


@pytest.fixture
def mail_server():
    server = MailServer()
    yield server
    server.close()


def send(oneclaw_factory, environ, *messages):
    async def work():
        settings = {f"ONECLAW_NOTIFY_MAIL_{name}": value for name, value in environ.items()}
        async with oneclaw_factory(["notify"], environ=settings).opened() as claw:
            channel = await claw.services.channel("mail")
            for each in messages:
                await channel.send(each)

    asyncio.run(work())


def test_a_result_comes_by_mail(oneclaw_factory, mail_server):
    server = {"SERVER": f"127.0.0.1:{mail_server.server_address[1]}", "ADDRESS": "me@example.org"}
    text = "[Scheduled] Mail: grüße\n\nBcc: eve@example.org"

    send(oneclaw_factory, server, OutMessage(text=text), OutMessage(to="ada@example.org", text="short"))

    first, second = mail_server.mails
    assert (first["From"], first["To"], first["Subject"]) == (
        "me@example.org",
        "me@example.org",
        "[Scheduled] Mail: grüße",
    )
    assert first.get_content().splitlines() == text.splitlines()
    assert "Bcc" not in first
    assert second["To"] == "ada@example.org"


def test_a_title_is_the_subject(oneclaw_factory, mail_server):
    server = {"SERVER": f"127.0.0.1:{mail_server.server_address[1]}", "ADDRESS": "me@example.org"}

    send(oneclaw_factory, server, OutMessage(title="Rep\u202eort", text="All is\u202e well."))

    assert mail_server.mails[0]["Subject"] == "Report"
    assert mail_server.mails[0].get_content().strip() == "All is\\u202e well."


def test_settings_count_that_the_plugin_of_tasks_had(oneclaw_factory, mail_server):
    async def work():
        async with oneclaw_factory(["notify"]).opened() as claw:
            place = f"127.0.0.1:{mail_server.server_address[1]}"
            await claw.store.set_setting("scheduled_tasks.mail_server", place)
            await claw.store.set_setting("scheduled_tasks.mail_address", "me@example.org")
            await claw.plugins.refresh_settings()
            await (await claw.services.channel("mail")).send(OutMessage(text="x"))

    asyncio.run(work())
    assert mail_server.mails[0]["To"] == "me@example.org"


def test_a_password_counts_that_the_plugin_of_tasks_had(oneclaw_factory):
    async def work():
        async with oneclaw_factory(["notify"]).opened() as claw:
            context = await claw.plugins.context_of("notify")
            store = secret_store(claw.home)
            store.set("scheduled_tasks.mail_password", "of then")
            before = await context.secrets.get("mail_password")
            await context.secrets.set("mail_password", "of now")
            return before, await context.secrets.get("mail_password")

    assert asyncio.run(work()) == ("of then", "of now")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["config", "set", "scheduled_tasks.mail_server", "x"], "is named notify.mail_server now"),
        (["keys", "set", "scheduled_tasks.mail_password"], "is named notify.mail_password and triggers"),
        (["config", "get", "scheduled_tasks.mail_user"], "is named notify.mail_user and triggers.mail_user now"),
    ],
)
def test_the_name_that_a_setting_has_now_is_said(tmp_path, monkeypatch, capsys, command, said):
    monkeypatch.setenv("ONECLAW_HOME", str(tmp_path / "home"))

    assert main(command) == 2

    assert said in capsys.readouterr().err


def test_what_cannot_be_mailed_is_said(oneclaw_factory, mail_server):
    server = {"SERVER": f"127.0.0.1:{mail_server.server_address[1]}", "ADDRESS": "me@example.org"}

    with pytest.raises(UsageError, match="mail is not set up: oneclaw config set"):
        send(oneclaw_factory, {})
    with pytest.raises(UndeliverableError, match="refuses the address"):
        send(oneclaw_factory, server, OutMessage(to="nobody@example.org", text="x"))
    with pytest.raises(UndeliverableError, match="is not a mail address"):
        send(oneclaw_factory, server, OutMessage(to="ada@example.org\nBcc: eve@example.org", text="x"))
    assert mail_server.mails == []
