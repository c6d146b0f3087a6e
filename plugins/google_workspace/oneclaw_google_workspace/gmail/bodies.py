"""The body of a message as text, or as the HTML that was sent."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from oneclaw_google_workspace.gmail.hidden_text import visible_text
from oneclaw_google_workspace.gmail.html_text import shown_html, shown_text
from oneclaw_google_workspace.gmail.mail_parts import decoded, decoded_text
from oneclaw_google_workspace.problems import GoogleError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_google_workspace.client import GoogleClient
    from oneclaw_google_workspace.gmail.mail_parts import Text

_WORD = re.compile(r"[^\W_]+")
_LINK = re.compile(r"(?:https?://|mailto:|www\.)[^\s<>()\[\]]*", re.IGNORECASE)
# Numbers of lists and "View in a browser" are no reason to distrust a plain text.
_MOST_FOREIGN_WORDS = 12


@dataclass(frozen=True, slots=True)
class Body:
    """What a message says.

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
