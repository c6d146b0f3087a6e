"""The trigger ``mail_received`` on a mailbox of this machine."""

import asyncio
import re
import socketserver
import threading

import pytest
from following import Fired, Following, until_stored
from how_long import some
from oneclaw_triggers import mail as mail_trigger
from oneclaw_triggers.mail_box import text_of
from oneclaw_triggers.seen import Seen

from oneclaw_core import OneClawError, UsageError


@pytest.fixture
def run(oneclaw_factory, monkeypatch):
    monkeypatch.setattr(mail_trigger, "_SECONDS", 0.05)

    def run(work, environ):
        async def scene():
            async with oneclaw_factory(["triggers"], environ=environ).opened() as claw:
                return await work(claw)

        return asyncio.run(scene())

    return run


class MailBox(socketserver.ThreadingTCPServer):
    """An IMAP server with one folder, as far as it is asked things here."""

    daemon_threads = True

    def __init__(self):
        self.mails = {1: b"From: old@example.org\r\nSubject: old\r\n\r\nold\r\n"}
        self.commands = []
        super().__init__(("127.0.0.1", 0), Dialogue)
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}).start()

    def close(self):
        self.shutdown()
        self.server_close()

    def found(self, criteria):
        first = int(re.search(r"UID (\d+):\*", criteria)[1])
        wanted = dict(re.findall(r'(FROM|SUBJECT) "([^"]*)"', criteria))
        found = []
        for uid, mail in self.mails.items():
            heads = dict(re.findall(r"(From|Subject): ([^\r]*)", mail.decode()))
            matches = all(value in heads[name.title()] for name, value in wanted.items())
            # As the standard has it: the last mail is in the range, whatever its first number.
            if matches and (uid >= first or uid == max(self.mails)):
                found.append(str(uid))
        return " ".join(found)


class Dialogue(socketserver.StreamRequestHandler):
    def handle(self):
        self.send("* OK [CAPABILITY IMAP4rev1] here")
        for line in self.rfile:
            tag, command = line.decode().strip().split(" ", 1)
            self.server.commands.append(command)
            word = command.upper()
            if word.startswith("CAPABILITY"):
                self.send("* CAPABILITY IMAP4rev1")
            elif word.startswith("EXAMINE"):
                self.send(f"* {len(self.server.mails)} EXISTS")
                self.send("* OK [UIDVALIDITY 7] valid")
            elif word.startswith("UID SEARCH"):
                self.send(f"* SEARCH {self.server.found(command)}")
            elif word.startswith("UID FETCH"):
                mail = self.server.mails[int(command.split()[2])]
                self.wfile.write(b"* 1 FETCH (BODY[]<0> {%d}\r\n%s)\r\n" % (len(mail), mail))
            elif word.startswith("LOGIN") and "right" not in command:
                self.send(f"{tag} NO wrong")
                continue
            if word == "LOGOUT":
                self.send("* BYE")
            self.send(f"{tag} OK done")
            if word == "LOGOUT":
                return

    def send(self, line):
        self.wfile.write(line.encode() + b"\r\n")


@pytest.fixture
def mail_box():
    server = MailBox()
    yield server
    server.close()


def settings_for(mail_box, password="right"):  # of a server of the test
    name = "ONECLAW_TRIGGERS_MAIL"
    place = f"127.0.0.1:{mail_box.server_address[1]}"
    return {f"{name}_SERVER": place, f"{name}_USER": "clara", f"{name}_PASSWORD": password}


def test_mail_that_comes_and_matches_is_reported_once(run, mail_box):
    async def work(claw):
        async with Following(claw, "mail_received", subject="Bill", **{"from": "shop"}) as fired:
            await until_stored(claw, "trigger mail")
            mail_box.mails[2] = b"From: friend@example.org\r\nSubject: Hello\r\n\r\nhello\r\n"
            mail_box.mails[3] = b"From: shop@example.org\r\nSubject: Bill 5\r\nDate: today\r\n\r\nPay 5 euros.\r\n"
            first = await fired.next()
        mail_box.mails[4] = b"From: shop@example.org\r\nSubject: Bill 6\r\n\r\nPay 6 euros.\r\n"
        async with Following(claw, "mail_received", subject="Bill", **{"from": "shop"}) as later:
            second = await later.next()
        return first, second, len(fired.events), len(later.events)

    first, second, *counts = run(work, environ=settings_for(mail_box))
    assert first == "a mail has come:\nFrom: shop@example.org\nSubject: Bill 5\nDate: today\n\nPay 5 euros."
    assert second.endswith("Pay 6 euros.")
    assert counts == [1, 1]
    assert 'EXAMINE "INBOX"' in mail_box.commands


DEEP = b"".join(b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n" % (each, each) for each in range(3_000))


@pytest.mark.long
@pytest.mark.parametrize(
    "content",
    some(
        [
            b"From: =?utf-8?q?=0A=0D?= <a@example.org>\r\n\r\nhi",
            b"From: " + b"(" * 20_000 + b"\r\n\r\nhi",
            b"Content-Type: message/rfc822\r\n\r\n" * 2_000,
            DEEP,
        ],
        2,
    ),
)
def test_a_mail_that_cannot_be_read_keeps_no_other_away(content):
    assert text_of(content).startswith("a mail has come that cannot be read")


@pytest.mark.parametrize(
    ("parameters", "password", "message"),
    [
        ({}, "other", "the mail server refuses it: wrong"),
        ({"subject": 'a"\r\nA1 LOGOUT'}, "right", "must be one line"),
        ({"subject": "Größe"}, "right", "use ASCII"),
    ],
)
def test_a_mailbox_that_cannot_be_read_is_explained(run, mail_box, parameters, password, message):
    async def work(claw):
        (trigger,) = [each for each in claw.services.triggers() if each.name == "mail_received"]
        context = await claw.plugins.context_of("triggers")
        async with Following(claw, "mail_received") as _:
            if password == "right":  # the same
                await until_stored(claw, "trigger mail")
        for key in await context.storage.list("trigger mail"):
            await context.storage.set(Seen(context, "mail", parameters).key, await context.storage.get(key))
        await trigger.run(parameters, Fired())

    with pytest.raises(UsageError, match=message):
        run(work, environ=settings_for(mail_box, password))


@pytest.mark.long
def test_settings_count_that_the_plugin_of_tasks_had(run, mail_box):
    given = {
        key.replace("_TRIGGERS_MAIL", "_SCHEDULED_TASKS_MAIL"): value for key, value in settings_for(mail_box).items()
    }
    given["ONECLAW_SCHEDULED_TASKS_MAIL_INBOX_SERVER"] = given.pop("ONECLAW_SCHEDULED_TASKS_MAIL_SERVER")

    async def work(claw):
        async with Following(claw, "mail_received"):
            await until_stored(claw, "trigger mail")

    run(work, environ=given)
    assert 'LOGIN clara "right"' in mail_box.commands


def test_a_server_that_is_not_reached_is_said(run, mail_box):
    environ = settings_for(mail_box)
    mail_box.close()

    async def work(claw):
        (trigger,) = [each for each in claw.services.triggers() if each.name == "mail_received"]
        await trigger.run({}, Fired())

    with pytest.raises(OneClawError, match="the mail server cannot be reached and is asked again later"):
        run(work, environ=environ)
