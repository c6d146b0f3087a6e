"""The body of a message as text, or as the HTML that was sent."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from oneclaw_google_workspace.gmail.html_text import html_to_text
from oneclaw_google_workspace.gmail.mail_parts import decoded, decoded_text
from oneclaw_google_workspace.problems import GoogleError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_google_workspace.client import GoogleClient
    from oneclaw_google_workspace.gmail.mail_parts import Text


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
            pieces.append(f"<pre>{escape(text.heading)}</pre>" if as_html else text.heading)
            continue
        try:
            written = decoded_text(await content_of(google, message_id, text.data, text.attachment_id), text.charset)
        except GoogleError as error:
            problem = f"A part of the body is missing: {error}"
            continue
        if text.is_html and not as_html:
            written = await asyncio.to_thread(html_to_text, written)
        if written.strip():
            pieces.append(written.strip())
    return Body("\n\n".join(pieces), problem)


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
