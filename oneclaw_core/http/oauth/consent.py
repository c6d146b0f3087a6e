"""Consent of the user in a browser: show the page, listen on loopback for the redirect, or take a pasted address.

See RFC 8252, section 7.3.
"""

from __future__ import annotations

import asyncio
import errno
import hmac
import os
import sys
import webbrowser
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import parse_qs, urlsplit

from oneclaw_core.errors import OAuthError, UsageError
from oneclaw_core.system.threads import start_in_background

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping
    from typing import Any

    ReadLine = Callable[[], Awaitable[str | None]]


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

_T = TypeVar("_T")

WAIT_SECONDS = 600.0


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

    async def __aexit__(self, *raised: object) -> None:
        assert self._server is not None
        self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        self._answer.cancel()

    def expect(self, state: str) -> None:
        """Accept the answer that repeats this state from now on; before, nothing is accepted."""
        self._state = state
        if self._answer.done():  # a sign-in can ask twice, such as where a server changes whom it trusts
            self._answer = asyncio.get_running_loop().create_future()

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


class OAuthConsent:
    """One question to the user: :meth:`redirect` asks it, :meth:`answer` waits for the answer.

    Two calls, since libraries with their own flow, such as that of MCP, want two.

    Args:
        listener: where the browser comes back to, open.
        title: of the service, for people.
        open_browser: open a browser on this machine; without one the user pastes the address.
        show: writes a line for the user.
        read_line: reads a line from the user, ``None`` at the end of the input.
    """

    def __init__(
        self,
        listener: RedirectListener,
        title: str,
        *,
        open_browser: bool,
        show: Callable[[str], None],
        read_line: ReadLine,
    ) -> None:
        self._listener = listener
        self._title = title
        self._open_browser = open_browser
        self._show = show
        self._read_line = read_line
        self._state = ""
        self._waits_for_paste = False

    async def redirect(self, url: str) -> None:
        """Show an authorization request to the user.

        Args:
            url: with ``state`` among its parameters.
        """
        self._state = parse_qs(urlsplit(url).query)["state"][0]
        self._listener.expect(self._state)
        self._waits_for_paste = not (self._open_browser and await self._is_opened(url))
        if self._waits_for_paste:
            self._show("Open this address in a browser, on whatever machine, and agree:")
            self._show(url)
            self._show(
                "If the browser then says that it cannot reach this address, copy the address that it shows, all of "
                "it, and paste it here:"
            )

    async def answer(self) -> dict[str, str]:
        """Wait until the browser comes back, or the user has pasted where it ended up.

        Returns:
            Parameters of the answer: ``code`` or ``error``, ``state``, and perhaps ``scope`` and ``iss``.

        Raises:
            OAuthError: no answer has come.
            UsageError: what was pasted is no answer.
        """
        arrival = self._listener.wait(WAIT_SECONDS)
        return await (_first(arrival, self._pasted()) if self._waits_for_paste else arrival)

    async def _is_opened(self, url: str) -> bool:
        """Open the browser. Browsers in a terminal block until they are closed, so the answer may come before."""
        if not has_browser():
            return False
        opening = asyncio.wrap_future(start_in_background(lambda: webbrowser.open(url), "oneclaw browser"))

        async def opened() -> bool:
            try:
                is_open = await opening
            except (OSError, webbrowser.Error):
                return False
            if is_open:
                self._show("Your browser asks what OneClaw may do. If it does not, open this address in it:")
                self._show(url)
            return is_open

        async def arrived() -> bool:
            await self._listener.wait(WAIT_SECONDS)
            return True

        return await _first(arrived(), opened())

    async def _pasted(self) -> dict[str, str]:
        text = await self._read_line()
        if not text or not text.strip():
            raise UsageError(
                "no address was given; run the command in a terminal and paste it there, or give it on standard input"
            )
        answer = redirect_answer(text, self._state)
        if answer is None:
            raise UsageError(
                f"that is not the address that {self._title} has sent the browser to: it begins with "
                f"{self._listener.redirect_uri.rpartition(':')[0]} and holds a code; run the command again, and copy "
                "all of it"
            )
        return answer


def has_browser(environ: Mapping[str, str] = os.environ) -> bool:
    """Return True if there is probably a browser with a window on this machine."""
    if environ.get("BROWSER") or sys.platform in ("darwin", "win32"):
        return True
    return bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))


async def _first(*coroutines: Coroutine[Any, Any, _T]) -> _T:
    """Return the result of the coroutine that ends first, and cancel the others."""
    tasks = [asyncio.ensure_future(each) for each in coroutines]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return next(task for task in tasks if task in done).result()
    finally:
        for task in tasks:
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks, return_exceptions=True)
