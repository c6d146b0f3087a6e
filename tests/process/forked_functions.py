"""Functions that test_forking.py runs in workers."""

import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path

calls = 0


def is_open(descriptor):
    with suppress(OSError):
        os.fstat(descriptor)
        return True
    return False


def report():
    """Say what the worker has, and how often this module has served."""
    global calls
    calls += 1
    secret = sys.stdin.readline().strip()
    found = {
        "pid": os.getpid(),
        "server": os.getppid(),
        "calls": calls,
        "secret": secret,
        "arguments": sys.argv[1:],
        "directory": str(Path.cwd()),
        "variable": os.environ.get("FORK_VARIABLE"),
        "descriptors": [number for number in range(256) if is_open(number)],
        "modules": sorted({"starts_thread", "opens_file"} & {*sys.modules}),
        "is_leader": os.getsid(0) == os.getpid() == os.getpgrp(),
    }
    sys.stdout.write(json.dumps(found))


def leave():
    """End with a status."""
    sys.exit(7)


def wait():
    """Say who is who, and never end."""
    os.write(1, b"%d %d\n" % (os.getpid(), os.getppid()))
    while True:
        time.sleep(60)
