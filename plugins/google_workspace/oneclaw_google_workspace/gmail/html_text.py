"""The text of an HTML mail, as Markdown; pure, without any I/O.

Mails lay out their text in tables, which are none to read; what no one sees is left out, since it is written for
programs: for filters, and for models.
"""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING

from oneclaw_google_workspace.gmail.headers import without_filling
from oneclaw_google_workspace.wording import counted, passage

if TYPE_CHECKING:
    from lxml.html import HtmlElement

# The conversion of more may take seconds; of a longer mail the bare text is given.
MAX_CHARACTERS = 200_000
_MAX_BARE_CHARACTERS = 2_000_000
_SILENT_TAGS = ("script", "style", "title", "template", "svg", "iframe", "object", "embed", "noscript", "head")
_HIDDEN = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|opacity\s*:\s*0(?:\.0*)?\s*(?:;|$|!)"
    r"|max-height\s*:\s*0[a-z%]*\s*(?:;|$|!)",
    re.IGNORECASE,
)
# Layouts set it around parts that set another one.
_TINY = re.compile(r"font-size\s*:\s*[01](?:\.\d*)?(?:px|pt)?\s*(?:;|$|!)", re.IGNORECASE)
_TABLE_PARTS = ("table", "thead", "tbody", "tfoot", "tr", "td", "th", "caption", "center")
_BLOCKS = "p|div|ul|ol|h1|h2|h3|h4|h5|h6|blockquote|hr|table|center"
_UNSEEN = re.compile(r"(?is)<!--.*?(?:-->|$)|<(script|style|title)\b.*?(?:</\1\s*>|$)")
_XML_DECLARATION = re.compile(r"\A\s*<\?xml[^>]{0,200}>")


def html_to_text(html: str) -> str:
    """Convert an HTML mail to Markdown; takes up to a second, so run it in a thread.

    Args:
        html: the mail's HTML part.
    """
    import lxml.etree
    import lxml.html

    html = _XML_DECLARATION.sub("", html.replace("\0", ""))[:_MAX_BARE_CHARACTERS]
    try:
        parser = lxml.html.HTMLParser(remove_comments=True, remove_pis=True)
        page = lxml.html.document_fromstring(html, parser=parser)
    except (lxml.etree.ParserError, ValueError):  # nothing in it
        return ""
    _clean(page)
    cleaned = lxml.html.tostring(page, encoding="unicode", with_tail=False)
    text = _converted(cleaned) if len(cleaned) <= MAX_CHARACTERS else _bare_text(cleaned)
    if not text.strip():  # the parser leaves out what is nested hundreds deep
        text = _bare_text(_UNSEEN.sub("", html))
    lines = (line.rstrip() for line in without_filling(text).split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def html_said(html: str) -> str:
    """Show in a question the text of an HTML mail, and how long it is with what no one sees; run it in a thread.

    Args:
        html: what is going to be sent.
    """
    return f"{passage(html_to_text(html))} (HTML of {counted(len(html), 'character')})"


def _clean(page: HtmlElement) -> None:
    """Take away what is not shown, put images' texts in their place, and take layout for what it is."""
    for element in list(page.iter()):
        if element.tag in _SILENT_TAGS or element.get("hidden") is not None or _is_hidden(element):
            _blank(element)
        elif element.tag == "img":
            alternative = " ".join((element.get("alt") or "").split())[:200]
            _blank(element)
            element.text = alternative or None
    for table in list(page.iter("table")):
        if _is_layout(table):
            table.tag = "div"
    for element in list(page.iter(*_TABLE_PARTS)):
        if element.tag != "table" and not _is_in_table(element):
            element.tag = "div"


def _is_hidden(element: HtmlElement) -> bool:
    style = (element.get("style") or "")[:2_000]
    return _HIDDEN.search(style) is not None or (len(element) == 0 and _TINY.search(style) is not None)


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


def _blank(element: HtmlElement) -> None:
    """Empty an element in its place; taking it out would join the texts around it, each time copying them."""
    element.clear(keep_tail=True)
    element.tag = "span"
