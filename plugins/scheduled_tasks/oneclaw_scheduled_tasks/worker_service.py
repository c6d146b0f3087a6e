"""The service of scheduled tasks: a worker in a process beside the program, and the results of all workers shown."""

from __future__ import annotations

import asyncio
import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_core import find_home
from oneclaw_core.process import run_program
from oneclaw_scheduled_tasks.database import TaskDatabase, sqlite_path, tasks_database_url
from oneclaw_scheduled_tasks.inbox import IN_A_CHAT, ON_THE_COMMAND_LINE, result_text
from oneclaw_scheduled_tasks.stored import count_tasks, finished_since, mark_read

if TYPE_CHECKING:
    from oneclaw_core import ServiceContext

_POLL_SECONDS = 3.0
_RESTART_SECONDS = 10.0
# The end of the program does not wait long for a run: another worker takes it up.
_GRACE_SECONDS = {"chat": 1, "serve": 5}
_STOP_SECONDS = 8.0
# Clocks of several machines are not quite the same.
_CLOCK_TOLERANCE = timedelta(seconds=30)


async def run_worker_beside(context: ServiceContext) -> None:
    """Run a worker, once there is a task, and show what comes of tasks."""
    home = find_home()
    url = tasks_database_url(home.database_url)
    context.ready()
    path = sqlite_path(url)
    while path is not None and not path.exists():  # noqa: ASYNC110  # another process makes it
        await asyncio.sleep(_POLL_SECONDS)
    async with await TaskDatabase.open(url) as database:
        while not await database.run(count_tasks):  # noqa: ASYNC110  # so does it tasks
            await asyncio.sleep(_POLL_SECONDS)
        showing = asyncio.create_task(_show_results(database, context))
        try:
            while True:
                await _run_worker(home.path, _GRACE_SECONDS[context.runs_in])
                await asyncio.sleep(_RESTART_SECONDS)
        finally:
            showing.cancel()
            await asyncio.wait([showing])


async def _run_worker(home: Path, grace_seconds: int) -> None:
    await run_program(
        # Never import from the directory that the program was started in, which may hold anything.
        [sys.executable, "-P", "-m", "oneclaw_core", "tasks", "worker", f"--grace={grace_seconds}"],
        directory=Path.cwd(),
        environ=os.environ | {"ONECLAW_HOME": str(home), "ONECLAW_PROFILE": ""},
        timeout_seconds=None,
        on_stdout=lambda _: None,
        grace_seconds=_STOP_SECONDS,
    )


async def _show_results(database: TaskDatabase, context: ServiceContext) -> None:
    begun = datetime.now(UTC)
    shown = {run.id for run, _ in await database.run(finished_since, begun - _CLOCK_TOLERANCE)}
    while True:
        await asyncio.sleep(_POLL_SECONDS)
        for run, name in await database.run(finished_since, begun - _CLOCK_TOLERANCE):
            if run.id not in shown:
                shown.add(run.id)
                is_chat = context.runs_in == "chat"
                context.show(result_text(run, name, IN_A_CHAT if is_chat else ON_THE_COMMAND_LINE))
                if is_chat:
                    await database.run(mark_read, [(run, name)])
