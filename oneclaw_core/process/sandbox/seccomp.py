"""Filters of system calls for seccomp: 8-byte instructions that the kernel runs before each call.

A filter sees the numbers of a call and its arguments, neither paths nor what pointers lead to. It is kept when another
program is run. Instructions and numbers: ``linux/filter.h``, ``linux/seccomp.h`` and ``asm/unistd.h`` of Linux.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
from functools import lru_cache
from typing import TYPE_CHECKING

from oneclaw_core.process.sandbox.policy import Network, SandboxPolicy

if TYPE_CHECKING:
    from collections.abc import Iterable


# By machine: its number in ``linux/audit.h``, and the numbers of its system calls.
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# Names, then the numbers on x86_64 and on aarch64, 0 for none.
_NUMBERS = {
    # Other processes, their memory and descriptors.
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    # Keys of the user that the kernel keeps.
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    # They get around rules of sockets, or are where kernels were broken into.
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "bpf": (321, 280),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282), "fanotify_init": (300, 262),
    "lookup_dcookie": (212, 18), "modify_ldt": (154, 0), "uselib": (134, 0), "nfsservctl": (180, 42),
    # Mounts and namespaces.
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "open_tree": (428, 428),
    "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432),
    "fspick": (433, 433), "mount_setattr": (442, 442), "open_tree_attr": (467, 467), "unshare": (272, 97),
    "setns": (308, 268), "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    # The machine.
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106), "kexec_load": (246, 104),
    "kexec_file_load": (320, 294), "swapon": (167, 224), "swapoff": (168, 225), "reboot": (169, 142),
    "acct": (163, 89), "quotactl": (179, 60), "quotactl_fd": (443, 443), "iopl": (172, 0), "ioperm": (173, 0),
    "settimeofday": (164, 170), "clock_settime": (227, 112), "adjtimex": (159, 171), "sethostname": (170, 161),
    "setdomainname": (171, 162), "vhangup": (153, 58), "syslog": (103, 116),
}  # fmt: skip
# Memory, semaphores and queues that all processes of the user share, and what reclaims the memory of others.
_SHARED_MEMORY = {
    "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "semget": (64, 190), "semop": (65, 193),
    "semctl": (66, 191), "semtimedop": (220, 192), "msgget": (68, 186), "msgsnd": (69, 189), "msgrcv": (70, 188),
    "msgctl": (71, 187), "mq_open": (240, 180), "mq_unlink": (241, 181), "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
}  # fmt: skip
# What changes another process, with the argument that names it: 0 stands for the caller.
_OF_A_PROCESS = {
    "prlimit64": (302, 261, 0), "setpriority": (141, 140, 1), "ioprio_set": (251, 30, 1),
    "sched_setparam": (142, 118, 0), "sched_setscheduler": (144, 119, 0), "sched_setaffinity": (203, 122, 0),
    "sched_setattr": (314, 274, 0), "migrate_pages": (256, 238, 0), "move_pages": (279, 239, 0),
}  # fmt: skip
_WATCHES = {"inotify_init": (253, 0), "inotify_init1": (294, 26), "inotify_add_watch": (254, 27)}
# What changes a file by its path without opening it, which Landlock has no rule for.
_ATTRIBUTES = {
    "chmod": (90, 0), "fchmodat": (268, 53), "fchmodat2": (452, 452), "chown": (92, 0), "lchown": (94, 0),
    "fchownat": (260, 54), "utime": (132, 0), "utimes": (235, 0), "futimesat": (261, 0), "utimensat": (280, 88),
    "setxattr": (188, 5), "lsetxattr": (189, 6), "setxattrat": (463, 463), "removexattr": (197, 14),
    "lremovexattr": (198, 15), "removexattrat": (466, 466),
}  # fmt: skip
_PROGRAM_STARTS = {"execve": (59, 221), "execveat": (322, 281), "fork": (57, 0), "vfork": (58, 0)}
_SOCKET, _CLONE, _CLONE3, _IOCTL = (41, 198), (56, 220), (435, 435), (16, 29)
_FIRST_X32_NUMBER = 0x40000000
_NAMESPACE_FLAGS = 0x7E020000
_THREAD_FLAG = 0x00010000
# They write into a terminal as if typed.
_TERMINAL_INPUT = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
_MPTCP = 262

UNIX = 1
"""Address family of the sockets that connect programs of one machine."""
INTERNET = (2, 10, 16)
"""Address families of sockets: IPv4, IPv6, and netlink, by which libc lists addresses."""

_LOAD, _EQUAL, _AT_LEAST, _HAS_BITS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x50000
_AT_NUMBER, _AT_ARCHITECTURE, _AT_ARGUMENTS = 0, 4, 16

_FIRST_DESCRIPTOR = 20


def filter_file(policy: SandboxPolicy) -> int:
    """Write the filter of a policy, for programs that share the network and the process ids of the machine, to memory.

    Returns:
        The descriptor of a file.

    Raises:
        NotImplementedError: It is not known how the architecture numbers its system calls.
        OSError: There can be no such file.
    """
    families = INTERNET if policy.network is Network.ALL else ()
    return in_memory(build_filter(families, can_start_programs=policy.can_start_programs, shares_processes=True))


def in_memory(data: bytes) -> int:
    """Return a descriptor of a file that holds some bytes, beyond those that a shell can name."""
    first = os.memfd_create("filter")
    try:
        os.write(first, data)
        os.lseek(first, 0, os.SEEK_SET)
        return fcntl.fcntl(first, fcntl.F_DUPFD_CLOEXEC, _FIRST_DESCRIPTOR)
    finally:
        os.close(first)


@lru_cache
def build_filter(
    families: tuple[int, ...] = (),
    *,
    can_start_programs: bool = True,
    shares_processes: bool = False,
    machine: str | None = None,
) -> bytes:
    """Build a filter that refuses what no program in a sandbox needs.

    Args:
        families: The address families that sockets may have; pairs of connected sockets are always allowed.
        can_start_programs: False to allow threads, but no other process and no other program; nor changes of the
            permissions, owners, times and marks of files by their paths.
        shares_processes: True without a namespace for process ids and shared memory: those of others are refused.
        machine: The machine's architecture as ``os.uname`` names it; by default this one's.

    Raises:
        NotImplementedError: It is not known how the architecture numbers its system calls.
    """
    machine = machine or os.uname().machine
    if machine not in _ARCHITECTURES:
        raise NotImplementedError(f"no filter of system calls is known for {machine}")
    column = list(_ARCHITECTURES).index(machine)
    refused = [each[column] for each in _NUMBERS.values()]
    if not can_start_programs:
        refused += [each[column] for each in (_PROGRAM_STARTS | _WATCHES | _ATTRIBUTES).values()]
    if shares_processes:
        refused += [each[column] for each in _SHARED_MEMORY.values()]
    program = [
        _step(_LOAD, _AT_ARCHITECTURE),
        _step(_EQUAL, _ARCHITECTURES[machine], 1, 0),
        _step(_RETURN, _KILL),
        _step(_LOAD, _AT_NUMBER),
    ]
    if machine == "x86_64":
        program += [_step(_AT_LEAST, _FIRST_X32_NUMBER, 0, 1), _step(_RETURN, _ERROR | errno.ENOSYS)]
    for number in filter(None, refused):
        program += _when(number, [_step(_RETURN, _ERROR | errno.EPERM)])
    for *numbers, argument in _OF_A_PROCESS.values() if shares_processes else ():
        rule = [_load_argument(argument), _step(_EQUAL, 0, 1, 0), _step(_RETURN, _ERROR | errno.EPERM)]
        program += _when(numbers[column], [*rule, _step(_RETURN, _ALLOW)])
    # libc then uses clone, whose flags are no pointer.
    program += _when(_CLONE3[column], [_step(_RETURN, _ERROR | errno.ENOSYS)])
    program += _when(_CLONE[column], _clone_rule(can_start_programs=can_start_programs))
    program += _when(_IOCTL[column], [_load_argument(1), *_refuse_values(_TERMINAL_INPUT), _step(_RETURN, _ALLOW)])
    program += _when(_SOCKET[column], _socket_rule(families))
    return b"".join([*program, _step(_RETURN, _ALLOW)])


def _clone_rule(*, can_start_programs: bool) -> list[bytes]:
    rule = [_load_argument(0), _step(_HAS_BITS, _NAMESPACE_FLAGS, 0, 1), _step(_RETURN, _ERROR | errno.EPERM)]
    if not can_start_programs:
        rule += [_step(_HAS_BITS, _THREAD_FLAG, 1, 0), _step(_RETURN, _ERROR | errno.EPERM)]
    return [*rule, _step(_RETURN, _ALLOW)]


def _socket_rule(families: Iterable[int]) -> list[bytes]:
    allowed = [step for family in families for step in (_step(_EQUAL, family, 0, 1), _step(_RETURN, _ALLOW))]
    return [
        _load_argument(2),
        *_refuse_values([_MPTCP]),
        _load_argument(0),
        *allowed,
        _step(_RETURN, _ERROR | errno.EPERM),
    ]


def _refuse_values(values: Iterable[int]) -> list[bytes]:
    return [step for each in values for step in (_step(_EQUAL, each, 0, 1), _step(_RETURN, _ERROR | errno.EPERM))]


def _when(number: int, steps: list[bytes]) -> list[bytes]:
    return [_step(_EQUAL, number, 0, len(steps)), *steps]


def _load_argument(index: int) -> bytes:
    """Load the lower half of an argument; both architectures have it first."""
    return _step(_LOAD, _AT_ARGUMENTS + 8 * index)


def _step(code: int, value: int, skipped_if_true: int = 0, skipped_if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, skipped_if_true, skipped_if_false, value)
