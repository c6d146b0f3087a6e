"""Bringing the user to a service's consent page, in a browser here or elsewhere, and waiting for the answer."""

from __future__ import annotations

import asyncio
import os
import sys
import webbrowser
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import parse_qs, urlsplit

from oneclaw_core.errors import UsageError
from oneclaw_core.http.background import start_in_background
from oneclaw_core.http.oauth.redirect import redirect_answer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping
    from typing import Any

    from oneclaw_core.http.oauth.redirect import RedirectListener

    ReadLine = Callable[[], Awaitable[str | None]]

_T = TypeVar("_T")

WAIT_SECONDS = 600.0


class OAuthConsent:
    """One question to the user: :meth:`redirect` asks it, :meth:`answer` waits for the answer.

    Two calls, since libraries with a flow of their own, such as that of MCP, want two.

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
