"""The text of an HTML mail, as Markdown; pure, without any I/O.

Mails lay out their text in tables, which are none to read; what no one sees is left out, since it is written for
programs: for filters, and for models.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape, unescape
from typing import TYPE_CHECKING

from oneclaw_google_workspace.gmail.headers import without_filling
from oneclaw_google_workspace.gmail.hidden_text import blank, blank_hidden, visible_text
from oneclaw_google_workspace.wording import counted, passage

if TYPE_CHECKING:
    from lxml.html import HtmlElement

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
