"""Functions that test_python_process.py runs in workers."""

import json
import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path


def is_open(descriptor):
    with suppress(OSError):
        os.fstat(descriptor)
        return True
    return False


def report():
    """Say what the worker has."""
    found = {
        "pid": os.getpid(),
        "secret": sys.stdin.readline().strip(),
        "arguments": sys.argv[1:],
        "directory": str(Path.cwd()),
        "variable": os.environ.get("WORKER_VARIABLE"),
        "descriptors": [number for number in range(256) if is_open(number)],
        "modules": sorted({"starts_thread", "ends_all"} & {*sys.modules}),
        "threads": len(threading.enumerate()),
        "group": os.getpgrp(),
        "session": os.getsid(0),
    }
    sys.stdout.write(json.dumps(found))


def leave():
    """End with a status."""
    sys.exit(7)


def crash():
    """End by a signal."""
    os.kill(os.getpid(), int(sys.argv[1]))


def wait():
    """Start a process in another session, say who is who, and never end."""
    child = subprocess.Popen(["sleep", "600"], start_new_session=True)
    os.write(1, b"%d %d\n" % (os.getpid(), child.pid))
    while True:
        time.sleep(60)


def read_beside():
    """Try to read a file in a thread that a module has started, and in the main one."""
    import reads_in_thread

    found = {"main": reads_in_thread.attempt(sys.argv[1]), "thread": reads_in_thread.in_thread(sys.argv[1])}
    sys.stdout.write(json.dumps(found))
