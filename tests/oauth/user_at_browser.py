"""A person who signs in: a browser, a screen and a keyboard."""

from __future__ import annotations

import asyncio


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

    @property
    def options(self):
        """Arguments of ``sign_in``."""
        return {"open_browser": True, "show": self.shown.append, "read_line": self.read_line}

    async def read_line(self):
        if self.typed is None:
            await asyncio.Event().wait()
        return await asyncio.to_thread(self.typed, self.shown[1])
