"""The body of a message as text or HTML, and as a part of the mail that answers or forwards it.

Mails lay out their text in tables, which are none to read; what no one sees is left out, since it is written for
programs: for filters, and for models.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from html import escape, unescape
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import counted, passage
from oneclaw_google_workspace.failures import GoogleError
from oneclaw_google_workspace.gmail.hidden_text import blank, blank_hidden, visible_text
from oneclaw_google_workspace.gmail.mime import (
    decoded,
    decoded_text,
    header,
    readable,
    shown_addresses,
    take_apart,
    without_filling,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lxml.html import HtmlElement

    from oneclaw_google_workspace.client import GoogleClient
    from oneclaw_google_workspace.gmail.mime import AttachedPart, Text


# The conversion of more may take seconds; of a longer mail the bare text is given.
MAX_CHARACTERS = 200_000
_MAX_BARE_CHARACTERS = 2_000_000
_TABLE_PARTS = ("table", "thead", "tbody", "tfoot", "tr", "td", "th", "caption", "center")
_BLOCKS = "p|div|ul|ol|h1|h2|h3|h4|h5|h6|blockquote|hr|table|center"
_UNSEEN = re.compile(r"(?is)<!--.*?(?:-->|$)|<(script|style|title)\b.*?(?:</\1\s*>|$)")
_XML_DECLARATION = re.compile(r"\A\s*<\?xml[^>]{0,200}>")
# Others hold texts that no one sees, such as those that appear under the mouse.
_SHOWN_ATTRIBUTES = frozenset((
    "href", "src", "alt", "colspan", "rowspan", "align", "valign", "width", "height", "dir", "lang", "type",
    "start", "style", "color", "bgcolor", "size", "border",
))  # fmt: skip
_NO_TEXT = "All of its text is hidden from readers, so it is left out."
_NOT_JUDGED = "Its HTML is too intricate to tell which text readers see; there may be hidden text in it."
_QUOTE_STYLE = "margin:0 0 0 .8ex;border-left:1px solid #ccc;padding-left:1ex"


@dataclass(frozen=True, slots=True)
class ShownText:
    """The visible content of an HTML mail.

    Attributes:
        text: Markdown or HTML.
        problem: what could not be read or judged, empty if nothing.
    """

    text: str
    problem: str = ""


def html_to_text(html: str) -> str:
    """Convert an HTML mail to Markdown; takes up to a second, so run it in a thread.

    Args:
        html: the mail's HTML part.
    """
    return shown_text(html).text


def shown_text(html: str) -> ShownText:
    """Convert an HTML mail to Markdown and say what is missing: see :func:`html_to_text`."""
    page = _parsed(html)
    if page is None:
        return ShownText("")
    import lxml.html

    had_text = bool(str(page.text_content()).strip())
    is_judged = blank_hidden(page)
    _lay_out(page)
    cleaned = lxml.html.tostring(page, encoding="unicode", with_tail=False)
    text = _converted(cleaned) if len(cleaned) <= MAX_CHARACTERS else _bare_text(cleaned)
    if not had_text and not text.strip():  # the parser leaves out what is nested hundreds deep
        text = _bare_text(_UNSEEN.sub("", html[:_MAX_BARE_CHARACTERS]))
        is_judged = not text.strip()
    lines = (line.rstrip() for line in without_filling(visible_text(text)).split("\n"))
    shown = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
    return ShownText(shown, _problem(shown, had_text=had_text, is_judged=is_judged))


def shown_html(html: str) -> ShownText:
    """Remove from an HTML mail what readers do not see, with style sheets and comments; run it in a thread.

    Args:
        html: the mail's HTML part.
    """
    page = _parsed(html)
    if page is None:
        return ShownText("")
    import lxml.html

    had_text = bool(str(page.text_content()).strip())
    is_judged = blank_hidden(page)
    for element in page.iter():
        for name, value in element.attrib.items():
            if name not in _SHOWN_ATTRIBUTES or (name == "style" and "/*" in value):
                del element.attrib[name]
    body = page.find("body")
    inside = page if body is None else body
    pieces = [escape(inside.text or "")]
    pieces += [lxml.html.tostring(each, encoding="unicode") for each in inside]
    shown = visible_text("".join(pieces).replace("<span></span>", "")).strip()
    has_text = bool(str(page.text_content()).strip())
    return ShownText(shown, _problem("x" if has_text else "", had_text=had_text, is_judged=is_judged))


def html_inside(html: str) -> str:
    """Take out of an HTML page what can stand inside another one: its style sheets and what is in its body.

    Args:
        html: the page, which is not cleaned: it goes to people, in whose programs it looks as it did.
    """
    page = _parsed(html)
    if page is None:
        return ""
    import lxml.html

    body = page.find("body")
    styles = [each for each in page.iter("style") if body is None or body not in each.iterancestors()]
    pieces = [lxml.html.tostring(each, encoding="unicode", with_tail=False) for each in styles]
    if body is not None:
        body.tag = "div"
        pieces.append(lxml.html.tostring(body, encoding="unicode", with_tail=False))
    return "".join(pieces)


def html_said(html: str) -> str:
    """Show in a question the text of an HTML mail, and how long it is with what no one sees; run it in a thread.

    Args:
        html: what is going to be sent.
    """
    return f"{passage(html_to_text(html))} (HTML of {counted(len(html), 'character')})"


def _parsed(html: str) -> HtmlElement | None:
    """Parse a page; ``None`` if there is nothing in it."""
    import lxml.etree
    import lxml.html

    html = _XML_DECLARATION.sub("", html.replace("\0", ""))[:_MAX_BARE_CHARACTERS]
    try:
        parser = lxml.html.HTMLParser(remove_comments=True, remove_pis=True)
        return lxml.html.document_fromstring(html, parser=parser)
    except (lxml.etree.ParserError, ValueError):
        return None


def _problem(shown: str, *, had_text: bool, is_judged: bool) -> str:
    if had_text and not shown.strip():
        return _NO_TEXT
    return "" if is_judged else _NOT_JUDGED


def _lay_out(page: HtmlElement) -> None:
    """Put images' texts in their place, and take layout for what it is."""
    for element in page.iter():
        for name in ("title", "style", "class", "hidden"):  # the conversion is to judge none of them again
            element.attrib.pop(name, None)
    for image in list(page.iter("img")):
        alternative = " ".join((image.get("alt") or "").split())[:200]
        blank(image)
        image.text = alternative or None
    for table in list(page.iter("table")):
        if _is_layout(table):
            table.tag = "div"
    for element in list(page.iter(*_TABLE_PARTS)):
        if element.tag != "table" and not _is_in_table(element):
            element.tag = "div"


def _is_layout(table: HtmlElement) -> bool:
    """Return True if a table is only for layout: it says so, holds more than words, or has one cell a row."""
    if table.get("role") in ("presentation", "none"):
        return True
    if next(table.iterdescendants("th"), None) is not None:
        return False
    if any(True for _ in table.iterdescendants(*_BLOCKS.split("|"))):
        return True
    return all(sum(1 for _ in row.iterchildren("td")) < 2 for row in table.iterdescendants("tr"))


def _is_in_table(element: HtmlElement) -> bool:
    """Return True if the nearest enclosing element outside a table's inside is a table."""
    parent = element.getparent()
    while parent is not None and parent.tag in _TABLE_PARTS and parent.tag != "table":
        parent = parent.getparent()
    return parent is not None and parent.tag == "table"


def _converted(html: str) -> str:
    from html_to_markdown import ConversionOptions, InlineDataMedia, convert

    options = ConversionOptions(compact_tables=True, inline_data_media=InlineDataMedia.ALT_TEXT_ONLY)
    return convert(html, options).content or ""


def _bare_text(html: str) -> str:
    lines = re.sub(rf"(?i)<(?:br|/?(?:{_BLOCKS}|tr|li))\b[^<>]*>", "\n", html)
    text = unescape(re.sub(r"<[^<>]*>", " ", lines))
    return re.sub(r"[ \t]*\n\s*", "\n", re.sub(r"[ \t]+", " ", text))


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
        raise GoogleError("execution_error", "Google's answer cannot be read: it is not base64.") from None
