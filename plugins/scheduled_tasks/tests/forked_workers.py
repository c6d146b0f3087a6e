"""Starts the program with everything imported, by fork, which takes most of the time off; a program for tasks_rig.py.

It reads requests, a line of JSON each, and answers each with one: ``["start", arguments, environ, log]`` with the
process id, ``["wait", pid, seconds]`` with the exit status, minus the signal's number if it was killed, or null if it
still runs. When its standard input ends, it kills what it has started.
"""

import json
import os
import signal
import sys
import time
from importlib import import_module


def prepare():
    """Import what workers import. Nothing is run: a thread would not survive a fork."""
    for name in (
        "anyio._backends._asyncio",
        "dbos._sys_db_sqlite",
        "httpcore",
        "httpx",
        "jsonschema",
        "oneclaw_core.app",
        "oneclaw_core.builtin.web",
        "oneclaw_core.cli.main",
        "oneclaw_core.providers.offline",
        "oneclaw_core.store.postgres_backend",
        "oneclaw_core.store.sqlite_backend",
        "oneclaw_scheduled_tasks.commands",
        "oneclaw_scheduled_tasks.service",
        "oneclaw_scheduled_tasks.tools",
        "oneclaw_scheduled_tasks.worker_command",
        "pydantic",
        "sqlalchemy.dialects.postgresql.psycopg",
        "sqlalchemy.dialects.sqlite",
    ):
        import_module(name)


def start(arguments, environ, log):
    """Start the program; give its process id."""
    child = os.fork()
    if child:
        return child
    os.environ.clear()
    os.environ.update(environ)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 1)
    os.dup2(1, 2)
    from oneclaw_core.cli.main import main

    status = 1
    try:
        status = main(arguments)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def wait(pid, seconds):
    """Wait for a process."""
    deadline = time.monotonic() + seconds
    while True:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            return None
        time.sleep(0.02)


def serve():
    prepare()
    started = set()
    for line in sys.stdin:
        kind, *rest = json.loads(line)
        if kind == "start":
            answer = start(*rest)
            started.add(answer)
        else:
            answer = wait(*rest)
            if answer is not None:
                started.discard(rest[0])
        sys.stdout.write(f"{json.dumps(answer)}\n")
        sys.stdout.flush()
    for pid in started:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


if __name__ == "__main__":
    serve()
