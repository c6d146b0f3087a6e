"""A web server on loopback whose answers are written by the test, byte for byte."""

from __future__ import annotations

import json
import socketserver
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterable
    from types import TracebackType

_IDLE_SECONDS = 5


@dataclass(frozen=True)
class ReceivedRequest:
    """What the server got.

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
