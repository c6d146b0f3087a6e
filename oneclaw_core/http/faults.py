"""What a failed connection means, in words; the client library says "All connection attempts failed"."""

from __future__ import annotations

import socket
import ssl
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class FaultKind(Enum):
    """Where a request failed."""

    UNKNOWN_HOST = auto()
    REFUSED = auto()
    TLS = auto()
    CONNECT_TIMEOUT = auto()
    CONNECT = auto()
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
