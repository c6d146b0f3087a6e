"""The core tool ``http_request`` (FEAT-004, "Built-in Tools")."""

from __future__ import annotations

import codecs
import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from oneclaw_core.http import expands_boundedly
from oneclaw_core.http.faults import connection_fault
from oneclaw_core.tools.result import ToolResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import httpx

    from oneclaw_core.tools.context import ToolContext

MAX_BODY_BYTES = 100 * 1024
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD")
_METHODS_WITH_BODY = frozenset({"POST", "PUT", "PATCH", "DELETE"})
# The connection's own business: who may set them can smuggle one request inside another.
_OWN_HEADERS = re.compile(
    r"connection|content-length|expect|host|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade", re.IGNORECASE
)
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
# What tells a model how to go on; the rest is noise it would pay for.
_SHOWN_HEADERS = re.compile(
    r"content-(type|length|disposition|language|range)|accept-ranges|allow|date|etag|last-modified|link|location|"
    r"retry-after|set-cookie|www-authenticate|(x-)?ratelimit.*|x-total.*",
    re.IGNORECASE,
)
_MAX_SHOWN_HEADERS = 50
_MAX_HEADER_CHARACTERS = 1000
_TEXTUAL = re.compile(
    r"text/.*|application/(.*\+)?(json|xml|yaml)|application/(x-)?(javascript|ndjson|yaml|toml|sql|sh|"
    r"www-form-urlencoded|graphql)|.*\+(xml|json)"
)
# Slow or no character sets at all.
_REFUSED_CODECS = frozenset({"idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined"})


class _InvalidRequestError(Exception):
    """An argument is not acceptable; the message is for the model."""


async def http_request(
    url: str,
    method: str = "GET",
    headers: dict[str, Any] | None = None,
    body: str | None = None,
    *,
    context: ToolContext,
) -> ToolResult:
    """Make an HTTP request.

    Args:
        url: http or https.
        method: in any case.
        headers: names and values.
        body: sent with the methods that have one.
        context: of the call.

    Returns:
        The status line, the headers that matter, a blank line, and the body; whatever the status.

    Raises:
        PermissionDeniedError: the address is private, and the user does not allow it.
    """
    import httpx

    try:
        method = _checked_method(method)
        url = _checked_url(url)
        sent_headers = _checked_headers(headers or {})
    except _InvalidRequestError as fault:
        return ToolResult.error("validation_error", str(fault))
    content = body.encode("utf-8", "replace") if body is not None and method in _METHODS_WITH_BODY else None
    if content is not None and not any(name.lower() == b"content-type" for name, _ in sent_headers):
        sent_headers.append((b"Content-Type", _content_type(body or "")))
    if not any(name.lower() == b"accept-encoding" for name, _ in sent_headers):
        sent_headers.append((b"Accept-Encoding", b"gzip, deflate"))
    try:
        async with context.http.stream(method, url, headers=sent_headers, content=content) as response:
            return ToolResult.success(await _described(response))
    except (httpx.InvalidURL, UnicodeError):
        return ToolResult.error("execution_error", f"{_shown(url)} redirects to something that is no URL.")
    except httpx.HTTPError as error:
        return ToolResult.error("execution_error", _failure(error, url))


def _checked_method(method: str) -> str:
    upper = method.strip().upper()
    if upper not in _METHODS:
        raise _InvalidRequestError(f"method must be one of {', '.join(_METHODS)}, not {method[:50]!r}.")
    return upper


def _checked_url(url: str) -> str:
    import httpx

    url = url.strip()
    try:
        parsed = httpx.URL(url)
        host = parsed.host  # decoding it fails on malformed international names
    except (httpx.InvalidURL, UnicodeError):
        raise _InvalidRequestError(f"url is not valid: {_shown(url)!r}.") from None
    if parsed.scheme not in ("http", "https") or not host:
        raise _InvalidRequestError(f"url must begin with http:// or https:// and name a host, not {_shown(url)!r}.")
    return url


def _checked_headers(headers: Mapping[str, Any]) -> list[tuple[bytes, bytes]]:
    checked = []
    for name, value in headers.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if not _HEADER_NAME.fullmatch(name):
            raise _InvalidRequestError(f"{name[:50]!r} is not a header name.")
        if _OWN_HEADERS.fullmatch(name):
            raise _InvalidRequestError(f"the header {name} cannot be set: it follows from the URL and the body.")
        if _CONTROL.search(text):
            raise _InvalidRequestError(f"the value of the header {name} holds a line break or a control character.")
        checked.append((name.encode(), text.strip().encode("utf-8", "replace")))
    return checked


def _content_type(body: str) -> bytes:
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return b"text/plain; charset=utf-8"
    return b"application/json"


async def _described(response: httpx.Response) -> str:
    head = "\n".join([f"HTTP {response.status_code} {response.reason_phrase}".rstrip(), *_header_lines(response)])
    if not expands_boundedly(response.headers):
        encoding = response.headers.get("content-encoding", "")[:50]
        return f"{head}\n\n[body not shown: its compression {encoding!r} is not supported]"
    content = bytearray()
    async for piece in response.aiter_bytes():
        content += piece
        if len(content) > MAX_BODY_BYTES:
            break
    is_cut = len(content) > MAX_BODY_BYTES
    return f"{head}\n\n{_body_text(response, bytes(content[:MAX_BODY_BYTES]), is_cut)}"


def _header_lines(response: httpx.Response) -> Iterator[str]:
    if response.history:
        yield f"Final-URL: {_shown(str(response.url))}"
    shown = [(name, value) for name, value in response.headers.multi_items() if _SHOWN_HEADERS.fullmatch(name)]
    for name, value in shown[:_MAX_SHOWN_HEADERS]:
        yield f"{name.title()}: {value[:_MAX_HEADER_CHARACTERS]}"


def _body_text(response: httpx.Response, content: bytes, is_cut: bool) -> str:
    whole_size = _whole_size(response)
    text = _decoded(content, response.headers.get("content-type", ""), is_cut)
    if text is None:
        kind = response.headers.get("content-type", "").partition(";")[0].strip()[:100] or "of unknown type"
        size = f"{len(content):,} bytes" if not is_cut else whole_size or f"more than {MAX_BODY_BYTES:,} bytes"
        return f"[binary body not shown: {kind}, {size}]"
    if is_cut:
        text += f"\n[cut here: the first {MAX_BODY_BYTES:,} bytes of {whole_size or 'a longer body'} are shown]"
    return text


def _whole_size(response: httpx.Response) -> str | None:
    """The size that the server names; of a compressed body it is not the size of the text."""
    length = response.headers.get("content-length", "")
    is_plain = response.headers.get("content-encoding", "identity").lower() == "identity"
    return f"{int(length):,} bytes" if is_plain and length.isascii() and length.isdigit() and len(length) < 19 else None


def _decoded(content: bytes, content_type: str, is_cut: bool) -> str | None:
    """Read a body as text, or give ``None`` if it is none."""
    kind, _, parameters = content_type.lower().partition(";")
    charset = _charset(parameters)
    if charset is None and b"\x00" in content:
        return None
    try:
        text = content.decode(charset or "utf-8", "strict" if charset is None else "replace")
    except UnicodeError as fault:
        at_the_cut = is_cut and isinstance(fault, UnicodeDecodeError) and fault.start >= len(content) - 3
        if not at_the_cut and not _TEXTUAL.fullmatch(kind.strip()):
            return None
        text = content.decode("utf-8", "replace")
    return (text.rstrip("\ufffd") if is_cut else text).removeprefix("\ufeff")


def _charset(parameters: str) -> str | None:
    match = re.search(r"charset\s*=\s*[\"']?([a-z0-9_.:-]+)", parameters)
    try:
        name = codecs.lookup(match[1]).name if match else "utf-8"
        b"x".decode(name, "replace")  # refuses codecs that are no character sets
    except (LookupError, UnicodeError):
        return None
    return None if name in ("utf-8", "ascii") or name.replace("_", "-") in _REFUSED_CODECS else name


def _shown(url: str) -> str:
    """A URL for a message, without user name and password."""
    try:
        parts = urlsplit(url)
        url = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    except ValueError:
        url = url.rpartition("@")[2]
    return url if len(url) <= 200 else url[:199] + "…"


def _failure(error: httpx.HTTPError, url: str) -> str:
    import httpx

    try:
        where = _shown(str(error.request.url))
    except RuntimeError:  # the library did not say
        where = _shown(url)
    if isinstance(error, httpx.TooManyRedirects):
        return f"{where} redirects too often."
    if isinstance(error, httpx.UnsupportedProtocol):
        return f"{_shown(url)} leads to something that cannot be requested: {error}."
    return f"The request to {where} failed: {connection_fault(error).text}."
