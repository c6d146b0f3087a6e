"""The system calls by which a process on Linux confines itself, and all that it starts, for ever.

The process that becomes a program imports this module, so it imports nothing that takes time.
"""

from __future__ import annotations

import ctypes
import os
import struct

_PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_SECUREBITS, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT = 4, 24, 28, 38, 47
_CAP_AMBIENT_CLEAR_ALL = 4
_CAPABILITY_VERSION_3 = 0x20080522
_MOST_CAPABILITIES = 64
# Being root gives no capabilities to a program that is run: SECBIT_NOROOT, and its lock.
_NO_ROOT = 0b11
_LANDLOCK_RESTRICT_SELF = 446
_SECCOMP = {"x86_64": 317, "aarch64": 277}
_SECCOMP_SET_MODE_FILTER, _SECCOMP_FOR_ALL_THREADS = 1, 1

_libc = ctypes.CDLL(None, use_errno=True)


def system_call(number: int, *arguments: object) -> int:
    """Make a system call.

    Raises:
        OSError: It fails.
    """
    result: int = _libc.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        raise _last_error()
    return result


def confine(ruleset: int | None, program: bytes | None) -> None:
    """Give up privileges, then enter a Landlock ruleset and a seccomp filter.

    Args:
        ruleset: The descriptor of a ruleset; ``None`` for none.
        program: The instructions of a filter; ``None`` for none. It holds for threads that run already too.

    Raises:
        OSError: The system refuses one of them.
    """
    drop_capabilities()
    _control(_PR_SET_DUMPABLE, 0)
    _control(_PR_SET_NO_NEW_PRIVS, 1)
    if ruleset is not None:
        system_call(_LANDLOCK_RESTRICT_SELF, ruleset, 0)
    if program is not None:
        instructions = ctypes.create_string_buffer(program, len(program))
        filter_ = ctypes.create_string_buffer(struct.pack("@HP", len(program) // 8, ctypes.addressof(instructions)))
        number = _SECCOMP[os.uname().machine]
        unsynchronised = system_call(number, _SECCOMP_SET_MODE_FILTER, _SECCOMP_FOR_ALL_THREADS, filter_)
        if unsynchronised:
            raise OSError(0, f"the thread {unsynchronised} has a separate filter")


def enter_scope(ruleset: int) -> None:
    """Enter a Landlock ruleset, and keep the privileges that setting up namespaces needs.

    Args:
        ruleset: The descriptor of a ruleset without rules of files, which would forbid mounts.

    Raises:
        OSError: The system refuses it.
    """
    _control(_PR_SET_NO_NEW_PRIVS, 1)
    system_call(_LANDLOCK_RESTRICT_SELF, ruleset, 0)


def drop_capabilities() -> None:
    """Give up all capabilities, also those that root gets when it runs a program.

    Raises:
        OSError: The system refuses it.
    """
    header = ctypes.create_string_buffer(struct.pack("=Ii", _CAPABILITY_VERSION_3, 0), 8)
    sets = ctypes.create_string_buffer(24)
    if _libc.capget(header, sets) < 0:
        raise _last_error()
    if not any(sets.raw):
        return
    # They need capabilities themselves, which a user's process can lack.
    for capability in range(_MOST_CAPABILITIES):
        _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    _libc.prctl(_PR_SET_SECUREBITS, _NO_ROOT, 0, 0, 0)
    _libc.prctl(_PR_CAP_AMBIENT, _CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    if _libc.capset(header, ctypes.create_string_buffer(24)) < 0:
        raise _last_error()


def _control(option: int, value: int) -> None:
    if _libc.prctl(option, value, 0, 0, 0) < 0:
        raise _last_error()


def _last_error() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))
