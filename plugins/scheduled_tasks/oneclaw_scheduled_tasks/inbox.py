"""Results of runs for people: what they say, and how many were not seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core import ChatNotice
from oneclaw_scheduled_tasks.database import TaskDatabase, sqlite_path, tasks_database_url
from oneclaw_scheduled_tasks.task import RunStatus

if TYPE_CHECKING:
    from oneclaw_core.plugins import HomeServices
    from oneclaw_scheduled_tasks.task import Run

ON_THE_COMMAND_LINE = "oneclaw tasks continue {run} --grant"
IN_A_CHAT = "/inbox grant {run}"


async def unread_notices(services: HomeServices) -> list[ChatNotice]:
    """Say how many results the user has not seen; nothing if there are none."""
    url = tasks_database_url(services.home.database_url)
    path = sqlite_path(url)
    if path is not None and not path.exists():
        return []
    from oneclaw_scheduled_tasks.stored_runs import count_unread

    async with await TaskDatabase.open(url) as database:
        counts = await database.run(count_unread)
    total, lacking = sum(counts.values()), counts.get(RunStatus.NEEDS_PERMISSION, 0)
    if not total:
        return []
    text = f"{total} new {'result' if total == 1 else 'results'} of scheduled tasks"
    if lacking:
        text += f", {lacking} {'needs' if lacking == 1 else 'need'} a permission"
    return [ChatNotice(text=text, command="/inbox", page="inbox")]


def result_text(run: Run, name: str, command: str = ON_THE_COMMAND_LINE) -> str:
    """Say what has come of a run.

    Args:
        run: which.
        name: of its task.
        command: what grants the run what it lacked and has it go on, with ``{run}`` for its id.
    """
    if run.status is RunStatus.SUCCESS:
        return f"[Scheduled] {name}: {run.answer or ''}"
    if run.status is RunStatus.NEEDS_PERMISSION:
        return (
            f"[Scheduled] {name} needs a permission: {run.answer or ''}\n{run.notes or ''}\n"
            f"Grant that to this task alone, and have the run go on: {command.format(run=run.id)}"
        )
    return f"[Scheduled] {name} failed: {run.error or 'for no known reason'}"
