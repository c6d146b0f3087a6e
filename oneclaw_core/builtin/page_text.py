"""What a web page says, as Markdown (facts on ``webfetch``)."""

from __future__ import annotations

import asyncio
import codecs
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from oneclaw_core.tools.untrusted import untrusted

if TYPE_CHECKING:
    from lxml.html import HtmlElement

# What is on a page beside what it is about.
_NOISE_TAGS = (
    "script", "style", "nav", "header", "footer", "aside", "noscript", "svg", "iframe", "form", "button", "input",
    "select", "textarea", "template", "dialog", "object", "embed",
)  # fmt: skip
_NOISE_ROLES = frozenset({"navigation", "banner", "contentinfo", "complementary", "search", "dialog", "alertdialog"})
_NOISE_WORDS = re.compile(
    r"(^|[-_ ])(cookies?|consent|gdpr|popup|modal|advert(isement)?s?|ads?|sidebar|menu|navbar|nav|footer|copyright|"
    r"newsletter|breadcrumbs?|share|social)($|[-_ ])",
    re.IGNORECASE,
)
_META_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([a-zA-Z0-9_:.-]{2,40})", re.IGNORECASE)
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_META_BYTES = 4096
# On the web these names stand for Windows' supersets of what they name.
_WEB_CODECS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "shift_jis": "cp932",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
}


def decoded_page(content: bytes, content_type: str) -> str:
    """Decode a page: by its byte order mark, its header, what it says of itself, else by what its bytes look like.

    Args:
        content: the body.
        content_type: the header.
    """
    for bom, name in _BOMS:
        if content.startswith(bom):
            return content.decode(name, "replace")
    stated = re.search(r"charset\s*=\s*[\"']?([a-zA-Z0-9_:.-]{2,40})", content_type, re.IGNORECASE)
    found = _META_CHARSET.search(content[:_META_BYTES])
    names = ([stated[1]] if stated else []) + ([found[1].decode("ascii")] if found else [])
    for codec in filter(None, map(_text_codec, names)):
        return content.decode(codec, "replace")
    try:
        return content.decode()
    except UnicodeDecodeError:
        pass
    from charset_normalizer import from_bytes

    best = from_bytes(content[:200_000]).best()
    return content.decode(best.encoding if best is not None else "cp1252", "replace")


async def html_to_markdown(html: str, url: str) -> tuple[str, str]:
    """Convert the main content of a page to Markdown, outside the event loop.

    Args:
        html: the page.
        url: where it is, for links that name no host.

    Returns:
        The page's title, empty if it has none, and the Markdown.
    """
    return await asyncio.to_thread(markdown_of, html, url)


def markdown_of(html: str, url: str) -> tuple[str, str]:
    """Convert the main content of a page to Markdown: see :func:`html_to_markdown`.

    The parser leaves out what is nested more than some 250 deep, so neither it nor the conversion can run out of stack.
    """
    import lxml.etree
    import lxml.html
    from html_to_markdown import ConversionOptions, convert

    try:
        page = lxml.html.document_fromstring(html.replace("\0", ""))
    except (lxml.etree.ParserError, ValueError):  # nothing in it, or an XML declaration with an encoding
        return "", _bare_text(html)
    title = " ".join((page.findtext(".//title") or "").split())[:300]
    with suppress(ValueError):
        page.make_links_absolute(url, resolve_base_href=True, handle_failures="discard")
    main = _main_content(page)
    for element in list(main.iter()):
        if element is not main and _is_noise(element) and element.getparent() is not None:
            element.drop_tree()
    markdown = convert(lxml.html.tostring(main, encoding="unicode"), ConversionOptions()).content or ""
    text = re.sub(r"\n{3,}", "\n\n", markdown).strip() or _bare_text(html)
    is_titled = not title or re.search(r"^# ", text[:1000], re.MULTILINE) is not None or title in text[:200]
    return title, text if is_titled else f"# {title}\n\n{text}"


def shortened(text: str, max_length: int) -> str:
    """Cut a text at an empty line, if there is one in its second half, and say so.

    Args:
        text: of a page.
        max_length: in characters; none above 0 leaves it whole.
    """
    if max_length <= 0 or len(text) <= max_length:
        return text
    cut = text.rfind("\n\n", 0, max_length)
    kept = text[: cut if cut > max_length // 2 else max_length].rstrip()
    return f"{kept}\n\n[cut here: {len(kept):,} of {len(text):,} characters are shown; max_length shows more]"


def page_document(url: str, title: str, text: str, max_length: int) -> str:
    """Write down what a page says, marked as coming from outside.

    Args:
        url: where it is.
        title: of the page, may be empty.
        text: what it says.
        max_length: in characters; none above 0 leaves it whole.
    """
    named = f"{title!r} at {url}" if title else url
    return untrusted(shortened(text, max_length), f"the page {named}")


def _main_content(page: HtmlElement) -> HtmlElement:
    """The part that the page itself says it is about; a list of articles is one part."""
    for path in ("//main", "//*[@role='main']", "//article"):
        found: list[HtmlElement] = page.xpath(path)
        if len(found) == 1 and (found[0].text_content() or "").strip():
            return found[0]
    body = page.find(".//body")
    return body if body is not None else page


def _is_noise(element: Any) -> bool:
    if not isinstance(element.tag, str):  # a comment
        return True
    if element.tag in _NOISE_TAGS or element.get("role", "").lower() in _NOISE_ROLES:
        # A heading with the title often stands in a header of its own.
        return not (element.tag == "header" and element.xpath(".//h1"))
    if element.get("hidden") is not None or element.get("aria-hidden") == "true":
        return True
    words = f"{element.get('class', '')} {element.get('id', '')}"
    if element.tag in ("div", "section", "ul", "ol", "p", "span") and _NOISE_WORDS.search(words):
        return not element.xpath(".//main | .//article | .//h1")
    return False


def _bare_text(html: str) -> str:
    without = re.sub(r"(?is)<(script|style|template|svg)\b.*?(</\1\s*>|$)", " ", html[:1_000_000])
    text = re.sub(r"<[^<>]{0,10000}>", " ", without)
    return re.sub(r"[ \t]*\n\s*", "\n", re.sub(r"[ \t]+", " ", text)).strip()


def _text_codec(name: str) -> str | None:
    """The codec that browsers use under that name; ``None`` if there is none for text."""
    try:
        codec = codecs.lookup(name)
    except (LookupError, ValueError):
        return None
    if not codec._is_text_encoding:
        return None
    return _WEB_CODECS.get(codec.name, codec.name)
