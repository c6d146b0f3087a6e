"""Results of runs for people: what they say, and how many were not seen."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from oneclaw_core.permissions import grant_in_words
from oneclaw_core.plugins import ChatNotice
from oneclaw_scheduled_tasks.database import TaskDatabase, sqlite_path, tasks_database_url
from oneclaw_scheduled_tasks.task import WITH_RESULT, RunStatus

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from oneclaw_core.permissions import Grant
    from oneclaw_core.plugins import HomeServices
    from oneclaw_scheduled_tasks.task import Run

ON_THE_COMMAND_LINE = "oneclaw tasks continue {run} --grant"
IN_A_CHAT = "/inbox grant {run}"


async def unread_notices(services: HomeServices) -> list[ChatNotice]:
    """Say how many results the user has not seen; nothing if there are none."""
    counts = await _count_unread(tasks_database_url(services.home.database_url))
    total, lacking = sum(counts.values()), counts.get(RunStatus.NEEDS_PERMISSION, 0)
    if not total:
        return []
    text = f"{total} new {'result' if total == 1 else 'results'} of scheduled tasks"
    if lacking:
        text += f", {lacking} {'needs' if lacking == 1 else 'need'} a permission"
    return [ChatNotice(text=text, command="/inbox", page="inbox")]


async def _count_unread(url: str) -> dict[str, int]:
    path = sqlite_path(url)
    if path is not None:
        return await asyncio.to_thread(_count_in_file, path) if path.exists() else {}
    from oneclaw_scheduled_tasks.stored import unread

    async with await TaskDatabase.open(url) as database:
        return Counter(str(run.status) for run, _ in await database.run(unread))


def _count_in_file(path: Path) -> dict[str, int]:
    """Count without SQLAlchemy: a chat that begins would wait for its import."""
    query = "SELECT status, count(*) FROM task_runs WHERE NOT is_read AND ended_at IS NOT NULL GROUP BY status"
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        try:
            return {status: count for status, count in connection.execute(query) if status in WITH_RESULT}
        except sqlite3.OperationalError:  # a database of an earlier version is brought up to date by a worker
            return {}


def lacked_in_words(grants: Iterable[Grant]) -> list[str]:
    """Say what a run lacked, without its task, which the reader knows."""
    return [grant_in_words(replace(each, task=None)) for each in grants]


def result_text(run: Run, name: str, command: str = ON_THE_COMMAND_LINE) -> str:
    """Say what has come of a run.

    ``command`` is what the user can do about a missing permission, with ``{run}`` for the run's id.
    """
    if run.status is RunStatus.SUCCESS:
        return f"[Scheduled] {name}: {run.answer or ''}"
    if run.status is RunStatus.NEEDS_PERMISSION:
        return (
            f"[Scheduled] {name} needs a permission: {run.answer or ''}\n{run.notes or ''}\n"
            f"Grant that to this task alone, and have the run go on: {command.format(run=run.id)}"
        )
    return f"[Scheduled] {name} failed: {run.error or 'for no known reason'}"
