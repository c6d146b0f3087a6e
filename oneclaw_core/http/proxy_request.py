"""Parse the head of a request to a forward proxy (RFC 9112); refuse what two readers could read differently."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

MAX_HEADERS = 200
WEB_PORTS = (80, 443)
_REQUEST_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}) ([\x21-\x7e]+) HTTP/1\.([01])")
_TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
# A name or an IPv4 address, or an IPv6 address without a zone.
_HOST = re.compile(r"[a-z0-9_][a-z0-9._-]{0,252}|[0-9a-f:.]{2,45}")
_LENGTH = re.compile(rb"[0-9]{1,18}")
_HOP_HEADERS = frozenset({b"connection", b"keep-alive", b"te", b"trailer", b"upgrade", b"host"})


@dataclass(frozen=True, slots=True)
class ProxyRequest:
    """A request to a proxy.

    Attributes:
        host: a name in lower case without a dot at its end, or an address; of an IPv6 address without brackets.
        port: from 1 to 65535.
        is_tunnel: True for ``CONNECT``.
        headers: names in lower case, and values.
        forwarded: the head for the server; empty for a tunnel.
    """

    host: str
    port: int
    is_tunnel: bool
    headers: tuple[tuple[bytes, bytes], ...]
    forwarded: bytes

    @property
    def destination(self) -> str:
        """The host, with its port unless that is 80 or 443, such as ``example.com:8080``; as in a URL."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port in WEB_PORTS else f"{host}:{self.port}"

    def values(self, name: bytes) -> list[bytes]:
        """Return the values of a header."""
        return [value for each, value in self.headers if each == name]


def parse_proxy_request(head: bytes) -> ProxyRequest:
    """Parse a request without its body.

    Args:
        head: up to and including the empty line.

    Raises:
        ValueError: it is no valid request to a proxy; the message says why, in a few words.
    """
    lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    request_line = _REQUEST_LINE.fullmatch(lines[0])
    if request_line is None:
        raise ValueError("the request line is not valid")
    if len(lines) > MAX_HEADERS + 1:
        raise ValueError("the request has too many headers")
    headers = tuple(_header(line) for line in lines[1:])
    method, target, minor_version = request_line.groups()
    if method == b"CONNECT":
        host, port = _authority(target.decode("ascii"), 443)
        return ProxyRequest(host, port, True, headers, b"")
    host, port, path = _absolute(target.decode("ascii"))
    _check_length(headers, has_chunks=minor_version == b"1")
    # The host that was checked is the host that is asked for, whatever the client's own header says.
    shown_host = f"[{host}]" if ":" in host else host
    authority = shown_host if port == 80 else f"{shown_host}:{port}"
    lines = [method + b" " + path.encode("ascii") + b" HTTP/1.1", b"Host: " + authority.encode("ascii")]
    lines += [name + b": " + value for name, value in _end_to_end(headers)]
    return ProxyRequest(host, port, False, headers, b"\r\n".join([*lines, b"", b""]))


def _header(line: bytes) -> tuple[bytes, bytes]:
    name, colon, value = line.partition(b":")
    if not colon or _TOKEN.fullmatch(name) is None or _CONTROL.search(value):
        raise ValueError("a header is not valid")
    return name.lower(), value.strip(b" \t")


def _absolute(target: str) -> tuple[str, int, str]:
    try:
        parts = urlsplit(target)
    except ValueError as fault:
        raise ValueError("the request names no valid URL") from fault
    if parts.scheme == "https":
        raise ValueError("https goes through a proxy by CONNECT")
    if parts.scheme not in ("http", "ws"):
        raise ValueError("the request names no http URL")
    host, port = _authority(parts.netloc, 80)
    return host, port, (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _authority(authority: str, default_port: int) -> tuple[str, int]:
    if "@" in authority:
        raise ValueError("the request names a user")
    try:
        parts = urlsplit(f"//{authority}")
        host, port = parts.hostname or "", parts.port
    except ValueError as fault:
        raise ValueError("the request names no valid host and port") from fault
    if parts.path or parts.query or parts.fragment or _HOST.fullmatch(host) is None or port == 0:
        raise ValueError("the request names no valid host and port")
    return host.rstrip("."), port or default_port


def _check_length(headers: tuple[tuple[bytes, bytes], ...], *, has_chunks: bool) -> None:
    lengths = [value for name, value in headers if name == b"content-length"]
    encodings = [value.lower() for name, value in headers if name == b"transfer-encoding"]
    if len(lengths) > 1 or (lengths and encodings):
        raise ValueError("the request has more than one length")
    if lengths and _LENGTH.fullmatch(lengths[0]) is None:
        raise ValueError("the request's length is not valid")
    if encodings and (encodings != [b"chunked"] or not has_chunks):
        raise ValueError("the request's transfer encoding is not supported")


def _end_to_end(headers: tuple[tuple[bytes, bytes], ...]) -> list[tuple[bytes, bytes]]:
    """Leave out what is meant for the proxy, and have the server close the connection: it carries one request."""
    named = {each.strip().lower() for name, value in headers if name == b"connection" for each in value.split(b",")}
    named -= {b"content-length", b"transfer-encoding"}
    kept = [
        (name, value)
        for name, value in headers
        if name not in _HOP_HEADERS and name not in named and not name.startswith(b"proxy-")
    ]
    upgrades = [value for name, value in headers if name == b"upgrade"]
    if upgrades and b"upgrade" in named:
        return [*kept, (b"connection", b"Upgrade"), *((b"upgrade", value) for value in upgrades)]
    return [*kept, (b"connection", b"close")]
