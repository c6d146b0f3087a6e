"""A person who signs in: a browser, a screen and a keyboard."""

from __future__ import annotations

import asyncio
import threading


class UserAtBrowser:
    """Agrees to everything.

    Attributes:
        opened: addresses that the browser has opened.
        shown: lines shown in the terminal.
        has_browser: False if none can be opened.
        browse: what the browser does with an address.
        typed: makes the line that the user types from the address shown; ``None`` never types.
    """

    def __init__(self, server):
        self.opened, self.shown = [], []
        self.has_browser = True
        self.browse = server.visit
        self.typed = None
        self._has_read = threading.Event()

    @property
    def options(self):
        """Arguments of ``sign_in``."""
        return {"open_browser": True, "show": self.show, "read_line": self.read_line}

    def open_browser(self, url):
        """Have the browser go to an address, once that is shown, as no person is faster."""
        self.opened.append(url)

        def browse():
            self._has_read.wait(10)
            self.browse(url)

        threading.Thread(target=browse, daemon=True).start()
        return self.has_browser

    def show(self, line):
        """Show a line; an address is read."""
        self.shown.append(line)
        if line in self.opened:
            self._has_read.set()

    async def read_line(self):
        if self.typed is None:
            await asyncio.Event().wait()
        return await asyncio.to_thread(self.typed, self.shown[1])
