"""A model service on loopback that speaks Chat Completions and answers from a script.

::

    with ModelServer([calls(("load_tool_group", {"group_name": "pdf"})), text("Done.")]) as server:
        ...                      # point a provider's base URL at server.url
    assert server.requests[0].body["tools"]

A script is a list of replies, used one after the other, or a callable that makes a reply from each request's body. A
request beyond the script is refused with status 400.
"""

from __future__ import annotations

import json
import select
import socket
import threading
import time
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from types import TracebackType

    Script = Sequence["Reply | Callable[[Any], Reply]"] | Callable[[Any], "Reply"]

DEFAULT_USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}


class End(Enum):
    """How a reply ends."""

    COMPLETE = auto()
    HANG_UP = auto()
    SILENCE = auto()


@dataclass(frozen=True)
class Reply:
    """What the server sends: a status, headers, and a body in pieces, each sent on its own."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    pieces: Sequence[bytes] = ()
    end: End = End.COMPLETE


@dataclass(frozen=True)
class Request:
    """What the server got; header names are in lower case, and ``content`` is the body just as it came."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any
    content: bytes = b""


def chunk(delta: Mapping[str, Any] | None = None, finish_reason: str | None = None, **extra: Any) -> dict[str, Any]:
    """One chunk of a streamed answer; without a delta and a reason it has no choices."""
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish_reason}]
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "test", "choices": choices} | extra


def sse(chunks: Iterable[Any], *, done: bool = True) -> bytes:
    """Chunks as server-sent events; a text is sent as it is."""
    texts = [each if isinstance(each, str) else json.dumps(each) for each in chunks]
    return "".join(f"data: {each}\n\n" for each in [*texts, *(["[DONE]"] if done else [])]).encode()


def named_events(events: Iterable[Mapping[str, Any]]) -> bytes:
    """Server-sent events that are named by the ``type`` of their data."""
    return "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events).encode()


def text(content: str, *, pieces: int = 3, usage: Mapping[str, Any] | None = None) -> Reply:
    """Answer with a text, streamed in some pieces."""
    size = max(1, -(-len(content) // pieces))
    deltas = [{"content": content[start : start + size]} for start in range(0, len(content), size)]
    return _answer([{"role": "assistant", "content": ""}, *deltas], "stop", usage)


def calls(*named: tuple[str, Any], content: str = "", usage: Mapping[str, Any] | None = None) -> Reply:
    """Answer with tool calls, each a name and its arguments; arguments that are a text are sent as they are.

    The arguments are streamed in fragments, the calls' ids are ``call_<request>_<place>``.
    """

    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": content or None}]
    for index, (name, arguments) in enumerate(named):
        written = arguments if isinstance(arguments, str) else json.dumps(arguments)
        function = {"name": name, "arguments": ""}
        deltas.append(
            {"tool_calls": [{"index": index, "id": f"{_ID}{index}", "type": "function", "function": function}]}
        )
        half = len(written) // 2
        deltas += [
            {"tool_calls": [{"index": index, "function": {"arguments": part}}]}
            for part in (written[:half], written[half:])
        ]
    return _answer(deltas, "tool_calls", usage)


def status(code: int, headers: Mapping[str, str] | None = None, body: Any = None) -> Reply:
    """Answer with a status; a body that is no bytes is sent as JSON."""
    if body is None:
        body = {"error": {"message": f"the script says {code}", "type": "test", "param": None, "code": None}}
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Reply(code, {"Content-Type": "application/json"} | dict(headers or {}), [content])


def raw(*pieces: bytes, content_type: str = "text/event-stream", end: End = End.COMPLETE) -> Reply:
    """Answer with these bytes, each piece sent on its own."""
    return Reply(200, {"Content-Type": content_type}, pieces, end)


def hang_up_after(*pieces: bytes) -> Reply:
    """Send these bytes, and close the connection in the middle of the answer."""
    return raw(*pieces, end=End.HANG_UP)


def silence(*pieces: bytes) -> Reply:
    """Send these bytes, and then nothing until the client goes away; without any, not even a status."""
    return raw(*pieces, end=End.SILENCE)


# Replaced by the number of the request, so that ids are unique in a session.
_ID = "call_REQUEST_"


def _answer(deltas: Iterable[Mapping[str, Any]], reason: str, usage: Mapping[str, Any] | None) -> Reply:
    chunks = [*(chunk(delta) for delta in deltas), chunk({}, reason), chunk(usage=usage or DEFAULT_USAGE)]
    return raw(*(sse([each], done=False) for each in chunks), sse([]))


class ModelServer:
    """The server, from entering to leaving the context.

    Attributes:
        requests: what it got, in order.
        client_left: set once a client has gone away before its answer was complete.
    """

    def __init__(
        self, script: Script, models: Sequence[Mapping[str, Any]] = ({"id": "test", "object": "model"},)
    ) -> None:
        self._script = script
        self._models = models
        self._lock = threading.Lock()
        self._answered = 0
        self.requests: list[Request] = []
        self.client_left = threading.Event()
        self.stopping = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _handler_of(self))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def url(self) -> str:
        """The base URL, with ``/v1``."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def connections(self) -> int:
        """How many connections were made to it."""
        return self._server.accepted

    @property
    def bodies(self) -> list[Any]:
        """The bodies of the requests for answers."""
        return [request.body for request in self.requests if request.method == "POST"]

    @property
    def contents(self) -> list[bytes]:
        """The same, just as they came."""
        return [request.content for request in self.requests if request.method == "POST"]

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._thread.join()
        self._server.close_connections()
        self._server.server_close()

    def reply_to(self, request: Request) -> Reply:
        """Note a request, and choose the reply."""
        with self._lock:
            self.requests.append(request)
            if request.method == "GET":
                return status(200, body={"object": "list", "data": list(self._models)})
            number, self._answered = self._answered, self._answered + 1
            if callable(self._script):
                entry: Any = self._script
            elif number < len(self._script):
                entry = self._script[number]
            else:
                message = f"the test's script has no reply to request {number + 1}"
                entry = status(400, body={"error": {"message": message, "type": "invalid_request_error"}})
        reply = entry(request.body) if callable(entry) else entry
        own_ids = _ID.replace("REQUEST", str(number)).encode()
        return replace(reply, pieces=[piece.replace(_ID.encode(), own_ids) for piece in reply.pieces])


class _Server(ThreadingHTTPServer):
    request_queue_size = 1024  # many sessions connect at once
    daemon_threads = False  # leaving the context waits for them, so that nothing of a test outlives it

    def __init__(self, *arguments: Any) -> None:
        self._connections: set[socket.socket] = set()
        self.accepted = 0
        super().__init__(*arguments)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._connections.add(request)
        self.accepted += 1
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._connections.discard(request)
        super().shutdown_request(request)

    def close_connections(self) -> None:
        for connection in list(self._connections):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # the client closed it already

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that go away are what some tests are about."""


def _handler_of(server: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # else each small piece waits 40 ms for the acknowledgement of the last

        def do_GET(self) -> None:
            self._answer(b"")

        def do_POST(self) -> None:
            self._answer(self.rfile.read(int(self.headers.get("Content-Length", "0"))))

        def log_message(self, *arguments: Any) -> None:
            """Keep quiet."""

        def _answer(self, content: bytes) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = json.loads(content) if content else None
            reply = server.reply_to(Request(self.command, self.path, headers, body, content))
            try:
                self._send(reply)
            except OSError:
                server.client_left.set()
                self.close_connection = True

        def _send(self, reply: Reply) -> None:
            if reply.pieces or reply.end is End.COMPLETE:
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
            for piece in filter(None, reply.pieces):
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            if reply.end is End.COMPLETE:
                self.wfile.write(b"0\r\n\r\n")
                return
            self.close_connection = True
            if reply.end is End.SILENCE:
                self._wait_until_client_leaves()

        def _wait_until_client_leaves(self) -> None:
            deadline = time.monotonic() + 30
            while not server.stopping.is_set() and time.monotonic() < deadline:
                readable, _, _ = select.select([self.connection], [], [], 0.01)
                if readable and not self.connection.recv(1, socket.MSG_PEEK):
                    server.client_left.set()
                    return

    return Handler
