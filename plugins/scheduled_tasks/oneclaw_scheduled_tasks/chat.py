"""The chat commands ``/inbox`` and ``/tasks``, for every channel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core import UsageError
from oneclaw_scheduled_tasks.inbox import IN_A_CHAT, lacked_in_words, result_text
from oneclaw_scheduled_tasks.service import TaskService
from oneclaw_scheduled_tasks.stored import find_task_id, get_run, list_tasks, mark_read, unread

if TYPE_CHECKING:
    from oneclaw_core import ChatCommandContext


async def inbox_command(context: ChatCommandContext, rest: str) -> str:
    """Show the results that the user has not seen, or have a run go on."""
    verb, _, run_id = rest.partition(" ")
    async with TaskService.open(context.services) as service:
        if not rest:
            found = await service.database.run(unread)
            await service.database.run(mark_read, found)
            return "\n\n".join(result_text(run, name, IN_A_CHAT) for run, name in found) or "no new results"
        if verb == "grant" and run_id:
            return await _grant(context, service, run_id)
        if verb == "continue" and run_id:
            return await service.do(verb, run_id)
    raise UsageError("/inbox shows new results; /inbox grant RUN and /inbox continue RUN have a run go on")


async def _grant(context: ChatCommandContext, service: TaskService, run_id: str) -> str:
    run = await service.database.run(get_run, run_id)
    lacked = await service.lacked(run)
    if lacked:
        task = await service.get(run.task_id)
        what = "\n".join(f"- {each}" for each in lacked_in_words(lacked))
        question = f"Grant this to the scheduled task '{task.name}' alone, and have its run go on?\n{what}"
        if not await context.confirm(question):
            return "nothing was granted"
    return f"run {(await service.continue_run(run.id, lacked)).id} waits for a worker"


async def tasks_command(context: ChatCommandContext, rest: str) -> str:
    """List the tasks with the runs under way, or change one."""
    verb, _, wanted = rest.partition(" ")
    async with TaskService.open(context.services) as service:
        if not rest:
            return await _listed(service)
        if verb not in ("stop", "run", "pause", "resume") or not wanted:
            raise UsageError("/tasks lists the tasks; there are /tasks run, pause and resume TASK, and /tasks stop RUN")
        if verb != "stop":
            found = await service.database.run(find_task_id, wanted)
            wanted = wanted if found is None else found
        return await service.do(verb, wanted)


async def _listed(service: TaskService) -> str:
    lines = []
    for task, last in await service.database.run(list_tasks):
        state = "" if task.is_enabled else ", paused"
        lines.append(f"{task.name} ({task.id}): {task.schedule_text}{state}; next run: {task.local_text(task.next_at)}")
        if last is not None:
            lines.append(f"  last run: {task.last_text(last)}, {last.id}")
    return "\n".join(lines) or "there are no scheduled tasks; make one with: oneclaw tasks add"
