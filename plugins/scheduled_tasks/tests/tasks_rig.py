"""What the tests drive: the tasks of a home, a server that counts, and workers as processes."""

import asyncio
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from oneclaw_scheduled_tasks.database import TaskDatabase, tasks_database_url
from oneclaw_scheduled_tasks.service import TaskService

from oneclaw_core import OneClaw, find_home

DEADLINE_SECONDS = 300


# What workers import.
class Talk:
    """Calls tools one after the other in one open home, and notes what the user is asked."""

    def __init__(self, home, answer):
        self.home = home
        self.answer = answer
        self.asked = []

    def __call__(self, *calls):
        """Run ``(name, arguments)`` calls; give their results."""

        async def ask(request):
            self.asked.append((request.permission, request.detail))
            return self.answer

        async def run():
            async with OneClaw.open(self.home, ask=ask) as claw:
                return [(await claw.call_tool(name, arguments)).result for name, arguments in calls]

        return asyncio.run(run())


class Tasks:
    """The tasks of a home, from outside."""

    def __init__(self, home):
        self.home = home
        self.url = tasks_database_url(find_home().database_url)
        self._database = None

    def add(self, *words, at=None):
        """Make tasks as at a time, with nothing in between; give them."""

        async def run():
            async with OneClaw.open(self.home) as claw, await TaskDatabase.open(self.url) as database:
                service = TaskService(claw.services, database, lambda: at or datetime.now(UTC))
                made = [await service.new(each) for each in words]
                for task in made:
                    await service.add(task)
                return made

        return asyncio.run(run())

    def end(self, task, status, **values):
        """Have a run of a task that ended."""

        async def run():
            async with OneClaw.open(self.home) as claw, TaskService.open(claw.services) as service:
                await end_run(service, task, status, **values)

        asyncio.run(run())

    def call(self, work, *arguments):
        """Run a transaction."""
        if self._database is None:
            self._database = TaskDatabase.open_here(self.url)
        return self._database.run_here(work, *arguments)

    def all_runs(self):
        """Every run there is."""
        from oneclaw_scheduled_tasks.tables import runs
        from oneclaw_scheduled_tasks.task import Run
        from sqlalchemy import select

        return self.call(lambda connection: [Run(**row) for row in connection.execute(select(runs)).mappings()])

    def close(self):
        if self._database is not None:
            self._database.close()


async def end_run(service, task, status, **values):
    """Have a run of a task, as a worker left it."""
    from oneclaw_scheduled_tasks.tables import runs
    from sqlalchemy import update

    run = await service.run(task.id)
    columns = {
        "status": status,
        "is_queued": True,
        "ended_at": datetime(1970, 1, 2, tzinfo=UTC) if status.is_final else None,
        **values,
    }
    await service.database.run(lambda each: each.execute(update(runs).where(runs.c.id == run.id).values(columns)))
    return run.id


class CountingServer:
    """Counts requests by path; one to a path with ``hold`` in it is answered when the test lets go."""

    def __init__(self):
        self.hits = {}
        self.bodies = []
        self.changed = threading.Condition()
        self.released = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):  # the standard library's name
                outer.count(self.path)
                if "hold" in self.path:
                    outer.released.wait(DEADLINE_SECONDS)
                try:
                    self.send_response(200)
                    self.send_header("Content-Type", "text/plain")
                    self.end_headers()
                    self.wfile.write(b"counted")
                except OSError:
                    pass  # the client is dead

            def do_POST(self):
                outer.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
                outer.count(self.path)
                self.send_response(503 if "broken" in self.path else 204)
                self.end_headers()

            def log_message(self, *arguments):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def count(self, path):
        with self.changed:
            self.hits[path] = self.hits.get(path, 0) + 1
            self.changed.notify_all()

    def wait_for(self, path):
        with self.changed:
            assert self.changed.wait_for(lambda: path in self.hits, DEADLINE_SECONDS), f"no one asked for {path}"

    def close(self):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


class Workers:
    """Workers as processes.

    Args:
        directory: where what they print is kept.
    """

    def __init__(self, directory):
        self.directory = directory
        self.processes = []

    def start(self, *options):
        """Start one as a user does."""
        command = [sys.executable, "-m", "oneclaw_core", "tasks", "worker", "--dead-after=5", *options]
        with (self.directory / f"worker-{len(self.processes)}.txt").open("wb") as log:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def with_pid(self, pid):
        return next(each for each in self.processes if each.pid == pid)

    def output(self):
        return "\n".join(each.read_text() for each in sorted(self.directory.glob("worker-*.txt")))

    def close(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()


def not_successful(runs):
    """Return what tells why runs did not succeed."""
    return [(run.status, run.error, run.notes) for run in runs if run.status != "success"]


def until(condition, what, seconds=DEADLINE_SECONDS):
    """Wait until a condition holds; give what it gives."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"not in time: {what}"
        time.sleep(0.1)
    return found
