"""The core tool ``webfetch``: what a page on the web says."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from oneclaw_core import ToolResult
from oneclaw_core.http import body_pieces, expands_boundedly, failure_text, media_type, shown_url, status_text
from oneclaw_core.process import run_in_thread

if TYPE_CHECKING:
    import httpx

    from oneclaw_core import ToolContext

MAX_BODY_BYTES = 5 * 1024 * 1024
MAX_ERROR_CHARACTERS = 1_000
_HEADERS = {
    "Accept": "text/html,application/xhtml+xml,text/*;q=0.9,application/json;q=0.9,*/*;q=0.5",
    "Accept-Language": "en,*;q=0.5",
    "Accept-Encoding": "gzip, deflate",
}
_HTML_TYPES = ("text/html", "application/xhtml+xml")
_LITTLE_TEXT_CHARACTERS = 300
_HINTS = {
    "application/pdf": "It is a PDF. Save it with http_request, and read it with the tools for PDFs, if any.",
    "image/": "It is an image. Look at the page that shows it with browser.",
    "audio/": "It is a sound.",
    "video/": "It is a video.",
}
_TEXT_TYPES = (
    "application/json",
    "application/xml",
    "application/javascript",
    "application/x-yaml",
    "application/yaml",
)


async def webfetch(url: str, max_length: int = 50_000, *, context: ToolContext) -> ToolResult:
    """Fetch a page, and give its main content as Markdown; JSON and text are given as they are.

    Args:
        url: http or https.
        max_length: how many characters to give; none above 0 gives all.
        context: of the call.

    Returns:
        The content, marked as coming from outside.

    Raises:
        PermissionDeniedError: the address is private, and the user does not allow it.
    """
    import httpx

    url = url.strip()
    problem = _url_problem(url)
    if problem is not None:
        return ToolResult.error("invalid_url", problem)
    try:
        async with context.http.stream("GET", url, headers=_HEADERS) as response:
            content, is_cut = await _body(response)
            return await _described(response, content, is_cut, max_length, context)
    except httpx.TimeoutException as error:
        return ToolResult.error("timeout", failure_text(error, url))
    except (httpx.InvalidURL, UnicodeError):
        return ToolResult.error("invalid_url", f"{shown_url(url)} is, or redirects to, something that is not a URL.")
    except httpx.HTTPError as error:
        return ToolResult.error("network_error", failure_text(error, url))


def _url_problem(url: str) -> str | None:
    try:
        parts = urlsplit(url)
        is_web = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_web = False
    if not is_web or any(character <= " " for character in url):
        return f"{shown_url(url)!r} is no http:// or https:// URL."
    if parts.username is not None or parts.password is not None:
        return "The URL must hold no user or password."
    return None


async def _body(response: httpx.Response) -> tuple[bytes, bool]:
    """Read a body, up to a limit; what it unpacks to is what counts."""
    if not expands_boundedly(response.headers):
        return b"", True
    content = bytearray()
    async for piece in body_pieces(response):
        content += piece
        if len(content) > MAX_BODY_BYTES:
            break
    return bytes(content[:MAX_BODY_BYTES]), len(content) > MAX_BODY_BYTES


async def _described(
    response: httpx.Response, content: bytes, is_cut: bool, max_length: int, context: ToolContext
) -> ToolResult:
    from oneclaw_web.page_text import page_document

    content_type = response.headers.get("content-type", "")
    kind = content_type.partition(";")[0].strip().lower()
    where = shown_url(str(response.url))
    context.mark_page(str(response.url))
    if not response.is_success:
        _, text = ("", "") if _is_binary(kind, content) else await _read(response, kind, content, context)
        told = page_document(where, "", text[:MAX_ERROR_CHARACTERS], 0) if text.strip() else "The answer is empty."
        return ToolResult.error("http_error", f"{where} answered {status_text(response.status_code)}.\n{told}")
    if content.startswith(b"%PDF-"):
        kind = "application/pdf"
    hint = next((text for prefix, text in _HINTS.items() if kind.startswith(prefix)), None)
    if hint is None and _is_binary(kind, content):
        hint = f"It is of type {media_type(kind) or 'unknown'}, and no text. Save it with http_request."
    if hint is not None:
        return ToolResult.error("execution_error", f"{where} is not a page to read. {hint}")
    if not content.strip():
        if is_cut:
            return ToolResult.error("execution_error", f"{where} is compressed in a way that is not supported.")
        return ToolResult.error("empty_response", f"{where} answered with nothing.")
    title, text = await _read(response, kind, content, context)
    if not text:
        return ToolResult.error("empty_response", f"{where} holds no text: its scripts make it. Read it with browser.")
    room = context.shown_characters
    document = page_document(where, title, text, max_length, room=room, content_type=content_type)
    if len(text) < _LITTLE_TEXT_CHARACTERS and b"<script" in content:
        document += "\n[the page has scripts, which may make more of it: read it with browser]"
    if is_cut:
        document += f"\n[the page is longer than {MAX_BODY_BYTES // 1024 // 1024} MB; its end was not fetched]"
    return ToolResult.success(document)


async def _read(response: httpx.Response, kind: str, content: bytes, context: ToolContext) -> tuple[str, str]:
    """The title and the text of a body: HTML as Markdown, anything else as it is."""
    from oneclaw_web.page_text import decoded_page, html_to_markdown

    # Finding out the encoding where no one states it takes its time.
    text = await run_in_thread(partial(decoded_page, content, response.headers.get("content-type", "")))
    if kind in _HTML_TYPES or (not kind and text.lstrip()[:15].lower().startswith(("<!doctype html", "<html"))):
        return await html_to_markdown(text, str(response.url), context)
    return "", text


def _is_binary(kind: str, content: bytes) -> bool:
    if kind.startswith("text/") or kind in _TEXT_TYPES or kind.endswith(("+json", "+xml")) or kind in _HTML_TYPES:
        return False
    return b"\0" in content[:4096] and not content.startswith((b"\xff\xfe", b"\xfe\xff"))
