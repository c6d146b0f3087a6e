"""The parts of an HTTP server: a port, connections that wait for a short time only, the guard, and access tokens.

A page in the user's browser can send requests to any address of this machine. With DNS rebinding it can read the
answers, too, and its ``Origin`` then equals its ``Host``. So the guard compares both with a list, with their ports.
Access tokens are named, scoped, and stored as hashes.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import hmac
import json
import re
import secrets
import socket
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from oneclaw_core.errors import DuplicateError, NotFoundError, PortError, UsageError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, MutableMapping, Sequence

    Scope = MutableMapping[str, Any]
    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    App = Callable[[Scope, Receive, Send], Awaitable[None]]

MAX_BODY_BYTES = 4 * 1024 * 1024
SLOW_SECONDS = 30.0
MAX_HEADERS = 100
MAX_HEADER_BYTES = 32_768
_PORTS = {"http": 80, "https": 443}
_FORWARDED = (b"forwarded", b"x-forwarded-for", b"x-forwarded-host", b"x-forwarded-proto", b"x-real-ip")
HEAD_SECONDS = 10.0
MAX_CONNECTIONS = 500
_BACKLOG = 128
_LAST_PORT = 65_535


def listen(host: str, port: int, *, advice: str) -> socket.socket:
    """Return a socket that listens; clients can connect from now on.

    Args:
        host: an address of this machine.
        port: 0 for any free one.
        advice: what the user can do if the port is in use, such as which option chooses another one.

    Raises:
        PortError: that is not possible, such as because another program listens there.
    """
    if not 0 <= port <= _LAST_PORT:  # the system would take the lower 16 bits
        raise PortError(f"port {port} cannot be used: a port is a number from 0 to {_LAST_PORT}")
    made = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        made = socket.socket(family, kind, protocol)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(_BACKLOG)
        made.setblocking(False)
    except OSError as error:
        if made is not None:
            made.close()
        is_taken = error.errno == errno.EADDRINUSE
        cause = "another program listens there" if is_taken else error.strerror or str(error)
        raise PortError(f"port {port} of {host} cannot be used: {cause}; {advice}") from None
    return made


class ImpatientConnection(asyncio.Protocol):
    """Waits for the head of a request for a few seconds only, and not in any number of connections at once.

    Stands before the protocol class of uvicorn: ``class Protocol(ImpatientConnection, H11Protocol)``. A head that comes
    byte by byte has the same time as one that does not come. When there are too many connections, the one that has
    waited longest for a head is closed, so that a flood of them does not keep out a client that sends its request. A
    connection whose request is being answered is never closed.
    """

    head_seconds = HEAD_SECONDS
    max_connections = MAX_CONNECTIONS
    connections: Any
    cycle: Any
    loop: Any
    transport: Any
    _head_timer: asyncio.TimerHandle | None = None
    _waits_since = 0.0

    def connection_made(self, transport: Any) -> None:
        """Begin to wait."""
        super().connection_made(transport)
        self._look()
        if len(self.connections) > self.max_connections:
            self._make_room()

    def data_received(self, data: bytes) -> None:
        """Take a piece of a request."""
        super().data_received(data)
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        super().connection_lost(exc)
        self._stop_timer()

    @property
    def _is_waiting(self) -> bool:
        return self.cycle is None or bool(self.cycle.response_complete)

    def _look(self) -> None:
        if not self._is_waiting:
            self._stop_timer()
        elif self._head_timer is None:
            self._waits_since = time.monotonic()
            self._head_timer = self.loop.call_later(self.head_seconds, self.transport.close)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _make_room(self) -> None:
        waiting = [each for each in self.connections if each._is_waiting]
        # One whose head has not come in time to be read gets no answer: there is nothing to answer.
        oldest = min(waiting, key=lambda each: each._waits_since, default=self)
        self.connections.discard(oldest)
        oldest.transport.abort()


class ServerGuard:
    """ASGI middleware that passes on requests to known addresses from known origins.

    It answers a wrong ``Host`` with 421, a foreign ``Origin`` with 403, headers of a proxy that is not configured with
    400, too many or too long headers with 431, a body that is too long with 413 and one that comes too slowly with
    408. It refuses WebSockets, and cuts off clients that do not read their answers. It knows no users: the application
    checks tokens or cookies.

    Args:
        app: the application behind it.
        origins: the addresses of this server as browsers write them, such as ``http://127.0.0.1:8311``.
        max_body_bytes: the longest body of a request.
        slow_seconds: how long a body may take to arrive, and the client to accept each piece of an answer.
        is_behind_proxy: True if a proxy in front sets headers such as ``X-Forwarded-For``.

    Raises:
        UsageError: an origin is not the address of a server.
    """

    def __init__(
        self,
        app: App,
        origins: Collection[str],
        *,
        max_body_bytes: int = MAX_BODY_BYTES,
        slow_seconds: float = SLOW_SECONDS,
        is_behind_proxy: bool = False,
    ) -> None:
        self._app = app
        self._origins = {_origin(each) for each in origins}
        self._hosts = {each.partition("://")[2] for each in self._origins}
        self._max_body_bytes = max_body_bytes
        self._slow_seconds = slow_seconds
        self._is_behind_proxy = is_behind_proxy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request and pass it on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        refusal = self._refusal(scope)
        if refusal is not None:
            await send_refusal(send, *refusal)
            return
        exchange = _Exchange(receive, send, self._max_body_bytes, self._slow_seconds)
        try:
            await self._app(scope, exchange.receive, exchange.send)
        except Exception:
            # The application met the end of a request that was refused already.
            if not exchange.is_refused:
                raise

    def _refusal(self, scope: Scope) -> tuple[HTTPStatus, str] | None:
        size = sum(len(name) + len(value) for name, value in scope["headers"])
        if len(scope["headers"]) > MAX_HEADERS or size > MAX_HEADER_BYTES:
            return HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "the request has too many or too long headers"
        hosts = _values(scope, b"host")
        if len(hosts) != 1 or _host(hosts[0], scope["scheme"]) not in self._hosts:
            return HTTPStatus.MISDIRECTED_REQUEST, "this server does not answer to that Host"
        origins = _values(scope, b"origin")
        if origins and (len(origins) != 1 or not self._is_known(origins[0])):
            return HTTPStatus.FORBIDDEN, "requests of other sites are refused"
        if not self._is_behind_proxy and any(_values(scope, name) for name in _FORWARDED):
            return HTTPStatus.BAD_REQUEST, "no proxy is configured in front of this server"
        lengths = _values(scope, b"content-length")
        if lengths and (not lengths[0].isdecimal() or int(lengths[0][:20]) > self._max_body_bytes):
            return HTTPStatus.REQUEST_ENTITY_TOO_LARGE, _too_long(self._max_body_bytes)
        return None

    def _is_known(self, origin: str) -> bool:
        try:
            return _origin(origin) in self._origins
        except UsageError:
            return False


class _Exchange:
    """One request with limits on its body, and on a client that does not read the answer."""

    def __init__(self, receive: Receive, send: Send, max_body_bytes: int, slow_seconds: float) -> None:
        self.is_refused = False
        self._receive = receive
        self._send = send
        self._max_body_bytes = max_body_bytes
        self._left_bytes = max_body_bytes
        self._slow_seconds = slow_seconds
        self._deadline: float | None = None
        self._has_body = False
        self._is_answered = False

    async def receive(self) -> Message:
        """Receive the next piece of the body, then the end of the connection."""
        if self.is_refused:
            return {"type": "http.disconnect"}
        if self._has_body:
            return await self._receive()
        if self._deadline is None:
            self._deadline = time.monotonic() + self._slow_seconds
        try:
            async with asyncio.timeout(self._deadline - time.monotonic()):
                message = await self._receive()
        except TimeoutError:
            return await self._refuse(HTTPStatus.REQUEST_TIMEOUT, "the body came too slowly")
        self._left_bytes -= len(message.get("body", b""))
        if self._left_bytes < 0:
            return await self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, _too_long(self._max_body_bytes))
        self._has_body = not message.get("more_body", False)
        return message

    async def send(self, message: Message) -> None:
        """Send a piece of the answer.

        Raises:
            OSError: the client accepts nothing.
        """
        if self.is_refused:
            return
        self._is_answered = True
        try:
            async with asyncio.timeout(self._slow_seconds):
                await self._send(message)
        except TimeoutError:
            raise OSError("the client does not read the answer") from None

    async def _refuse(self, status: HTTPStatus, text: str) -> Message:
        self.is_refused = True
        if not self._is_answered:
            await send_refusal(self._send, status, text)
        return {"type": "http.disconnect"}


async def send_refusal(
    send: Send, status: HTTPStatus, text: str, headers: Collection[tuple[bytes, bytes]] = ()
) -> None:
    """Answer a request with an error as JSON: ``{"error": {"type": ..., "message": ...}}``, and close the connection.

    Args:
        send: of the ASGI request.
        status: of the answer.
        text: the message; it must not repeat what the client sent.
        headers: further ones, with lowercase names.
    """
    # Python's phrase for it differs between versions.
    is_long = status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    kind = "content_too_large" if is_long else status.phrase.lower().replace(" ", "_")
    body = json.dumps({"error": {"type": kind, "message": text}}).encode()
    own = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": int(status), "headers": [*own, *headers]})
    await send({"type": "http.response.body", "body": body})


def bearer_token(scope: Scope) -> str | None:
    """Return the token in the ``Authorization`` header of an ASGI request; ``None`` if there is none."""
    values = _values(scope, b"authorization")
    kind, _, token = values[0].partition(" ") if len(values) == 1 else ("", "", "")
    return token.strip() or None if kind.lower() == "bearer" else None


def _values(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name]


def _origin(address: str) -> str:
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        raise UsageError(f"{address!r} is not an origin, such as http://127.0.0.1:8311") from None
    if parts.scheme not in _PORTS or not parts.hostname or parts.path.strip("/") or parts.username is not None:
        raise UsageError(f"{address!r} is not an origin, such as http://127.0.0.1:8311")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}" + (f":{port}" if port not in (None, _PORTS[parts.scheme]) else "")


def _host(value: str, scheme: str) -> str:
    return value.lower().removesuffix(f":{_PORTS.get(scheme, 80)}")


def _too_long(max_body_bytes: int) -> str:
    return f"the body is longer than {max_body_bytes} bytes"


MAX_LIFETIME_DAYS = 3_650
_PREFIX = "oneclaw"
_KEY = "server_token/"
_SECRET_BYTES = 32
_MAX_CHARACTERS = 200
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_SCOPE = re.compile(r"[a-z][a-z0-9_.-]*(?::[!-~]{1,200})?")


class TokenStorage(Protocol):
    """The part of a plugin's storage that holds tokens; ``context.storage`` is one."""

    async def get(self, key: str, default: Any = None) -> Any:
        """Read a value."""
        ...

    async def set_if_absent(self, key: str, value: Any, *, ttl_seconds: float | None = None) -> bool:
        """Store a value unless there is one; return True if it was stored."""
        ...

    async def delete(self, key: str) -> bool:
        """Delete a value; return True if there was one."""
        ...

    async def list(self, prefix: str = "") -> dict[str, Any]:
        """Read the values whose keys begin with a prefix."""
        ...


@dataclass(frozen=True, slots=True)
class ServerToken:
    """A token, without its secret.

    Attributes:
        name: unique in its storage.
        scopes: the rights of its bearer: ``ACTION`` or ``ACTION:SUBJECT``.
        created_at: the time of creation.
        expires_at: the time it becomes invalid; ``None`` for never.
    """

    name: str
    scopes: tuple[str, ...]
    created_at: datetime
    expires_at: datetime | None = None

    def allows(self, scope: str) -> bool:
        """Return True if the token has this scope, or the one without a subject that includes it."""
        return scope in self.scopes or scope.partition(":")[0] in self.scopes


class ServerTokens:
    """The tokens of one server.

    A token reads ``oneclaw_NAME_SECRET``. Its secret has 256 random bits and is stored as a SHA-256 hash, so it is
    shown once, when it is made.

    Args:
        storage: where they are kept; ``context.storage`` of a plugin, which all processes of a home share.
    """

    def __init__(self, storage: TokenStorage) -> None:
        self._storage = storage

    async def create(self, name: str, scopes: Iterable[str], *, lifetime_days: float | None = None) -> str:
        """Make a token and return it; it cannot be read again.

        Args:
            name: 1 to 63 lowercase letters, digits and hyphens.
            scopes: at least one; which ones mean something is up to the server.
            lifetime_days: the time after which it is invalid; ``None`` for never.

        Raises:
            DuplicateError: there is a token of that name.
            UsageError: the name, a scope or the time is not acceptable.
        """
        found = tuple(sorted(set(scopes)))
        _check(name, found, lifetime_days)
        secret = secrets.token_urlsafe(_SECRET_BYTES)
        created = datetime.now(UTC)
        expires = created + timedelta(days=lifetime_days) if lifetime_days is not None else None
        stored = {
            "digest": _digest(secret),
            "scopes": list(found),
            "created_at": created.isoformat(),
            "expires_at": expires.isoformat() if expires is not None else None,
        }
        seconds = lifetime_days * 86_400 if lifetime_days is not None else None
        if not await self._storage.set_if_absent(f"{_KEY}{name}", stored, ttl_seconds=seconds):
            raise DuplicateError(f"there is a token {name!r} already: revoke it first, or choose another name")
        return f"{_PREFIX}_{name}_{secret}"

    @staticmethod
    def is_token(text: str) -> bool:
        """Return True if a text has the form of a token, whether it is valid or not."""
        prefix, _, rest = text.partition("_")
        name, _, secret = rest.partition("_")
        return prefix == _PREFIX and bool(secret) and _NAME.fullmatch(name) is not None

    async def list(self) -> Sequence[ServerToken]:
        """Return all valid tokens in the order of their names."""
        stored = await self._storage.list(_KEY)
        return [_token(key.removeprefix(_KEY), value) for key, value in stored.items()]

    async def revoke(self, name: str) -> None:
        """Make a token invalid.

        Raises:
            NotFoundError: there is no token of that name.
        """
        if not _NAME.fullmatch(name) or not await self._storage.delete(f"{_KEY}{name}"):
            raise NotFoundError(f"there is no token {name!r}")

    async def find(self, token: str | None) -> ServerToken | None:
        """Return the token that a client has sent; ``None`` if it is invalid."""
        if token is None or len(token) > _MAX_CHARACTERS or not token.isascii() or not self.is_token(token):
            return None
        _, name, secret = token.split("_", 2)
        stored = await self._storage.get(f"{_KEY}{name}")
        if stored is None or not hmac.compare_digest(str(stored["digest"]), _digest(secret)):
            return None
        return _token(name, stored)


def _digest(secret: str) -> str:
    # A secret of 256 random bits cannot be guessed, so the hash need not be slow.
    return hashlib.sha256(secret.encode()).hexdigest()


def _token(name: str, stored: Mapping[str, Any]) -> ServerToken:
    expires = stored["expires_at"]
    return ServerToken(
        name,
        tuple(stored["scopes"]),
        datetime.fromisoformat(stored["created_at"]),
        datetime.fromisoformat(expires) if expires is not None else None,
    )


def _check(name: str, scopes: tuple[str, ...], lifetime_days: float | None) -> None:
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"a token cannot be named {name!r}: use 1 to 63 lowercase letters, digits and hyphens, such as laptop"
        )
    if not scopes:
        raise UsageError(f"the token {name!r} needs a scope")
    for scope in scopes:
        if not _SCOPE.fullmatch(scope):
            raise UsageError(f"{scope!r} is not a scope: it reads ACTION or ACTION:SUBJECT")
    if lifetime_days is not None and not 0 < lifetime_days <= MAX_LIFETIME_DAYS:
        raise UsageError(f"a token lasts more than 0 and at most {MAX_LIFETIME_DAYS} days, not {lifetime_days:g}")
