"""The end of a sign-in in the browser: a listener on loopback for the redirect (RFC 8252, section 7.3)."""

from __future__ import annotations

import asyncio
import errno
import hmac
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from oneclaw_core.errors import OAuthError

if TYPE_CHECKING:
    from types import TracebackType

_PAGE = (
    "<!doctype html><meta charset='utf-8'><title>OneClaw</title><p style='font: 1.2em sans-serif; margin: 4em'>{}</p>"
)
_AGREED = "OneClaw has the answer. You can close this window and go back to the terminal."
_REFUSED = "The sign-in was refused. You can close this window."
_NOTHING = "There is nothing here."
# A browser may open connections ahead and send nothing through them.
_SILENT_SECONDS = 10.0
_MAX_HEAD_BYTES = 64 * 1024
_LISTEN_ADDRESS = "127.0.0.1"


class RedirectListener:
    """A web server on 127.0.0.1 that accepts one answer; open from entering to leaving the context.

    It answers everything else with 404, ignores silent connections, and logs nothing, since addresses hold secrets.

    Args:
        port: where to listen; ``None`` for a free port. A client that was registered with one redirect address keeps
            its port: store :attr:`port` and give it again.
        host: what the browser calls this machine, ``127.0.0.1`` or ``localhost``.
        path: of the address.

    Attributes:
        port: where it listens, once the context is entered.
    """

    def __init__(self, *, port: int | None = None, host: str = _LISTEN_ADDRESS, path: str = "/") -> None:
        self.port = port or 0
        self._host = host
        self._path = path
        self._state: str | None = None
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    @property
    def redirect_uri(self) -> str:
        """The address that the service sends the browser to."""
        return f"http://{self._host}:{self.port}{self._path}"

    async def __aenter__(self) -> RedirectListener:
        """Start to listen.

        Raises:
            OAuthError: the port is in use, or this machine lets nothing listen.
        """
        self._answer: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()
        try:
            self._server = await asyncio.start_server(self._serve, _LISTEN_ADDRESS, self.port, limit=_MAX_HEAD_BYTES)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise OAuthError(
                    f"port {self.port} of 127.0.0.1, where the browser is to come back to, is in use: end the program "
                    "that listens there, perhaps another sign-in, and run the command again"
                ) from None
            raise OAuthError(
                f"this machine does not let OneClaw listen on 127.0.0.1: {error.strerror or error}; sign in without "
                "a browser, and paste the address"
            ) from None
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        self._answer.cancel()

    def expect(self, state: str) -> None:
        """Accept the answer that repeats this state from now on; before, nothing is accepted."""
        self._state = state

    async def wait(self, seconds: float) -> dict[str, str]:
        """Wait for the answer.

        Args:
            seconds: for how long.

        Returns:
            Its parameters: ``code`` or ``error``, ``state``, and perhaps ``scope`` and ``iss``.

        Raises:
            OAuthError: none has come.
        """
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.shield(self._answer)
        except TimeoutError:
            raise OAuthError(
                f"the browser has not come back within {seconds / 60:.0f} minutes: run the command again; with the "
                "option for pasting the address if the browser is on another machine"
            ) from None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            async with asyncio.timeout(_SILENT_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                await self._reply(head, writer)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError):
            pass  # a browser that hangs up or stays silent, or the end of the sign-in
        finally:
            self._connections.discard(task)
            with suppress(OSError):
                writer.close()

    async def _reply(self, head: bytes, writer: asyncio.StreamWriter) -> None:
        method, _, rest = head.partition(b"\r\n")[0].decode("latin-1").partition(" ")
        target = rest.rpartition(" ")[0]
        is_here = method == "GET" and self._state is not None and target.partition("?")[0] == self._path
        values = redirect_answer(target, self._state) if is_here and self._state is not None else None
        if values is None:
            writer.write(_page(HTTPStatus.NOT_FOUND, _NOTHING))
            await writer.drain()
            return
        try:
            writer.write(_page(HTTPStatus.OK, _REFUSED if "error" in values else _AGREED))
            await writer.drain()
        finally:  # that the browser hangs up does not change its answer
            if not self._answer.done():
                self._answer.set_result(values)


def redirect_answer(url: str, state: str) -> dict[str, str] | None:
    """Read the address that a service has sent a browser to.

    Args:
        url: as a whole, or from its path on.
        state: what it must repeat.

    Returns:
        Its parameters; ``None`` if it is no answer to what was asked.
    """
    try:
        values = parse_qs(urlsplit(url.strip()).query, max_num_fields=100)
    except ValueError:
        return None
    if any(len(values.get(name, ())) > 1 for name in ("code", "state", "error", "iss")):
        return None
    is_answer = "code" in values or "error" in values
    is_ours = hmac.compare_digest(values.get("state", [""])[0].encode(), state.encode())
    return {name: each[0] for name, each in values.items()} if is_answer and is_ours else None


def _page(status: HTTPStatus, text: str) -> bytes:
    content = _PAGE.format(text).encode()
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}",
        "Content-Type: text/html; charset=utf-8",
        f"Content-Length: {len(content)}",
        "Cache-Control: no-store",
        "Referrer-Policy: no-referrer",
        "Connection: close",
    )
    return "\r\n".join([*head, "", ""]).encode() + content
