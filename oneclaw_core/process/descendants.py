"""Find and kill the descendants of a process.

A process group is not enough: a process that calls ``setsid`` leaves it, and a process whose parent ends gets another
parent. On Linux a process can adopt the orphans below it, so that they stay among its descendants, which ``/proc``
lists. Elsewhere only process groups can be killed.

Programs that must start fast import this module, so it imports neither ``pathlib`` nor ``contextlib``.
"""

from __future__ import annotations

import os
import signal
import sys

_PR_SET_CHILD_SUBREAPER = 36
_ENDED_STATES = (b"Z", b"X")
# Killing one process can reveal others that it had just started.
_MOST_ROUNDS = 100


def descendants(ancestor: int) -> dict[int, int]:
    """Find the running descendants of a process.

    Returns:
        Their sessions by their process ids; empty where there is no ``/proc``.
    """
    children: dict[int, list[int]] = {}
    sessions: dict[int, int] = {}
    ended = set()
    for pid in _all_pids():
        # The name, in parentheses, can hold anything; after it come state, parent, group and session.
        fields = read_proc(f"/proc/{pid}/stat").rpartition(b")")[2].split(maxsplit=4)
        if len(fields) < 5:  # it has just ended
            continue
        children.setdefault(int(fields[1]), []).append(pid)
        sessions[pid] = int(fields[3])
        if fields[0] in _ENDED_STATES:
            ended.add(pid)
    found = list(children.get(ancestor, ()))
    for pid in found:
        found += children.get(pid, ())
    return {pid: sessions[pid] for pid in found if pid not in ended}


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends; only Linux supports it."""
    if sys.platform != "linux":
        return
    try:
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    except (ImportError, OSError, AttributeError):  # orphans are lost, everything else works
        return


def kill_descendants(ancestor: int) -> None:
    """Kill all descendants of a process, except those that belong to other users."""
    refused: set[int] = set()
    for _ in range(_MOST_ROUNDS):
        found = [pid for pid in descendants(ancestor) if pid not in refused]
        if not found:
            return
        refused.update(pid for pid in found if not send_signal(pid, signal.SIGKILL))


def kill_group(group: int) -> None:
    """Kill a process group, or the process of that number where there are no groups."""
    try:
        if hasattr(os, "killpg"):
            os.killpg(group, signal.SIGKILL)
        else:
            os.kill(group, signal.SIGTERM)
    except (ProcessLookupError, PermissionError):  # it has ended, or belongs to another user
        return


def has_group(group: int) -> bool:
    """Return True if a process group has members."""
    if not hasattr(os, "killpg"):
        return False
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it belongs to another user
        return True
    return True


def send_signal(pid: int, number: int) -> bool:
    """Send a signal; return False if the process has ended or belongs to another user."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def read_proc(path: str) -> bytes:
    """Read the beginning of a file of ``/proc``; empty for a process that has ended."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(descriptor, 4096)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def _all_pids() -> list[int]:
    try:
        with os.scandir("/proc") as entries:
            return [int(entry.name) for entry in entries if entry.name.isdigit()]
    except OSError:
        return []
