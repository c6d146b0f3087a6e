"""A web server on loopback whose answers the test writes, by paths or byte for byte."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterable, Iterator, Mapping
    from types import TracebackType

_IDLE_SECONDS = 5


@dataclass(frozen=True)
class ReceivedRequest:
    """A request that the server received.

    Attributes:
        method: such as ``GET``.
        target: as it came, with the query.
        headers: names in lower case, and values, in their order.
        body: its bytes.
    """

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def path(self) -> str:
        """The target without its query."""
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, list[str]]:
        """The values of each parameter of the query."""
        return parse_qs(urlsplit(self.target).query, keep_blank_values=True)

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode()

    def json(self) -> Any:
        """The body as what its JSON is read into."""
        return json.loads(self.body)

    def header(self, name: str) -> str | None:
        """The value of a header that was sent once at most.

        Args:
            name: in any case.
        """
        values = [value for each, value in self.headers if each == name.lower()]
        assert len(values) <= 1, f"{name} was sent {len(values)} times"
        return values[0] if values else None


def response(
    body: bytes | str = b"",
    *,
    status: str = "200 OK",
    headers: Iterable[tuple[str, str]] = (("Content-Type", "text/plain; charset=utf-8"),),
    length: bool = True,
) -> bytes:
    """Write a response; without its length it ends with the connection."""
    content = body.encode() if isinstance(body, str) else body
    lines = [*headers, *([("Content-Length", str(len(content)))] if length else [])]
    head = "".join(f"{name}: {value}\r\n" for name, value in lines)
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + content


class WebServer:
    """The server, from entering to leaving the context; it closes each connection after one response.

    Args:
        answer: makes the response, or its pieces, from a request.
        tls: speaks TLS with this context.

    Attributes:
        requests: what it got, in order.
        url: where it is, without a path.
        port: the same as a number.
    """

    def __init__(
        self, answer: Callable[[ReceivedRequest], bytes | Iterable[bytes]], tls: ssl.SSLContext | None = None
    ) -> None:
        self.requests: list[ReceivedRequest] = []
        owner = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                request = _read(self.rfile)
                owner.requests.append(request)
                answered = answer(request)
                for piece in [answered] if isinstance(answered, bytes) else answered:
                    self.wfile.write(piece)

        class Server(socketserver.ThreadingTCPServer):
            allow_reuse_address = True

            def get_request(self) -> Any:
                connection, address = super().get_request()
                connection.settimeout(_IDLE_SECONDS)
                return (tls.wrap_socket(connection, server_side=True) if tls else connection), address

            def handle_error(self, request: Any, client_address: Any) -> None:
                """Clients that go away are what some tests are about."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self.port: int = self._server.server_address[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"

    def __enter__(self) -> WebServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _read(stream: Any) -> ReceivedRequest:
    method, target, _ = stream.readline().decode().split(" ")
    headers = []
    while line := stream.readline().strip():
        name, _, value = line.decode().partition(":")
        headers.append((name.lower(), value.strip()))
    known = dict(headers)
    is_chunked = known.get("transfer-encoding", "").lower() == "chunked"
    body = _read_chunks(stream) if is_chunked else stream.read(int(known.get("content-length", "0")))
    return ReceivedRequest(method, target, headers, body)


def _read_chunks(stream: Any) -> bytes:
    body = b""
    while size := int(stream.readline().partition(b";")[0], 16):
        body += stream.read(size)
        stream.readline()
    while stream.readline().strip():
        pass  # trailers, which say nothing here
    return body


_LONGEST_STALL_SECONDS = 60

Answering = Callable[[ReceivedRequest], "WebAnswer | str | bytes | dict[str, Any] | list[Any]"]


@dataclass(frozen=True, slots=True)
class WebAnswer:
    """An answer of the server.

    Attributes:
        body: a text or bytes; anything else is sent as JSON.
        status: the number.
        headers: in place of, or beside, the type of the content.
        delay_seconds: how long it waits before it answers.
        sent_bytes: how much of the body is sent before the answer breaks, ``None`` for all of it.
        stalls: True if a broken answer falls silent; otherwise the connection is closed.
    """

    body: Any = ""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_seconds: float = 0
    sent_bytes: int | None = None
    stalls: bool = False

    def to_bytes(self) -> bytes:
        """Write the whole answer."""
        body, media_type = self.body, "text/plain; charset=utf-8"
        if isinstance(body, bytes):
            media_type = "application/octet-stream"
        elif not isinstance(body, str):
            body, media_type = json.dumps(body), "application/json"
        given = {name.lower() for name in self.headers}
        # The server closes each connection; a client that keeps them has to be told.
        own = {"Content-Type": media_type, "Connection": "close"}
        headers = [*self.headers.items(), *(each for each in own.items() if each[0].lower() not in given)]
        return response(body, status=_status_line(self.status), headers=headers)


class RoutedWebServer:
    r"""A web server on loopback; it answers what the test says, and keeps what it was asked.

    ::

        web_server.answers("/sales.csv", "region,units\nnorth,120\n")
        web_server.answers("/search", lambda request: {"found": request.query["q"]})
        web_server.answers("/busy", "try again later", status=503, headers={"Retry-After": "1"})
        web_server.stalls("/slow")

    A path that it does not know is answered by 404. Tools reach it only if the user grants ``network.private``.

    Attributes:
        requests: everything it was asked, in order.
    """

    def __init__(self) -> None:
        self._routes: dict[tuple[str | None, str], Answering] = {}
        self._is_ending = threading.Event()
        self._server = WebServer(self._pieces)

    @property
    def requests(self) -> list[ReceivedRequest]:
        """Everything it was asked, in order."""
        return self._server.requests

    def url_of(self, path: str = "/") -> str:
        """The whole URL of a path."""
        return f"{self._server.url}{path}"

    def answers(
        self,
        path: str,
        body: Any = "",
        *,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        method: str | None = None,
        delay_seconds: float = 0,
    ) -> None:
        """Answer requests for a path from now on.

        Args:
            path: without a query.
            body: a text, bytes, or what is sent as JSON; a function is called with each ``ReceivedRequest`` and returns
                one of these or a :class:`WebAnswer`.
            status: the number.
            headers: in place of, or beside, the type of the content.
            method: the only one that is answered so; by default any.
            delay_seconds: how long to wait before each answer.
        """
        if callable(body):
            if status != HTTPStatus.OK or headers or delay_seconds:
                raise ValueError("a function makes the whole answer: have it return a WebAnswer with its status")
            self._routes[method, path] = body
        else:
            answer = WebAnswer(body, status, dict(headers or {}), delay_seconds)
            self._routes[method, path] = lambda _: answer

    def hangs_up(self, path: str, body: Any = "", *, after_bytes: int = 0) -> None:
        """Close the connection in the middle of the answer.

        Args:
            path: without a query.
            body: what would have been the answer.
            after_bytes: how much of the body is sent; with an empty body nothing is sent at all.
        """
        answer = WebAnswer(body, sent_bytes=after_bytes)
        self._routes[None, path] = lambda _: answer

    def stalls(self, path: str, body: Any = "", *, after_bytes: int = 0) -> None:
        """Fall silent in the middle of the answer, until the test ends: for timeouts.

        Args:
            path: as for :meth:`hangs_up`.
            body: as for :meth:`hangs_up`.
            after_bytes: as for :meth:`hangs_up`.
        """
        answer = WebAnswer(body, sent_bytes=after_bytes, stalls=True)
        self._routes[None, path] = lambda _: answer

    def __enter__(self) -> RoutedWebServer:
        self._server.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_ending.set()
        self._server.__exit__(kind, error, trace)

    def _pieces(self, request: ReceivedRequest) -> Iterator[bytes]:
        answer = self._answer(request)
        self._is_ending.wait(answer.delay_seconds)
        whole = answer.to_bytes()
        if request.method == "HEAD":
            whole = whole[: whole.index(b"\r\n\r\n") + 4]
        if answer.sent_bytes is None:
            yield whole
            return
        if answer.body:
            yield whole[: whole.index(b"\r\n\r\n") + 4 + answer.sent_bytes]
        if answer.stalls:
            self._is_ending.wait(_LONGEST_STALL_SECONDS)

    def _answer(self, request: ReceivedRequest) -> WebAnswer:
        make = self._routes.get((request.method, request.path)) or self._routes.get((None, request.path))
        if make is None:
            known = ", ".join(f"{method or 'any method'} {path}" for method, path in self._routes) or "nothing"
            text = f"the test's web server does not know {request.method} {request.path}; it knows: {known}\n"
            return WebAnswer(text, HTTPStatus.NOT_FOUND)
        try:
            made = make(request)
        except Exception as error:  # noqa: BLE001  # the function is the test's; its author sees this in the answer
            text = f"the test's function for {request.path} failed: {type(error).__name__}: {error}\n"
            return WebAnswer(text, HTTPStatus.INTERNAL_SERVER_ERROR)
        return made if isinstance(made, WebAnswer) else WebAnswer(made)


def _status_line(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"{status} Unknown"
