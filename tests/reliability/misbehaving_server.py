"""A model service on loopback that says, byte by byte, whatever a test wants it to say.

What a request is answered is chosen by the marks in it: a message that holds ``say:NAME;`` is answered by the steps of
that name until its calls have results, and every other one by the steps called ``good``. So any number of sessions can
be answered at once, each by a separate fault.
"""

from __future__ import annotations

import re
import select
import socket
import struct
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MARK = re.compile(rb"say:([a-z0-9-]+);")
# What the result of a call looks like in each of the wire formats.
RESULT_MARKS = (b'"role":"tool"', b'"function_call_output"', b'"tool_result"', b'"functionResponse"')
# Longer than any test waits.
_HOLD_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Pause:
    """Say nothing for a while."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Hold:
    """Say nothing until the client goes away."""


@dataclass(frozen=True, slots=True)
class Reset:
    """Break the connection off as a machine does that goes down."""


@dataclass(frozen=True, slots=True)
class KeepOpen:
    """Leave the connection open for the next request."""


Step = bytes | Pause | Hold | Reset | KeepOpen


class MisbehavingServer:
    """The server, from entering to leaving the context.

    Args:
        steps: what to do by name; ``good`` is needed.

    Attributes:
        asked: how often each name was asked for.
        good_requests: the bodies of the requests that were answered well.
    """

    def __init__(self, steps: dict[str, Callable[[], Iterable[Step]]]) -> None:
        self.steps = steps
        self.asked: dict[str, int] = {}
        self.good_requests: list[bytes] = []
        self.stopping = threading.Event()
        outer = self

        class Handler(BaseRequestHandler):
            def handle(self) -> None:
                self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                with suppress(OSError):
                    while outer.answer(self.request):
                        pass

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> MisbehavingServer:
        self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(self, connection: socket.socket) -> bool:
        """Take a request and answer it; say whether another one may follow on the same connection."""
        content = _read_request(connection)
        if content is None:
            return False
        name = self._name_of(content)
        self.asked[name] = self.asked.get(name, 0) + 1
        if name == "good":
            self.good_requests.append(content)
        for step in self.steps[name]():
            match step:
                case bytes():
                    connection.sendall(step)
                case Pause(seconds):
                    if self.stopping.wait(seconds):
                        return False
                case Hold():
                    self._hold(connection)
                    return False
                case Reset():
                    # An end without the usual exchange: what the client has not read yet is lost.
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    return False
                case KeepOpen():
                    return True
        return False

    def _name_of(self, content: bytes) -> str:
        marks = list(MARK.finditer(content))
        if not marks:
            return "good"
        name = marks[-1][1].decode()
        answered = max(content.rfind(mark) for mark in RESULT_MARKS)
        return "good" if answered > marks[-1].start() and not name.startswith("always-") else name

    def _hold(self, connection: socket.socket) -> None:
        deadline = time.monotonic() + _HOLD_SECONDS
        while not self.stopping.is_set() and time.monotonic() < deadline:
            readable, _, _ = select.select([connection], [], [], 0.02)
            if readable and not connection.recv(1, socket.MSG_PEEK):
                return


class _Server(ThreadingTCPServer):
    daemon_threads = False  # nothing of a test outlives it
    allow_reuse_address = True
    request_queue_size = 256

    def shutdown_request(self, request: object) -> None:
        """Close it as it is: the usual way would wait for what a test wants to be lost."""
        assert isinstance(request, socket.socket)
        request.close()

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that go away are what some tests are about."""


def _read_request(connection: socket.socket) -> bytes | None:
    """Read a request with a Content-Length; give its body."""
    data = bytearray()
    while (end := data.find(b"\r\n\r\n")) < 0:
        piece = connection.recv(65_536)
        if not piece:
            return None
        data += piece
    found = re.search(rb"(?i)content-length: *(\d+)", data[:end])
    wanted = end + 4 + (int(found[1]) if found else 0)
    while len(data) < wanted:
        piece = connection.recv(65_536)
        if not piece:
            return None
        data += piece
    return bytes(data[end + 4 :])
