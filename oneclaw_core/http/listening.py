"""Ports that servers listen at."""

from __future__ import annotations

import errno
import socket

from oneclaw_core.errors import PortError

_BACKLOG = 128
_LAST_PORT = 65_535


def listen(host: str, port: int, *, advice: str) -> socket.socket:
    """Return a socket that listens; clients can connect from now on.

    Args:
        host: an address of this machine.
        port: 0 for any free one.
        advice: what the user can do if the port is in use, such as which option chooses another one.

    Raises:
        PortError: that is not possible, such as because another program listens there.
    """
    if not 0 <= port <= _LAST_PORT:  # the system would take the lower 16 bits
        raise PortError(f"port {port} cannot be used: a port is a number from 0 to {_LAST_PORT}")
    made = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        made = socket.socket(family, kind, protocol)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(_BACKLOG)
        made.setblocking(False)
    except OSError as error:
        if made is not None:
            made.close()
        is_taken = error.errno == errno.EADDRINUSE
        cause = "another program listens there" if is_taken else error.strerror or str(error)
        raise PortError(f"port {port} of {host} cannot be used: {cause}; {advice}") from None
    return made
