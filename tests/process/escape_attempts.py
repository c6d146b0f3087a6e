"""Attempts to get out of a sandbox: each is made, and how it ended is told as JSON.

The sandbox may not let this be run with the Python of the tests, so it needs the standard library alone. What belongs
to the machine is opened for writing at most, and never written: in a sandbox with a hole that would change the machine.
"""
# What the system calls answer, without a layer in between:
# ruff: noqa: PTH101, PTH103, PTH104, PTH108, PTH116, PTH123, PTH208

import contextlib
import ctypes
import errno
import fcntl
import json
import os
import platform
import resource
import signal
import socket
import subprocess
import sys

NUMBERS = {"keyctl": (250, 219), "unshare": (272, 97), "ptrace": (101, 117), "mount": (165, 40), "setns": (308, 268)}
NEW_USER_NAMESPACE = 0x10000000


def outcome(attempt):
    try:
        result = attempt()
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))
    except subprocess.CalledProcessError as error:
        return f"exit status {error.returncode}"
    return "nothing" if result == "nothing" else "done"


def system_call(name, *arguments):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(NUMBERS[name][platform.machine() == "aarch64"], *arguments) < 0:
        raise OSError(ctypes.get_errno(), "")


def read(path):
    with open(path, "rb") as stream:
        return stream.read(100) or "nothing"


def open_for_writing(path):
    os.close(os.open(path, os.O_WRONLY))


def create(path):
    with open(path, "x") as stream:
        stream.write("made")
    os.unlink(path)


def connect(family, address, kind=socket.SOCK_STREAM, protocol=0):
    with socket.socket(family, kind, protocol) as made:
        made.settimeout(2)
        made.connect(address)
        made.send(b"x")


def io_uring():
    if ctypes.CDLL(None, use_errno=True).syscall(425, 1, ctypes.create_string_buffer(120)) < 0:
        raise OSError(ctypes.get_errno(), "")


def watch(folder):
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.inotify_init1(os.O_CLOEXEC)
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), "")
    try:
        if libc.inotify_add_watch(descriptor, folder.encode(), 0x100) < 0:
            raise OSError(ctypes.get_errno(), "")
    finally:
        os.close(descriptor)


def shared_memory(key):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.shmget(key, 0, 0) < 0:
        raise OSError(ctypes.get_errno(), "")


def limit(pid):
    resource.prlimit(pid, resource.RLIMIT_NOFILE, resource.prlimit(pid, resource.RLIMIT_NOFILE))


def keep_priority(pid):
    os.setpriority(os.PRIO_PROCESS, pid, os.getpriority(os.PRIO_PROCESS, pid))


def fork():
    if os.fork() == 0:
        os._exit(0)
    os.wait()


def type_into_a_terminal():
    ours, theirs = os.openpty()
    try:
        fcntl.ioctl(theirs, 0x5412, b"x")
    finally:
        os.close(ours)
        os.close(theirs)


def environments_with(canary):
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        for file in ("environ", "cmdline"):
            with contextlib.suppress(OSError), open(f"/proc/{name}/{file}", "rb") as stream:
                found += [name] if canary.encode() in stream.read() else []
    return found or "nothing"


def plant_a_hook(repository):
    """Move what is protected away, and make another one in its place."""
    os.rename(f"{repository}/.git", f"{repository}/.moved")
    os.makedirs(f"{repository}/.git/hooks")


def attempts(of):
    secret, outside, workspace = of["secret"], of["outside"], of["workspace"]
    parent = os.getppid()
    return {
        "read a system file": lambda: read("/etc/passwd"),
        "read a hidden file": lambda: read(f"{secret}/key"),
        "list a hidden folder": lambda: "nothing" if os.listdir(secret) == [] else "",
        "read through a link": lambda: read(f"{workspace}/link-to-key"),
        "read through the first process": lambda: read(f"/proc/1/root{secret}/key"),
        "read through the working directory of others": lambda: read(f"/proc/{of['pid']}/cwd{secret}/key"),
        "read a hidden file in the workspace": lambda: read(f"{workspace}/.env"),
        "read passwords": lambda: read("/etc/shadow"),
        "read the memory of the kernel": lambda: read("/proc/kcore"),
        "read the log of the kernel": lambda: os.close(os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)),
        "read an inherited descriptor": lambda: os.listdir(of["descriptor"]),
        "find a key in an environment": lambda: environments_with(of["yranac"][::-1]),
        "write in the workspace": lambda: create(f"{workspace}/made"),
        "write in the temporary directory": lambda: create(os.environ.get("TMPDIR", "/tmp") + "/made"),
        "write outside": lambda: create(f"{outside}/made"),
        "write through a link": lambda: create(f"{workspace}/link-outside/made"),
        "write in a hidden folder": lambda: create(f"{secret}/made"),
        "write in a system folder": lambda: create("/usr/made-by-a-sandboxed-test"),
        "open a system file": lambda: open_for_writing("/etc/passwd"),
        "open a setting of the kernel": lambda: open_for_writing("/proc/sys/kernel/core_pattern"),
        "open a file of the kernel": lambda: open_for_writing("/sys/kernel/uevent_helper"),
        "write a protected file": lambda: open_for_writing(f"{workspace}/.git/config"),
        "write in a protected folder": lambda: create(f"{workspace}/.git/hooks/made"),
        "replace a protected folder": lambda: plant_a_hook(workspace),
        "replace it in a nested repository": lambda: plant_a_hook(f"{workspace}/nested"),
        "rename what is above it": lambda: os.rename(f"{workspace}/nested", f"{workspace}/moved"),
        "make a socket of tcp": lambda: socket.socket().close(),
        "reach a server of the host": lambda: connect(socket.AF_INET, ("127.0.0.1", of["port"])),
        "reach it by mptcp": lambda: connect(socket.AF_INET, ("127.0.0.1", of["port"]), protocol=262),
        "reach another address": lambda: connect(socket.AF_INET, ("192.0.2.1", 80)),
        "send by udp": lambda: connect(socket.AF_INET, ("192.0.2.1", 53), socket.SOCK_DGRAM),
        "reach an abstract socket": lambda: connect(socket.AF_UNIX, f"\0{of['abstract']}"),
        "reach a socket in a folder": lambda: connect(socket.AF_UNIX, of["socket"]),
        "make a raw socket": lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).close(),
        "make a packet socket": lambda: socket.socket(17, socket.SOCK_RAW).close(),
        "make a socket of a virtual machine": lambda: socket.socket(40).close(),
        "make a pair of sockets": lambda: [each.close() for each in socket.socketpair()],
        "signal the one outside": lambda: os.kill(of["pid"], 0),
        "limit the one outside": lambda: limit(of["pid"]),
        "bind the one outside to a processor": lambda: os.sched_setaffinity(of["pid"], os.sched_getaffinity(0)),
        "change the priority of the one outside": lambda: keep_priority(of["pid"]),
        "read memory that the one outside shares": lambda: shared_memory(of["shared"]),
        "watch a folder outside": lambda: watch(outside),
        "see the size of a hidden file": lambda: os.stat(f"{secret}/key"),
        "change the permissions of a hidden file": lambda: os.chmod(f"{secret}/key", 0o777),
        "change the times of a hidden file": lambda: os.utime(f"{secret}/key"),
        "mark a hidden file": lambda: os.setxattr(f"{secret}/key", "user.mark", b"1"),
        "see a command line": lambda: read(f"/proc/{of['pid']}/cmdline"),
        "limit itself": lambda: limit(0),
        "signal the parent": lambda: os.kill(parent, 0),
        "trace": lambda: system_call("ptrace", 0, 0, 0, 0),
        "use keys of the kernel": lambda: system_call("keyctl", 0, -3, 0),
        "use io_uring": io_uring,
        "make a namespace": lambda: system_call("unshare", NEW_USER_NAMESPACE),
        "mount": lambda: system_call("mount", b"none", workspace.encode(), b"tmpfs", 0, None),
        "type into a terminal": type_into_a_terminal,
        "fork": fork,
        "run a program": lambda: subprocess.run(["/bin/true"], check=True),
    }


def report(of):
    return {name: outcome(attempt) for name, attempt in attempts(of).items()}


if __name__ == "__main__":
    signal.alarm(60)
    sys.stdout.write(json.dumps(report(json.loads(sys.argv[1]))))
