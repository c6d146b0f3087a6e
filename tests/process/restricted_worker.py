"""A process that restricts itself, tries what it should not be able to do, and tells how that ended.

Arguments: the user to become, and the policy's directories as JSON.
"""

import ctypes
import errno
import json
import os
import resource
import socket
import subprocess
import sys
import threading
from pathlib import Path

from oneclaw_core.process import SandboxPolicy, restrict_this_process
from oneclaw_core.process.sandbox import confinement, landlock, seccomp

# Another user may not be able to import from here.
LOADED = resource, confinement, landlock, seccomp


def outcome(attempt):
    try:
        attempt()
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))
    return "done"


def system_call(number, *arguments):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(number, *arguments) < 0:
        raise OSError(ctypes.get_errno(), "")


def in_child(number):
    """Fork by hand: the child ends at once."""
    if os.fork() == 0:
        os._exit(number)
    os.wait()


def main():
    user, directory, is_computing = int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] == "computing"
    parent = os.getppid()
    secret, workspace = directory / "secret", directory / "workspace"
    os.link(secret / "key", directory / "linked")
    inherited_read = Path("/etc/hosts")
    if user != os.getuid():
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
    policy = (
        SandboxPolicy(is_system_readable=False, can_start_programs=False)
        if is_computing
        else SandboxPolicy(write_roots=(workspace,), hidden_folders=(secret,), hidden_files=(directory / "linked",))
    )
    restrict_this_process(policy)
    thread_outcome = []
    thread = threading.Thread(target=lambda: thread_outcome.append(outcome((secret / "key").read_text)))
    thread.start()
    thread.join()
    attempts = {
        "read a system file": lambda: inherited_read.read_text(),
        "read a hidden file": lambda: (secret / "key").read_text(),
        "read it by a link": lambda: (directory / "linked").read_text(),
        "list a hidden folder": lambda: next(secret.iterdir()),
        "write in the workspace": lambda: (workspace / "made").write_text("x"),
        "write beside it": lambda: (directory / "made").write_text("x"),
        # Opened only: were it open, writing would change the machine.
        "open a kernel setting": lambda: os.close(os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY)),
        "open a system file": lambda: os.close(os.open("/etc/hosts", os.O_WRONLY)),
        "tcp": lambda: socket.socket().close(),
        "udp": lambda: socket.socket(type=socket.SOCK_DGRAM).close(),
        "mptcp": lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262).close(),
        "unix": lambda: socket.socket(socket.AF_UNIX).close(),
        "netlink": lambda: socket.socket(16, socket.SOCK_RAW).close(),
        "vsock": lambda: socket.socket(40).close(),
        "socket pair": lambda: [each.close() for each in socket.socketpair()],
        "signal the parent": lambda: os.kill(parent, 0),
        "read the parent's environment": lambda: Path(f"/proc/{parent}/environ").read_bytes(),
        "keyctl": lambda: system_call({"x86_64": 250, "aarch64": 219}[os.uname().machine], 0, -3, 0),
        "io_uring": lambda: system_call(425, 1, None),
        "new user namespace": lambda: system_call({"x86_64": 272, "aarch64": 97}[os.uname().machine], 0x10000000),
        "trace itself": lambda: system_call({"x86_64": 101, "aarch64": 117}[os.uname().machine], 0, 0, 0, 0),
        "fork": lambda: in_child(0),
        "run a program": lambda: subprocess.run(["/bin/true"], check=True),
    }
    report = {name: outcome(attempt) for name, attempt in attempts.items()}
    sys.stdout.write(json.dumps({**report, "read a hidden file in a thread": thread_outcome[0]}))


main()
