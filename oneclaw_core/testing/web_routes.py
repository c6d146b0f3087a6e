"""A web server for a test: which paths it knows, what it answers there, and how it fails."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from oneclaw_core.testing.web_server import ReceivedRequest, WebServer, response

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import TracebackType

_LONGEST_STALL_SECONDS = 60

Answering = Callable[[ReceivedRequest], "WebAnswer | str | bytes | dict[str, Any] | list[Any]"]


@dataclass(frozen=True, slots=True)
class WebAnswer:
    """What the server sends.

    Attributes:
        body: a text or bytes; anything else is sent as JSON.
        status: the number.
        headers: in place of, or beside, the type of the content.
        delay_seconds: how long it waits before it answers.
        sent_bytes: how much of the body is sent before the answer breaks, ``None`` for all of it.
        stalls: whether a broken answer falls silent; otherwise the connection is closed.
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
            body: likewise.
            after_bytes: likewise.
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
