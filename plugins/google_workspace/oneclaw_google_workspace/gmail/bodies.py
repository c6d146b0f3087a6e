"""The body of a message as text or HTML, and as a part of the mail that answers or forwards it."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.gmail.headers import header, readable, shown_addresses
from oneclaw_google_workspace.gmail.hidden_text import visible_text
from oneclaw_google_workspace.gmail.html_text import html_inside, shown_html, shown_text
from oneclaw_google_workspace.gmail.mail_parts import decoded, decoded_text, take_apart
from oneclaw_google_workspace.problems import GoogleError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from oneclaw_google_workspace.client import GoogleClient
    from oneclaw_google_workspace.gmail.mail_parts import AttachedPart, Text

_QUOTE_STYLE = "margin:0 0 0 .8ex;border-left:1px solid #ccc;padding-left:1ex"


@dataclass(frozen=True, slots=True)
class Original:
    """A mail that stands below an answer, or that is forwarded.

    Attributes:
        text: it and the lines above it, as plain text.
        html: the same as HTML; empty if the mail has none.
        problem: why a part of it is missing, empty if none is.
    """

    text: str
    html: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ForwardedFile:
    """A file of a mail that is forwarded; it is fetched when the user has agreed.

    Attributes:
        message_id: of the mail that it is attached to.
        part: where it is in that.
    """

    message_id: str
    part: AttachedPart

    @property
    def name(self) -> str:
        """The name that the recipient sees."""
        return self.part.filename

    @property
    def size(self) -> int:
        """The size in bytes."""
        return self.part.size


async def quoted_original(google: GoogleClient, message: Mapping[str, Any]) -> Original:
    """Quote a mail below an answer to it.

    Args:
        google: the client.
        message: with ``id`` and ``payload``.
    """
    payload = message.get("payload", {})
    date, sender = readable(header(payload, "Date")), shown_addresses(header(payload, "From"))
    head = f"On {date}, {sender} wrote:" if date else f"{sender} wrote:"
    text, html, problem = await _content(google, message)
    lines = "\n".join(f">{line}" if line.startswith(">") else f"> {line}".rstrip() for line in text.split("\n"))
    block = f'<blockquote class="gmail_quote" style="{_QUOTE_STYLE}">{html}</blockquote>' if html else ""
    quote = f'<div class="gmail_quote"><div dir="ltr">{escape(head)}<br></div>{block}</div>' if html else ""
    return Original(f"{head}\n{lines}", quote, problem)


async def forwarded_original(google: GoogleClient, message: Mapping[str, Any]) -> Original:
    """Write a mail as it is forwarded: whom it is from, when it was sent, and all that it says.

    Args:
        google: the client.
        message: with ``id`` and ``payload``.
    """
    payload = message.get("payload", {})
    named = {name: shown_addresses(header(payload, name)) for name in ("From", "To", "Cc")}
    named |= {name: readable(header(payload, name)) for name in ("Date", "Subject")}
    head = [f"{name}: {named[name]}" for name in ("From", "Date", "Subject", "To", "Cc") if named[name]]
    lines = ["---------- Forwarded message ---------", *head]
    text, html, problem = await _content(google, message)
    head_html = "<br>".join(map(escape, lines))
    block = f'<div class="gmail_quote"><div dir="ltr">{head_html}<br></div><br>{html}</div>' if html else ""
    return Original("\n".join([*lines, "", text]), block, problem)


def forwarded_files(message: Mapping[str, Any]) -> list[ForwardedFile]:
    """List what is attached to a mail; what is attached to a mail within it comes along with that one.

    Args:
        message: with ``id`` and ``payload``.
    """
    parts = take_apart(message.get("payload", {})).attachments
    within = tuple(f"{each.part_id}." for each in parts if each.media_type == "message/rfc822")
    return [ForwardedFile(str(message.get("id", "")), each) for each in parts if not each.part_id.startswith(within)]


async def _content(google: GoogleClient, message: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return the content of a mail as text, as HTML if it has some, and the parts that are missing."""
    payload, message_id = message.get("payload", {}), str(message.get("id", ""))
    body = await read_body(google, message_id, take_apart(payload).texts, as_html=False)
    pieces: list[str] = []
    texts = take_apart(payload, wants_html=True).texts
    if any(each.is_html for each in texts):
        for each in texts:
            if each.heading:
                pieces.append(_lines_of(each.heading))
                continue
            content = await content_of(google, message_id, each.data, each.attachment_id)
            written = decoded_text(content, each.charset)
            pieces.append(await asyncio.to_thread(html_inside, written) if each.is_html else _lines_of(written))
    return body.text, "<br>".join(pieces), body.problem


def _lines_of(text: str) -> str:
    return escape(text, quote=False).replace("\n", "<br>")


_WORD = re.compile(r"[^\W_]+")
_LINK = re.compile(r"(?:https?://|mailto:|www\.)[^\s<>()\[\]]*", re.IGNORECASE)
# Numbers of lists and "View in a browser" are no reason to distrust a plain text.
_MOST_FOREIGN_WORDS = 12


@dataclass(frozen=True, slots=True)
class Body:
    """The content of a message.

    Attributes:
        text: all of it.
        problem: why a part of it is missing, empty if none is.
    """

    text: str
    problem: str = ""


async def read_body(google: GoogleClient, message_id: str, texts: Iterable[Text], *, as_html: bool) -> Body:
    """Put a body together; long parts are stored apart and fetched.

    Args:
        google: the client.
        message_id: of the message.
        texts: its parts.
        as_html: whether the HTML is wanted, else it is converted.
    """
    pieces: list[str] = []
    problem = ""
    for text in texts:
        if text.heading:
            heading = visible_text(text.heading)
            pieces.append(f"<pre>{escape(heading)}</pre>" if as_html else heading)
            continue
        try:
            written = decoded_text(await content_of(google, message_id, text.data, text.attachment_id), text.charset)
        except GoogleError as error:
            problem = f"A part of the body is missing: {error}"
            continue
        if text.is_html:
            shown = await asyncio.to_thread(shown_html if as_html else shown_text, written)
            written, problem = shown.text, shown.problem or problem
        else:
            written = visible_text(written)
        if text.shown:
            seen = await read_body(google, message_id, text.shown, as_html=False)
            if not await asyncio.to_thread(_says_no_more, written, seen.text):
                written, problem = seen.text, seen.problem or problem
        if written.strip():
            pieces.append(written.strip())
    return Body("\n\n".join(pieces), problem)


def _says_no_more(plain: str, seen: str) -> bool:
    """Return True if a plain text says nothing, but for a few words, that its alternative does not show.

    Readers see the alternative, so what only the plain text says is hidden from them. Addresses of links do not count.
    """
    known = f" {' '.join(_words_of(seen))} "
    lines = (" ".join(_words_of(line)) for line in plain.split("\n"))
    foreign = [line.split(" ") for line in lines if line and f" {line} " not in known]
    return sum(map(len, foreign)) <= _MOST_FOREIGN_WORDS


def _words_of(text: str) -> list[str]:
    return _WORD.findall(_LINK.sub(" ", text).casefold())


async def content_of(google: GoogleClient, message_id: str, data: str | None, attachment_id: str | None) -> bytes:
    """Decode the content of a part, fetched if it did not come along.

    Args:
        google: the client.
        message_id: of the message.
        data: what came along.
        attachment_id: where the content is if nothing did.

    Raises:
        GoogleError: Google does not give the content.
    """
    if data is None and attachment_id is not None:
        answer = await google.call(
            "gmail.users.messages.attachments.get", messageId=message_id, id=attachment_id, fields="data"
        )
        data = answer.get("data")
    if data is None:
        raise GoogleError("not_found", "Gmail gives no content for this part of the message.")
    try:
        return await asyncio.to_thread(decoded, data)
    except ValueError:
        raise GoogleError("execution_error", "Google's answer cannot be read: it is no base64.") from None
