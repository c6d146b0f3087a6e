"""Reading a mailbox by IMAP for mail that has come."""

from __future__ import annotations

import imaplib
import ssl
from email import message_from_bytes, policy
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from oneclaw_core import OneClawError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from email.message import EmailMessage

    from oneclaw_triggers.settings import MailboxSettings

_SECONDS = 20.0
_TLS_PORT = 993
_MOST_MAILS = 50
_MOST_BYTES = 256 * 1024
_SHOWN_CHARACTERS = 8_000


def new_mails(
    settings: MailboxSettings, parameters: Mapping[str, str], seen: Any
) -> tuple[list[tuple[str, str]], list[int]]:
    """Read the mail that has come since the last time; the first time, only note what is there.

    Args:
        settings: of the plugin.
        parameters: ``from``, ``subject`` and ``folder``.
        seen: what this has returned the last time, ``None`` the first time.

    Returns:
        What identifies each mail, and its text; and what has been seen by now.

    Raises:
        UsageError: the mailbox is not set up, or the server refuses something.
        OneClawError: the server was not reached.
    """
    if not settings.mail_server:
        raise UsageError("the mailbox is not set up: oneclaw config set triggers.mail_server")
    try:
        with _connected(settings.mail_server) as server:
            server.login(settings.mail_user, settings.mail_password.get_secret_value())
            status, answer = server.select(_quoted(parameters.get("folder") or "INBOX"), readonly=True)
            if status != "OK":
                raise UsageError(f"the mail server has no such folder: {answer[0]!r}")
            validity = int(server.response("UIDVALIDITY")[1][0] or 0)
            return _read(server, parameters, validity, seen)
    except (OSError, imaplib.IMAP4.abort) as error:
        raise OneClawError(f"the mail server cannot be reached and is asked again later: {error}") from error
    except imaplib.IMAP4.error as error:
        said = error.args[0] if error.args else ""
        text = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
        raise UsageError(f"the mail server refuses it: {text[:200]}") from error


def _read(
    server: imaplib.IMAP4, parameters: Mapping[str, str], validity: int, seen: Any
) -> tuple[list[tuple[str, str]], list[int]]:
    is_first = not isinstance(seen, list) or seen[0] != validity
    last = 0 if is_first else int(seen[1])
    criteria = ["UID", f"{last + 1}:*"]
    if not is_first:
        for name in ("from", "subject"):
            if parameters.get(name):
                criteria += [name.upper(), _quoted(parameters[name])]
    _, answer = server.uid("SEARCH", *criteria)
    # "9:*" is the last mail where there is none from 9 on.
    found = sorted(uid for uid in map(int, (answer[0] or b"").split()) if uid > last)
    if is_first:
        return [], [validity, max(found, default=0)]
    found = found[:_MOST_MAILS]
    mails = []
    for uid in found:
        _, parts = server.uid("FETCH", str(uid), f"(BODY.PEEK[]<0.{_MOST_BYTES}>)")
        content = next((each[1] for each in parts if isinstance(each, tuple)), b"")
        mails.append((f"{validity} {uid}", text_of(content)))
    return mails, [validity, max(found, default=last)]


def text_of(content: bytes) -> str:
    """Return the text of a mail, as far as it can be read; no mail keeps others from being read.

    Args:
        content: the mail, or its beginning.
    """
    try:
        return _text_of(message_from_bytes(content, policy=policy.default))
    except Exception as error:  # noqa: BLE001  # the library fails in many ways at what no program of mail writes
        return f"a mail has come that cannot be read ({type(error).__name__})"


def _text_of(mail: EmailMessage) -> str:
    body = mail.get_body(("plain", "html"))
    try:
        text = str(body.get_content()) if body is not None else ""
    except (LookupError, ValueError):
        text = ""
    head = "\n".join(f"{name}: {mail.get(name, '')}" for name in ("From", "Subject", "Date"))
    return f"a mail has come:\n{head}\n\n{text.strip()[:_SHOWN_CHARACTERS]}"


def _connected(place: str) -> imaplib.IMAP4:
    try:
        parts = urlsplit(f"//{place}")
        host, port = parts.hostname or "", parts.port or _TLS_PORT
    except ValueError:
        raise UsageError(f"triggers.mail_server must be HOST or HOST:PORT, not {place[:100]!r}") from None
    context = ssl.create_default_context()
    if port == _TLS_PORT:
        return imaplib.IMAP4_SSL(host, port, timeout=_SECONDS, ssl_context=context)
    server = imaplib.IMAP4(host, port, timeout=_SECONDS)
    if not _is_local(host):
        server.starttls(context)
    return server


def _is_local(host: str) -> bool:
    """Return True for this machine, where no one listens in between."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _quoted(text: str) -> str:
    """Quote a text for a command; a line break would begin another command."""
    if not text.isprintable():
        raise UsageError("parameters of mail must be one line of text")
    if not text.isascii():
        raise UsageError(f"the mail server cannot search for {text[:50]!r}: use ASCII")
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
