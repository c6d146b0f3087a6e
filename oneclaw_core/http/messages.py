"""HTTP messages: check a request, read a response in little memory, and say in words what failed."""

from __future__ import annotations

import asyncio
import codecs
import errno
import json
import re
import socket
import ssl
import zlib
from dataclasses import dataclass
from enum import Enum, auto
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator

    import httpx


_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
_METHODS_WITH_BODY = frozenset({"POST", "PUT", "PATCH", "DELETE"})
# The connection's own business: who may set them can smuggle one request inside another.
_OWN_HEADERS = re.compile(
    r"connection|content-length|expect|host|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade", re.IGNORECASE
)
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_TEXTUAL = re.compile(
    r"text/.*|application/(.*\+)?(json|xml|yaml)|application/(x-)?(javascript|ndjson|yaml|toml|sql|sh|"
    r"www-form-urlencoded|graphql)|.*\+(xml|json)"
)
_MEDIA_TYPE = re.compile(r"[a-z]{1,20}/[a-z0-9][a-z0-9!#$&^_.+-]{0,90}")
_UTF_16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# Slow or no character sets at all.
_REFUSED_CODECS = frozenset({"idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined"})

FOLLOWED = "oneclaw.followed"
"""The extension of a request whose URL a server has redirected to."""

PIECE_BYTES = 64 * 1024
_TOO_MANY_FILES = (errno.EMFILE, errno.ENFILE)
_GZIP = zlib.MAX_WBITS | 16
_GZIP_BEGINNING = b"\x1f\x8b"


class InvalidRequestError(Exception):
    """An argument is not acceptable; the message is for the model."""


@dataclass(frozen=True, slots=True)
class OutgoingRequest:
    """A request that may be sent.

    Attributes:
        method: in upper case.
        url: http or https.
        headers: names and values.
        content: the body, ``None`` without one.
    """

    method: str
    url: str
    headers: list[tuple[bytes, bytes]]
    content: bytes | None


def outgoing_request(method: str, url: str, headers: Iterable[tuple[str, Any]], body: str | None) -> OutgoingRequest:
    """Make a request of what a model or a program has given.

    Args:
        method: in any case.
        url: http or https.
        headers: names and values, several in a list; a content type is added where there is a body.
        body: dropped where the method has none.

    Raises:
        InvalidRequestError: something of it is not acceptable.
    """
    method = _checked_method(method)
    url = _checked_url(url)
    sent_headers = [
        _checked_header(name, each)
        for name, value in headers
        for each in (value if isinstance(value, list) else [value])
    ]
    content = body.encode("utf-8", "replace") if body is not None and method in _METHODS_WITH_BODY else None
    names = {name.lower() for name, _ in sent_headers}
    if content is not None and b"content-type" not in names:
        sent_headers.append((b"Content-Type", _content_type_of(body or "")))
    if b"accept-encoding" not in names:
        sent_headers.append((b"Accept-Encoding", b"gzip, deflate"))
    return OutgoingRequest(method, url, sent_headers, content)


def _checked_method(method: str) -> str:
    upper = method.strip().upper()
    if upper not in _METHODS:
        raise InvalidRequestError(f"method must be one of {', '.join(_METHODS)}, not {method[:50]!r}.")
    return upper


def _checked_url(url: str) -> str:
    import httpx

    url = url.strip()
    try:
        parsed = httpx.URL(url)
        host = parsed.host  # decoding it fails on malformed international names
    except (httpx.InvalidURL, UnicodeError):
        raise InvalidRequestError(f"url is not valid: {shown_url(url)!r}.") from None
    if parsed.scheme not in ("http", "https") or not host:
        raise InvalidRequestError(f"url must begin with http:// or https:// and name a host, not {shown_url(url)!r}.")
    return url


def _checked_header(name: str, value: Any) -> tuple[bytes, bytes]:
    if not isinstance(value, str | int | float):
        raise InvalidRequestError(f"the value of the header {name[:50]!r} must be text or a number, or a list of them.")
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if not _HEADER_NAME.fullmatch(name):
        raise InvalidRequestError(f"{name[:50]!r} is not a header name.")
    if _OWN_HEADERS.fullmatch(name):
        raise InvalidRequestError(f"the header {name} cannot be set: it follows from the URL and the body.")
    if _CONTROL.search(text):
        raise InvalidRequestError(f"the value of the header {name} holds a line break or a control character.")
    return name.encode(), text.strip().encode("utf-8", "replace")


def _content_type_of(body: str) -> bytes:
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return b"text/plain; charset=utf-8"
    return b"application/json"


def decoded(content: bytes, content_type: str, is_cut: bool) -> str | None:
    """Read a body as text.

    Args:
        content: the body, or its beginning.
        content_type: as the server names it.
        is_cut: whether the body goes on.

    Returns:
        ``None`` if it is not a text.
    """
    kind, _, parameters = content_type.lower().partition(";")
    charset = _charset(parameters)
    if charset is None and content.startswith(_UTF_16_MARKS) and _TEXTUAL.fullmatch(kind.strip()):
        charset = "utf-16"
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


def status_text(code: int) -> str:
    """Write a status as ``HTTP 404 Not Found``; in the standard's words, for a server could say anything there.

    Args:
        code: as the server sent it.
    """
    try:
        return f"HTTP {code} {HTTPStatus(code).phrase}"
    except ValueError:
        return f"HTTP {code}"


def media_type(content_type: str) -> str:
    """The type alone, in lower case, of what a server calls it; empty if it is none, for it stands in messages.

    Args:
        content_type: the header.
    """
    kind = content_type.partition(";")[0].strip().lower()
    return kind if _MEDIA_TYPE.fullmatch(kind) else ""


def shown_url(url: str) -> str:
    """Write a URL for a message, without user name and password."""
    try:
        parts = urlsplit(url)
        url = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    except ValueError:
        url = url.rpartition("@")[2]
    return url if len(url) <= 200 else url[:199] + "…"


def failure_text(error: httpx.HTTPError, url: str) -> str:
    """Tell the model why a request got no response.

    Args:
        error: of the client.
        url: that was asked for; a redirect may have led elsewhere.
    """
    import httpx

    try:
        where = shown_url(str(error.request.url))
    except RuntimeError:  # the library did not say
        where = shown_url(url)
    if isinstance(error, httpx.TooManyRedirects):
        return f"{where} redirects too often."
    if isinstance(error, httpx.UnsupportedProtocol):
        return f"{shown_url(url)} leads to something that cannot be requested: {error}."
    return f"The request to {where} failed: {connection_fault(error).text}."


async def body_pieces(response: httpx.Response) -> AsyncIterator[bytes]:
    """Read a body, unpacked, in pieces of at most some 64 KB, as they come.

    The library's own way unpacks all that has arrived into one piece, which may have a thousand times its size.

    Args:
        response: streamed; one that ``expands_boundedly`` passes.

    Raises:
        httpx.HTTPError: the connection broke, or the body is not compressed as the response says.
    """
    import httpx

    encoding = response.headers.get("content-encoding", "").strip().lower()
    pieces = response.aiter_raw()
    if encoding == "deflate":  # by which some servers mean zlib's format, some the bare one
        beginning, pieces = await _begun(pieces)
        is_zlib = bool(beginning) and beginning[0] & 0x0F == zlib.DEFLATED and int.from_bytes(beginning[:2]) % 31 == 0
        pieces = _decompressed(pieces, zlib.MAX_WBITS if is_zlib else -zlib.MAX_WBITS)
    elif encoding in ("gzip", "x-gzip"):  # some gateways unpack a body and leave the header
        pieces = unpacked(pieces)
    try:
        async for piece in pieces:
            yield piece
    except httpx.DecodingError as error:
        error.request = response.request
        raise


async def unpacked(pieces: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Unpack a body that is compressed by gzip, whatever its headers say; pass on every other one.

    Raises:
        httpx.HTTPError: it is damaged.
    """
    beginning, pieces = await _begun(pieces)
    async for piece in _decompressed(pieces, _GZIP) if beginning.startswith(_GZIP_BEGINNING) else pieces:
        yield piece


async def _begun(pieces: AsyncIterator[bytes]) -> tuple[bytes, AsyncIterator[bytes]]:
    """Return the beginning of a body, two bytes at least where it is not shorter, and all of its pieces."""
    beginning = b""
    async for piece in pieces:
        beginning += piece
        if len(beginning) > 1:
            break

    async def whole() -> AsyncIterator[bytes]:
        yield beginning
        async for piece in pieces:
            yield piece

    return beginning, whole()


async def _decompressed(pieces: AsyncIterator[bytes], window_bits: int) -> AsyncIterator[bytes]:
    import httpx

    stream, data = zlib.decompressobj(window_bits), b""
    try:
        async for packed in pieces:
            data += packed
            while data:
                if stream.eof:
                    if len(data) == 1:
                        break  # perhaps the beginning of another member
                    if window_bits != _GZIP or not data.startswith(_GZIP_BEGINNING):
                        return  # padding
                    stream = zlib.decompressobj(_GZIP)
                piece = stream.decompress(data, PIECE_BYTES)
                data = stream.unused_data if stream.eof else stream.unconsumed_tail
                if piece:
                    yield piece
                    await asyncio.sleep(0)  # one packed piece may make a thousand of these
        yield stream.flush()  # what did not fit into the last piece, a few hundred bytes at most
    except zlib.error as error:
        raise httpx.DecodingError(str(error)) from error


class FaultKind(Enum):
    """The place where a request failed."""

    UNKNOWN_HOST = auto()
    REFUSED = auto()
    TLS = auto()
    CONNECT_TIMEOUT = auto()
    CONNECT = auto()
    TOO_MANY_FILES = auto()
    SILENT = auto()
    PROXY = auto()
    BROKEN_OFF = auto()
    UNREADABLE = auto()


@dataclass(frozen=True, slots=True)
class ConnectionFault:
    """A failed request: where it failed, and a few words for the user."""

    kind: FaultKind
    text: str


def connection_fault(error: BaseException) -> ConnectionFault:
    """Find out what is behind an error of the client library or of a socket.

    Args:
        error: any ``httpx.HTTPError``, ``OSError`` or error of the resolver.
    """
    import httpx

    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return ConnectionFault(FaultKind.TLS, f"the server's certificate is not valid: {cause.verify_message}")
        if isinstance(cause, ssl.SSLError):
            reason = (cause.reason or "the server may not speak TLS").replace("_", " ").lower()
            return ConnectionFault(FaultKind.TLS, f"no secure connection could be made: {reason}")
    if any(isinstance(cause, OSError) and cause.errno in _TOO_MANY_FILES for cause in causes):
        return ConnectionFault(FaultKind.TOO_MANY_FILES, "this process has no file descriptor left for a connection")
    if any(isinstance(cause, socket.gaierror | UnicodeError) for cause in causes):
        return ConnectionFault(FaultKind.UNKNOWN_HOST, "the host is not known, or the name service is out of reach")
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        return ConnectionFault(FaultKind.REFUSED, "the connection was refused")
    if isinstance(error, httpx.ProxyError):
        return ConnectionFault(FaultKind.PROXY, "the proxy did not make the connection")
    if isinstance(error, httpx.ConnectTimeout | httpx.PoolTimeout):
        return ConnectionFault(FaultKind.CONNECT_TIMEOUT, "connecting took too long")
    if isinstance(error, httpx.TimeoutException):
        return ConnectionFault(FaultKind.SILENT, "the server did not go on in time")
    if isinstance(error, httpx.ConnectError):
        reasons = [cause.strerror for cause in causes if isinstance(cause, OSError) and cause.strerror]
        return ConnectionFault(FaultKind.CONNECT, ": ".join(["no connection", *reasons[:1]]))
    if isinstance(error, httpx.NetworkError | httpx.RemoteProtocolError):
        return ConnectionFault(FaultKind.BROKEN_OFF, "the server closed the connection before its answer was complete")
    return ConnectionFault(FaultKind.UNREADABLE, "the server's answer cannot be read")


def _causes(error: BaseException) -> Iterator[BaseException]:
    waiting: list[BaseException | None] = [error]
    seen: set[int] = set()
    while waiting:
        each = waiting.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        waiting += [each.__cause__, each.__context__]
        if isinstance(each, BaseExceptionGroup):
            waiting += each.exceptions
