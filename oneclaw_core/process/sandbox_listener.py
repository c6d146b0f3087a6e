"""Accept what a program in a sandbox connects to: the side of the program that runs it."""

from __future__ import annotations

import asyncio
import socket
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    OnConnection = Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]

_DESCRIPTOR_BYTES = 4


class SandboxListener:
    """A listener in the network namespace of a sandbox; connections are served on the running event loop.

    Attributes:
        channel: a descriptor by which the supervisor sends the socket: see ``network_namespace``.
    """

    def __init__(self, on_connection: OnConnection) -> None:
        self._on_connection = on_connection
        self._near, self._far = socket.socketpair()
        self.channel = self._far.fileno()
        self._loop = asyncio.get_running_loop()
        self._near.setblocking(False)
        self._loop.add_reader(self._near, self._receive)
        self._socket: socket.socket | None = None
        self._server: asyncio.Server | None = None
        self._serving: asyncio.Task[None] | None = None

    def close(self) -> None:
        """Accept no more; connections that were accepted go on."""
        self._loop.remove_reader(self._near)
        if self._serving is not None:
            self._serving.cancel()
        if self._server is not None:
            self._server.close()
        for each in (self._near, self._far, self._socket):
            if each is not None:
                each.close()

    def _receive(self) -> None:
        self._loop.remove_reader(self._near)
        _, ancillary, *_ = self._near.recvmsg(1, socket.CMSG_SPACE(_DESCRIPTOR_BYTES))
        for _, _, numbers in ancillary:
            self._socket = socket.socket(fileno=int.from_bytes(numbers, sys.byteorder))
            self._serving = asyncio.create_task(self._serve(self._socket))

    async def _serve(self, listener: socket.socket) -> None:
        # What is there before it serves can be closed if this is cancelled.
        self._server = await asyncio.start_server(self._on_connection, sock=listener, start_serving=False)
        await self._server.start_serving()
