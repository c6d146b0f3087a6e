"""Open a listening socket in the network namespace of a sandbox, and hand it out.

A socket stays in the namespace in which it was made, whichever process holds it. So the program can
accept there what the sandbox connects to, without a process that passes it on and without a port that others could
reach. The supervisor of a program imports this where it is needed.
"""

from __future__ import annotations

import _socket
import fcntl
import os
import sys

from oneclaw_core.process.python_worker import call_system

ADDRESS = ("127.0.0.1", 3128)
BACKLOG = 64
_NS_GET_USERNS = 0xB701
_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
# The loopback interface of the namespace may not be up yet.
_IP_FREEBIND = 15


def hand_out_listener(pid: int, channel: int) -> bool:
    """Send a listening socket of another process' network namespace through a Unix socket.

    A separate process enters the namespace: nothing leads back out of it.

    Args:
        pid: a process in the namespace, which this user has made.
        channel: a descriptor of the Unix socket.

    Returns:
        True if it was sent.
    """
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1] == 0
    try:
        _enter(pid)
        listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
        listener.setsockopt(_socket.IPPROTO_IP, _IP_FREEBIND, 1)
        listener.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
        listener.bind(ADDRESS)
        listener.listen(BACKLOG)
        number = listener.fileno().to_bytes(4, sys.byteorder)
        sender = _socket.socket(fileno=channel)
        sender.sendmsg([b"\0"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, number)])
        os._exit(0)
    finally:
        os._exit(1)


def _enter(pid: int) -> None:
    """Enter the network namespace of a process, by way of the user namespace that owns it."""
    network = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
    owner = fcntl.ioctl(network, _NS_GET_USERNS)
    for namespace, kind in ((owner, _CLONE_NEWUSER), (network, _CLONE_NEWNET)):
        if call_system("setns", namespace, kind) != 0:
            raise OSError(f"the namespace of process {pid} cannot be entered")
