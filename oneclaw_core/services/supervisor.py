"""The supervisor that started the program, such as systemd: it is told when the services run, and that they still do.

The protocol is that of ``sd_notify(3)``: datagrams to the socket that ``NOTIFY_SOCKET`` names.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, MutableMapping

READY_SECONDS = 30.0
"""The longest time until the program counts as ready, since a service may never say that it is."""
_SOCKET, _INTERVAL, _PID = "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"
_log = logging.getLogger("oneclaw.services")


class Supervisor:
    """The supervisor; without one, all methods do nothing.

    Args:
        environ: the environment. The variables of the supervisor are taken from it, since they are for this process
            alone.
    """

    def __init__(self, environ: MutableMapping[str, str] | None = None) -> None:
        environ = os.environ if environ is None else environ
        self._address = environ.pop(_SOCKET, "")
        interval, process = environ.pop(_INTERVAL, ""), environ.pop(_PID, "")
        is_for_us = interval.isdecimal() and process in ("", str(os.getpid()))
        self._interval_seconds = int(interval) / 1_000_000 if is_for_us else None

    @asynccontextmanager
    async def watching(self, ready: asyncio.Event) -> AsyncGenerator[None, None]:
        """Say that the program is ready, that its event loop runs, and at the end of the block that it stops.

        Args:
            ready: set when the services work, such as when a server listens.
        """
        task = asyncio.create_task(self._keep_alive(), name="supervisor")
        telling = asyncio.create_task(self._tell_ready(ready), name="supervisor: ready")
        try:
            yield
        finally:
            task.cancel()
            telling.cancel()
            self._send("STOPPING=1")

    async def _tell_ready(self, ready: asyncio.Event) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(READY_SECONDS):
                await ready.wait()
        self._send("READY=1")

    async def _keep_alive(self) -> None:
        while self._address and self._interval_seconds:
            self._send("WATCHDOG=1")
            await asyncio.sleep(self._interval_seconds / 3)

    def _send(self, text: str) -> None:
        if not self._address:
            return
        # An address that begins with @ is in Linux's abstract namespace.
        address = f"\0{self._address[1:]}" if self._address.startswith("@") else self._address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sending:
                sending.setblocking(False)
                sending.sendto(text.encode(), address)
        except OSError as error:
            _log.warning("the supervisor was not reached: %s", error)
