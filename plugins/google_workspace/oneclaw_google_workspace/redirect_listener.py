"""Waiting on this machine for the browser that Google sends back (RFC 8252, section 7.3)."""

from __future__ import annotations

import hmac
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from oneclaw_core import OneClawError

if TYPE_CHECKING:
    from types import TracebackType

_PAGE = (
    "<!doctype html><meta charset='utf-8'><title>OneClaw</title><p style='font: 1.2em sans-serif; margin: 4em'>{}</p>"
)
# A browser may open connections ahead and send nothing through them.
_SILENT_SECONDS = 10
_POLL_SECONDS = 0.05


class RedirectListener:
    """A web server on 127.0.0.1 that takes one answer; open from entering to leaving the context.

    Args:
        state: what the answer must repeat; nothing else is taken for one.

    Attributes:
        redirect_uri: where Google is to send the browser.
    """

    def __init__(self, state: str) -> None:
        self._answers: list[dict[str, str]] = []
        self._arrived = threading.Event()
        owner = self

        class Connection(BaseHTTPRequestHandler):
            timeout = _SILENT_SECONDS

            def log_message(self, *_: Any) -> None:
                """The address holds a secret."""

            def do_GET(self) -> None:
                """Take an answer; whatever else comes, such as the wish for an icon, is not found."""
                values = answer_of(self.path, state)
                if values is None:
                    self._reply(404, "There is nothing here.")
                    return
                if "error" in values:
                    self._reply(200, "Google was told no. You can close this window.")
                else:
                    self._reply(200, "OneClaw has the answer. You can close this window and go back to the terminal.")
                owner._take(values)

            def _reply(self, status: int, text: str) -> None:
                content = _PAGE.format(text).encode()
                self.send_response(status)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(content)))
                self.send_header("Cache-Control", "no-store")
                self.send_header("Referrer-Policy", "no-referrer")
                self.end_headers()
                self.wfile.write(content)

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: Any, client_address: Any) -> None:
                """A browser that hangs up is no fault."""

        try:
            self._server = Server(("127.0.0.1", 0), Connection)
        except OSError as error:
            raise OneClawError(
                f"this machine does not let OneClaw listen on 127.0.0.1: {error.strerror or error}; sign in with "
                "--no-browser"
            ) from None
        self.redirect_uri = f"http://127.0.0.1:{self._server.server_address[1]}/"

    def __enter__(self) -> RedirectListener:
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": _POLL_SECONDS}, daemon=True
        )
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def wait(self, seconds: float) -> dict[str, str]:
        """Wait for the answer.

        Args:
            seconds: for how long.

        Returns:
            The parameters of the answer: ``code`` and ``scope``, or ``error``.

        Raises:
            OneClawError: none has come.
        """
        end = time.monotonic() + seconds
        # In short pieces, so that Ctrl-C is heard on every platform.
        while not self._arrived.wait(0.5):
            if time.monotonic() > end:
                raise OneClawError(
                    f"nobody has agreed in the browser within {seconds / 60:.0f} minutes: run the command again; with "
                    "--no-browser if the browser is on another machine"
                )
        return self._answers[0]

    def _take(self, values: dict[str, str]) -> None:
        self._answers.append(values)
        self._arrived.set()


def answer_of(url: str, state: str) -> dict[str, str] | None:
    """Read the address that Google sent a browser to.

    Args:
        url: as a whole, or from its path on.
        state: what it must repeat.

    Returns:
        Its parameters; ``None`` if it is no answer to what was asked.
    """
    try:
        values = {name: each[0] for name, each in parse_qs(urlsplit(url.strip()).query).items()}
    except ValueError:
        return None
    is_answer = "code" in values or "error" in values
    is_ours = hmac.compare_digest(values.get("state", "").encode(), state.encode())
    return values if is_answer and is_ours else None
