"""The send-only channel ``mail``: a message to an address, by the user's mail server."""

from __future__ import annotations

import asyncio
import smtplib
import ssl
from contextlib import suppress
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from oneclaw_core import OneClawError, UsageError
from oneclaw_core.channels import UndeliverableError
from oneclaw_core.plugins import Channel
from oneclaw_core.tools import printable

if TYPE_CHECKING:
    from oneclaw_core import PluginContext
    from oneclaw_core.plugins import OutMessage
    from oneclaw_notify.settings import MailSettings

_SECONDS = 20.0
_SUBJECT_CHARACTERS = 100
_TLS_PORT = 465
_USUAL_PORT = 587


class MailChannel(Channel):
    """Sends mail.

    Args:
        settings: of the plugin.
    """

    def __init__(self, settings: MailSettings) -> None:
        self._settings = settings

    async def send(self, message: OutMessage) -> None:
        """See ``Channel``."""
        await asyncio.to_thread(self._send, message)

    def _send(self, message: OutMessage) -> None:
        mail = self._mail(message)
        try:
            server = _connected(self._settings.mail_server)
            try:
                if self._settings.mail_user:
                    server.login(self._settings.mail_user, self._settings.mail_password.get_secret_value())
                server.send_message(mail)
                # What it says to this changes nothing: it has taken the mail.
                with suppress(smtplib.SMTPException):
                    server.quit()
            finally:
                server.close()
        except (smtplib.SMTPRecipientsRefused, smtplib.SMTPSenderRefused) as error:
            raise UndeliverableError("the mail server refuses the address") from error
        except smtplib.SMTPAuthenticationError as error:
            raise UndeliverableError(
                "the mail server refuses the user or the password: oneclaw keys set notify.mail_password"
            ) from error
        except (smtplib.SMTPException, OSError) as error:
            raise OneClawError(f"the mail server did not take it ({type(error).__name__})") from error

    def _mail(self, message: OutMessage) -> EmailMessage:
        first = message.title or message.text.strip().partition("\n")[0]
        mail = EmailMessage()
        try:
            mail["From"] = self._settings.mail_address
            mail["To"] = message.to or self._settings.mail_address
        except (ValueError, IndexError) as error:
            raise UndeliverableError(f"{message.to[:100]!r} is not a mail address") from error
        mail["Subject"] = "".join(each for each in first if each.isprintable())[:_SUBJECT_CHARACTERS]
        mail["Date"] = formatdate()
        mail["Message-ID"] = make_msgid(domain=self._settings.mail_address.rpartition("@")[2] or None)
        # Tells other programs not to answer by themselves.
        mail["Auto-Submitted"] = "auto-generated"
        mail.set_content(printable(message.text))
        for each in message.attachments:
            kind, _, part = each.media_type.partition("/")
            mail.add_attachment(each.data, maintype=kind, subtype=part or "octet-stream", filename=each.name)
        return mail


def make_channel(context: PluginContext) -> MailChannel:
    """Make the channel.

    Raises:
        UsageError: it is not set up.
    """
    for name in ("mail_server", "mail_address"):
        if not getattr(context.settings, name):
            raise UsageError(f"mail is not set up: oneclaw config set {context.name}.{name}")
    return MailChannel(context.settings)


def _connected(place: str) -> smtplib.SMTP:
    try:
        parts = urlsplit(f"//{place}")
        host, port = parts.hostname or "", parts.port or _USUAL_PORT
    except ValueError:
        raise UndeliverableError(f"notify.mail_server must be HOST or HOST:PORT, not {place[:100]!r}") from None
    if port == _TLS_PORT:
        return smtplib.SMTP_SSL(host, port, timeout=_SECONDS, context=ssl.create_default_context())
    server = smtplib.SMTP(host, port, timeout=_SECONDS)
    try:
        if not _is_local(host):
            server.starttls(context=ssl.create_default_context())
    except BaseException:
        server.close()
        raise
    return server


def _is_local(host: str) -> bool:
    """Return True for this machine, where no one listens in between."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
