"""``oneclaw tasks worker``: running a worker in the foreground, and looking at those there are."""

from __future__ import annotations

import asyncio
import signal
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TextIO

from oneclaw_core import find_home
from oneclaw_core.cli import print_json, print_table, print_text, reserved_stdout, run_async
from oneclaw_scheduled_tasks.database import read_tasks
from oneclaw_scheduled_tasks.documents import run_document, shortened, worker_document
from oneclaw_scheduled_tasks.stored import BEAT_SECONDS, count_tasks, list_workers
from oneclaw_scheduled_tasks.task import RunStatus, duration_text
from oneclaw_scheduled_tasks.worker import Worker, WorkerOptions, work

if TYPE_CHECKING:
    from oneclaw_scheduled_tasks.task import Run, Task


def run_worker(concurrency: int, grace_seconds: float, dead_seconds: float, *, as_json: bool) -> None:
    """Work until a signal comes."""
    options = WorkerOptions(
        concurrency=concurrency,
        grace_seconds=grace_seconds,
        dead_seconds=dead_seconds,
        beat_seconds=min(BEAT_SECONDS, dead_seconds / 4),
    )
    with reserved_stdout() as stdout:
        run_async(_run_worker(options, stdout, as_json=as_json))


async def _run_worker(options: WorkerOptions, stdout: TextIO, *, as_json: bool) -> None:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    this = asyncio.current_task()
    assert this is not None

    def ask_to_stop() -> None:
        if stop.is_set():
            this.cancel()
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ask_to_stop)

    def report(task: Task, run: Run) -> None:
        if as_json:
            print_json({**run_document(run), "task": task.name}, indent=None, stream=stdout)
        else:
            print_text(_line(task, run), stream=stdout)
        stdout.flush()

    def began(worker: Worker) -> None:
        if not as_json:
            print_text(f"worker {worker.id[:8]} works; Ctrl-C stops it", stream=stdout)
            stdout.flush()

    try:
        await work(options, stop, report, began)
    except asyncio.CancelledError:
        if not stop.is_set():
            raise
        # The second signal: what was under way is taken up by other workers.


def _line(task: Task, run: Run) -> str:
    what = {
        RunStatus.RUNNING: "runs",
        RunStatus.SUCCESS: f"is done in {duration_text(run.duration_seconds)}: {run.answer or ''}",
        RunStatus.NEEDS_PERMISSION: f"needs a permission: {run.notes or ''}",
        RunStatus.STOPPED: "is stopped",
        RunStatus.FAILED: f"failed: {run.error or ''}",
        RunStatus.WAITING: f"will be tried again: {run.error or ''}",
    }.get(run.status, str(run.status))
    return f"{datetime.now().astimezone():%H:%M:%S} {task.name} ({run.id}) {shortened(what)}"


def print_status(dead_seconds: float, *, as_json: bool) -> bool:
    """List the workers; return True if there is one."""
    workers, tasks = read_tasks(find_home().database_url, lambda each: (list_workers(each), count_tasks(each)))
    now = datetime.now(UTC)
    # By the clocks of two machines, so only nearly: the workers themselves go by something surer.
    alive = [abs((now - each.beat_at).total_seconds()) <= dead_seconds for each in workers]
    found = [worker_document(each, is_alive=is_alive) for is_alive, each in zip(alive, workers, strict=True)]
    if as_json:
        print_json(found)
    elif found:
        keys = ("id", "host", "pid", "status", "running", "concurrency", "beat_at")
        print_table(keys, [[document[key] for key in keys] for document in found])
    else:
        when = "some seconds after they start" if tasks else "with the first task"
        print_text(f"no worker is running; oneclaw serve and oneclaw chat start theirs {when}")
    return any(alive)
