"""The five tools of the group ``scheduled_tasks`` (FEAT-040)."""

from __future__ import annotations

from functools import wraps
from itertools import accumulate
from typing import TYPE_CHECKING, Any, ParamSpec

from oneclaw_core import NotFoundError, OneClawError, PermissionDeniedError, ToolResult, UsageError
from oneclaw_scheduled_tasks.documents import describe_changes
from oneclaw_scheduled_tasks.limits import check_change, limited
from oneclaw_scheduled_tasks.service import TaskRefusedError, TaskService
from oneclaw_scheduled_tasks.stored import list_tasks

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from oneclaw_core import ToolContext
    from oneclaw_scheduled_tasks.task import Run, Task

WRITE_PERMISSION = "tasks.write"
# Room in what a model is shown for the line that says that there are more.
_MORE_CHARACTERS = 80
_TASKS = "the scheduled tasks"

Parameters = ParamSpec("Parameters")


def _answering(
    failure: str, *, unknown: str = "not_found"
) -> Callable[[Callable[Parameters, Awaitable[str]]], Callable[Parameters, Awaitable[ToolResult]]]:
    """Turn errors into error types.

    ``unknown`` is the error type where there is no such task, ``failure`` that of all other faults.
    """

    def decorate(tool: Callable[Parameters, Awaitable[str]]) -> Callable[Parameters, Awaitable[ToolResult]]:
        @wraps(tool)
        async def answered(*args: Parameters.args, **kwargs: Parameters.kwargs) -> ToolResult:
            try:
                return ToolResult.success(await tool(*args, **kwargs))
            except PermissionDeniedError:
                raise
            except TaskRefusedError as error:
                return ToolResult.error(failure, _sentence(error))
            except NotFoundError as error:
                return ToolResult.error(unknown, _sentence(error))
            except UsageError as error:
                return ToolResult.error("validation_error", _sentence(error))
            except OneClawError as error:
                return ToolResult.error(failure, _sentence(error))

        return answered

    return decorate


@_answering("creation_failed")
async def schedule_task(*, context: ToolContext, **given: Any) -> str:
    """Have an agent do something later, once or again and again."""
    async with TaskService.open(context.services) as service:
        task = await service.new(await limited(given, context, service))
        await context.ask_permission(
            WRITE_PERMISSION,
            f"schedule the task '{task.name}' {task.schedule_text}: {task.prompt}",
            f"new task {task.name}",
        )
        await service.add(task)
    return (
        f"Task '{task.name}' (id {task.id}) is scheduled {task.schedule_text}. "
        f"Next run: {task.local_text(task.next_at)}. It runs while `oneclaw tasks worker` or `oneclaw chat` does."
    )


@_answering("execution_error")
async def list_scheduled_tasks(offset: int = 0, *, context: ToolContext) -> str:
    """List the tasks, the newest first, as many as the model is shown."""
    async with TaskService.open(context.services) as service:
        found = await service.database.run(list_tasks)
    if not found:
        return "There are no scheduled tasks."
    if offset >= len(found):
        raise UsageError(f"offset must be below {len(found)}, the number of tasks")
    context.mark_private(_TASKS)
    return _listed([f"- {_described(task, last)}" for task, last in found], offset, context.shown_characters)


@_answering("run_failed", unknown="run_failed")
async def run_scheduled_task(task_id: str, *, context: ToolContext) -> str:
    """Have a task run now, whatever its schedule."""
    async with TaskService.open(context.services) as service:
        task = await service.get(task_id)
        context.mark_private(_TASKS)
        await context.ask_permission(
            WRITE_PERMISSION, f"run the task '{task.name}' now: {task.prompt}", f"run of task {task.name}"
        )
        await service.run(task.id)
    return f"Task '{task.name}' runs as soon as a worker is free; its schedule stays as it is."


@_answering("update_failed")
async def update_scheduled_task(task_id: str, *, context: ToolContext, **given: Any) -> str:
    """Change what is given of a task."""
    if "enabled" in given:
        given["is_enabled"] = given.pop("enabled")
    async with TaskService.open(context.services) as service:
        before, after = await service.changed(task_id, given)
        # As in schedule_task: what it says would be done with other tools.
        await check_change(before, after, context, service)
        changes = describe_changes(before, after)
        context.mark_private(_TASKS)
        if not changes:
            return f"Nothing to change: task '{before.name}' is as it was."
        await context.ask_permission(
            WRITE_PERMISSION,
            f"change the task '{before.name}': {'; '.join(describe_changes(before, after, is_whole=True))}",
            f"task {before.name}",
        )
        await service.store_change(before, after)
    return f"Task '{after.name}' is changed: {'; '.join(changes)}. Next run: {after.local_text(after.next_at)}."


@_answering("deletion_failed")
async def delete_scheduled_task(task_id: str, *, context: ToolContext) -> str:
    """Delete a task with the log of its runs."""
    async with TaskService.open(context.services) as service:
        task = await service.get(task_id)
        context.mark_private(_TASKS)
        await context.ask_permission(
            WRITE_PERMISSION, f"delete the task '{task.name}', {task.schedule_text}", f"deletion of task {task.name}"
        )
        await service.delete(task.id)
    return f"Task '{task.name}' and the log of its runs are deleted."


def _listed(lines: Sequence[str], offset: int, shown_characters: int | None) -> str:
    """Join lines from one on, as far as the model is shown them; one at least."""
    rest = lines[offset:]
    if shown_characters is not None:
        ends = accumulate(len(line) + 1 for line in rest)
        rest = rest[: max(1, sum(end + _MORE_CHARACTERS <= shown_characters for end in ends))]
    end = offset + len(rest)
    more = [f"... and {len(lines) - end} more: go on with offset {end}"] if end < len(lines) else []
    return "\n".join([*rest, *more])


def _described(task: Task, last: Run | None) -> str:
    state = "enabled" if task.is_enabled else "disabled"
    return (
        f"{task.name} (id {task.id}): {task.schedule_text}; {state}; last run: {task.last_text(last)}; "
        f"next run: {task.local_text(task.next_at)}"
    )


def _sentence(error: OneClawError) -> str:
    text = str(error)
    return text[:1].upper() + text[1:]
