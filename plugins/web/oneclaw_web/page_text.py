"""The content of a web page as Markdown (facts on ``webfetch``)."""

from __future__ import annotations

import asyncio
import codecs
import re
from contextlib import suppress
from functools import partial
from html import unescape
from typing import TYPE_CHECKING

from oneclaw_core import ToolResult, untrusted
from oneclaw_core.process import WorkerError, call_in_process, run_in_thread
from oneclaw_core.tools import FunctionTarget, clean_text
from oneclaw_web.page_noise import main_content

if TYPE_CHECKING:
    from oneclaw_core import ToolContext

# Whatever such a page holds, it takes half a second at most, and holds up the event loop for less.
MAX_CHARACTERS_IN_THREAD = 200_000
MAX_SECONDS = 12
MAX_WORKER_BYTES = 2 * 1024 * 1024 * 1024
MAX_MARKDOWN_CHARACTERS = 5 * 1024 * 1024
# Room in what a model is shown for the marks and notes around a page.
_FRAME_CHARACTERS = 1_000
_MAX_BARE_CHARACTERS = 1_000_000
_LEAST_CHARACTERS = 500
_XML_DECLARATION = re.compile(r"\A\s*<\?xml[^>]{0,200}>")
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


async def html_to_markdown(html: str, url: str, context: ToolContext) -> tuple[str, str]:
    """Convert the main content of a page to Markdown, beside the event loop and in bounded time.

    A long page is converted in a separate process, since no thread can be stopped; of one that takes too long, or
    too much memory, the bare text is given.

    Args:
        html: the page.
        url: where it is, for links that name no host.
        context: of the call.

    Returns:
        The page's title, empty if it has none, and the Markdown, of at most ``MAX_MARKDOWN_CHARACTERS``.
    """
    html = clean_text(html)
    if len(html) <= MAX_CHARACTERS_IN_THREAD:
        return await run_in_thread(partial(markdown_of, html, url))
    target = FunctionTarget(__name__, convert_in_worker.__name__, "converting a page")
    try:
        async with asyncio.timeout(MAX_SECONDS):
            result = await call_in_process(target, {"html": html, "url": url}, context, is_converted=True)
        if result.is_success:
            title, text = result.result
            return title, text
        context.logger.warning("%s cannot be converted: %s", url, result.error_message)
    except (TimeoutError, WorkerError) as error:
        context.logger.warning("%s cannot be converted: %s", url, str(error) or f"it took more than {MAX_SECONDS} s")
    return "", await run_in_thread(partial(_bare_text, html))


def convert_in_worker(html: str, url: str) -> ToolResult:
    """Convert a page in a process that may use as much memory as a long page needs: see :func:`markdown_of`."""
    import resource

    with suppress(ValueError, OSError):  # a lower limit is set already, or the system knows none
        resource.setrlimit(resource.RLIMIT_AS, (MAX_WORKER_BYTES, MAX_WORKER_BYTES))
    return ToolResult.success(list(markdown_of(html, url)))


def markdown_of(html: str, url: str) -> tuple[str, str]:
    """Convert the main content of a page to Markdown: see :func:`html_to_markdown`.

    The parser leaves out what is nested more than some 250 deep, so neither it nor the conversion can run out of stack.
    """
    import lxml.etree
    import lxml.html
    from html_to_markdown import ConversionOptions, InlineDataMedia, convert

    try:
        page = lxml.html.document_fromstring(_XML_DECLARATION.sub("", html.replace("\0", "")))
    except (lxml.etree.ParserError, ValueError):  # nothing in it
        return "", _bare_text(html)
    title = " ".join((page.findtext(".//title") or "").split())[:300]
    with suppress(ValueError):
        page.make_links_absolute(url, resolve_base_href=True, handle_failures="discard")
    main = main_content(page)
    options = ConversionOptions(compact_tables=True, inline_data_media=InlineDataMedia.ALT_TEXT_ONLY)
    markdown = convert(lxml.html.tostring(main, encoding="unicode", with_tail=False), options).content or ""
    text = re.sub(r"\n{3,}", "\n\n", markdown[:MAX_MARKDOWN_CHARACTERS]).strip() or _bare_text(html)
    is_titled = not title or re.search(r"^# ", text[:1000], re.MULTILINE) is not None or title in text[:200]
    return title, text if is_titled else f"# {title}\n\n{text}"


def shortened(text: str, max_length: int) -> str:
    """Cut a text at an empty line, if there is one in its second half.

    Args:
        text: of a page.
        max_length: in characters; none above 0 leaves it whole.
    """
    if max_length <= 0 or len(text) <= max_length:
        return text
    cut = text.rfind("\n\n", 0, max_length)
    return text[: cut if cut > max_length // 2 else max_length].rstrip()


def page_document(
    url: str, title: str, text: str, max_length: int, *, room: int | None = None, content_type: str = ""
) -> str:
    """Write down what a page says, marked as coming from outside; the page has written its title, too.

    Args:
        url: where it is.
        title: of the page, may be empty.
        text: what it says.
        max_length: in characters; none above 0 leaves it whole.
        room: how many characters of the document are going to be shown, ``None`` for all.
        content_type: as the server names it, may be empty.
    """
    limits = [each for each in (max_length, room and max(room - _FRAME_CHARACTERS, _LEAST_CHARACTERS)) if each]
    limit = min((each for each in limits if each > 0), default=0)
    kept = shortened(text, limit)
    is_named = not title or kept.startswith(f"# {title}\n")
    head = [] if is_named else [f"Title: {title[:300]}"]
    head += [f"Content-Type: {content_type[:100]}"] if content_type else []
    document = untrusted("\n".join([*head, "", kept] if head else [kept]), f"the page {url}")
    if len(kept) == len(text):
        return document
    more = (
        "max_length shows more" if limit == max_length else "http_request saves the page in a file, to be read in parts"
    )
    return f"{document}\n[cut here: {len(kept):,} of {len(text):,} characters are shown; {more}]"


def _bare_text(html: str) -> str:
    without = re.sub(r"(?is)<(script|style|template|svg)\b.*?(</\1\s*>|$)", " ", html[:_MAX_BARE_CHARACTERS])
    text = unescape(re.sub(r"<[^<>]*>", " ", without))
    text = re.sub(r"[ \t]*\n\s*", "\n", re.sub(r"[ \t]+", " ", text)).strip()
    is_cut = bool(text) and len(html) > _MAX_BARE_CHARACTERS
    return f"{text}\n\n[this is the text of the page's first {_MAX_BARE_CHARACTERS:,} characters]" if is_cut else text


def _text_codec(name: str) -> str | None:
    """The codec that browsers use under that name; ``None`` if there is none for text."""
    try:
        codec = codecs.lookup(name)
    except (LookupError, ValueError):
        return None
    if not codec._is_text_encoding:
        return None
    return _WEB_CODECS.get(codec.name, codec.name)
