"""Find the URLs that stand in a text, so that following one can be told from composing one."""

from __future__ import annotations

import html
import re
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urljoin

if TYPE_CHECKING:
    from collections.abc import Iterator

# Of a page that consists of links.
MAX_LINKS = 20_000
_URL = re.compile(r"https?://[^\s<>\"'`{}|\\^]+", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""\b(?:href|src)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)
_MARKDOWN = re.compile(r"\]\(\s*<?([^\s<>()]+(?:\([^\s<>()]*\)[^\s<>()]*)*)")
_HOST = re.compile(
    r"(?<![\w@./:-])(?:[a-z0-9-]+\.)+[a-z]{2,24}(?![\w@])(?::\d+)?(?:/[^\s<>\"'`{}|\\^]*)?", re.IGNORECASE
)
_CLOSING = {")": "(", "]": "["}
_TRAILING = ".,;:!?*_~"


def links_of_page(text: str, url: str) -> set[str]:
    """Return the URLs in a page in their one form, its own included.

    Args:
        text: of the page, as HTML, Markdown or anything else.
        url: of the page, which relative links are resolved against.
    """
    found = {url, *_written_urls(text.replace("\\/", "/"))}
    for pattern in (_ATTRIBUTE, _MARKDOWN):
        for match in pattern.finditer(text):
            target = html.unescape(next(filter(None, match.groups()), ""))
            with suppress(ValueError):
                found.add(urljoin(url, target.strip()))
            if len(found) > MAX_LINKS:
                break
    return set(_in_one_form(found))


def links_of_user(text: str) -> set[str]:
    """Return the URLs in a text of the user in their one form; ``example.com`` is one as well."""
    found = set(_written_urls(text))
    for match in _HOST.finditer(text):
        for name in _without_ends(match[0]):
            found |= {f"http://{name}", f"https://{name}"}
    return set(_in_one_form(found))


def one_form(url: str) -> str | None:
    """Return a URL as it is requested, with its fragment; ``None`` if it is not a URL of the web."""
    import httpx

    try:
        parsed = httpx.URL(url)
        is_web = parsed.scheme in ("http", "https") and bool(parsed.raw_host)
    except (httpx.InvalidURL, UnicodeError, ValueError):
        return None
    return str(parsed) if is_web else None


def without_fragment(url: str) -> str:
    """Return a URL as a server is asked for it."""
    return url.partition("#")[0]


def _in_one_form(urls: set[str]) -> Iterator[str]:
    for url in urls:
        form = one_form(url)
        if form is not None:
            yield form
            yield without_fragment(form)


def _written_urls(text: str) -> Iterator[str]:
    for count, match in enumerate(_URL.finditer(text)):
        if count > MAX_LINKS:
            return
        for url in _without_ends(match[0]):
            yield url
            if "&" in url:
                yield html.unescape(url)


def _without_ends(url: str) -> Iterator[str]:
    """Return a URL without the characters behind it that end a sentence or a pair of brackets, and as it stands."""
    yield url
    for place, character in enumerate(url):
        opening = _CLOSING.get(character)
        if opening is not None and url.count(character, 0, place + 1) > url.count(opening, 0, place):
            url = url[:place]
            yield url
            break
    shorter = url.rstrip(_TRAILING)
    if shorter != url:
        yield shorter
