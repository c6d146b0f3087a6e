"""Pages of the scheduled tasks, their runs and results."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from oneclaw_core import UsageError
from oneclaw_core.plugins import WebForm, WebLink, WebPage, WebResponse, WebTable, WebText
from oneclaw_scheduled_tasks import stored
from oneclaw_scheduled_tasks.inbox import lacked_in_words
from oneclaw_scheduled_tasks.service import TaskService
from oneclaw_scheduled_tasks.tables import runs
from oneclaw_scheduled_tasks.task import RunStatus, duration_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oneclaw_core import PluginContext
    from oneclaw_core.permissions import Grant
    from oneclaw_core.plugins import WebRequest
    from oneclaw_scheduled_tasks.task import Run, Task

_SHOWN_RESULTS = 50
_NEW: dict[str, Any] = {
    "type": "object",
    "required": ["name", "prompt", "schedule_type"],
    "properties": {
        "name": {"title": "Name", "type": "string"},
        "prompt": {"title": "What the agent is sent", "type": "string", "format": "multiline"},
        "schedule_type": {"title": "When", "enum": ["daily", "weekly", "one_time", "interval", "cron"]},
        "at": {"title": "At", "type": "string", "description": "As HH:MM; for daily, weekly and one_time."},
        "day_of_week": {
            "title": "Day of the week",
            "enum": ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"],
            "description": "For weekly.",
        },
        "date": {"title": "Date", "type": "string", "description": "As YYYY-MM-DD; for one_time."},
        "interval_minutes": {"title": "Minutes between runs", "type": "integer", "description": "For interval."},
        "cron": {"title": "Cron expression", "type": "string", "description": "For cron, such as 0 9 * * 1-5."},
        "agent": {"title": "Agent", "type": "string", "description": "By default the General Assistant."},
    },
}


async def show_tasks(context: PluginContext, request: WebRequest) -> WebPage:
    """List the tasks; schedule one that a form describes."""
    notice = ""
    async with TaskService.open(context.services) as service:
        if request.method == "POST":
            task = await service.new(_given(request.form()))
            await service.add(task)
            notice = f"Scheduled {task.name}; next run: {task.local_text(task.next_at)}."
        rows = tuple(_row(task, last) for task, last in await service.database.run(stored.list_tasks))
        unread = len(await service.database.run(stored.unread))
    table = WebTable(columns=("task", "schedule", "state", "last run", "next run"), rows=rows)
    form = WebForm(submit="Schedule it", title="New task", fields=_NEW)
    link = WebLink(f"Results ({unread} new)" if unread else "Results", "inbox")
    return WebPage(title="Scheduled tasks", parts=(link, table, form), notice=notice)


async def show_inbox(context: PluginContext, request: WebRequest) -> WebPage:
    """Show the last results, which count as seen then; stop a run or have it go on."""
    notice = ""
    async with TaskService.open(context.services) as service:
        if request.method == "POST":
            notice = await _do(service, request.form(), request.form()["run"])
        tasks = {task.id: task for task, _ in await service.database.run(stored.list_tasks)}
        rows = []
        # First those that were not seen.
        order = (runs.c.is_read, runs.c.ended_at.desc())
        found = await service.database.run(stored.results, stored.HAS_RESULT, *order, limit=_SHOWN_RESULTS)
        await service.database.run(stored.mark_read, [each for each in found if not each[0].is_read])
        for run, name in found:
            state = str(run.status) if run.is_read else f"{run.status}, new"
            ended = tasks[run.task_id].local_text(run.ended_at)
            cells = await _result_cells(service, run, f"{name}, {ended}")
            rows.append((WebLink(name, f"task/{run.task_id}"), ended, state, *cells))
    columns = ("task", "ended", "status", "result", "session", "change")
    table = WebTable(columns=columns, rows=tuple(rows), empty="No task has run yet.")
    return WebPage(title="Results of scheduled tasks", parts=(table, WebLink("All tasks", "")), notice=notice)


async def show_task(context: PluginContext, request: WebRequest) -> WebPage | WebResponse:
    """Show a task with its runs; run, pause, or delete it, stop a run or have it go on."""
    task_id, notice = request.path_parameters["id"], ""
    async with TaskService.open(context.services) as service:
        if request.method == "POST":
            form = request.form()
            if form.get("action") == "delete":
                await service.delete(task_id)
                return WebResponse(status=303, headers={"location": f"/{context.name}/"})
            notice = await _do(service, form, form.get("run", task_id))
        task, log = await service.get(task_id), await service.database.run(stored.runs_of, task_id)
        rows = []
        for run in log:
            due, took = task.local_text(run.scheduled_at), duration_text(run.duration_seconds)
            rows.append((due, str(run.status), took, *await _result_cells(service, run, due)))
    switch = "Pause" if task.is_enabled else "Resume"
    facts: dict[str, str] = {
        "schedule": task.schedule_text,
        "time zone": task.time_zone,
        "state": "enabled" if task.is_enabled else "paused",
        "next run": task.local_text(task.next_at),
        "agent": task.agent,
        "model": task.model or "default",
    }
    if task.trigger_error is not None:
        facts["trigger"] = f"does not work: {task.trigger_error}"
    return WebPage(
        title=task.name,
        notice=notice,
        parts=(
            WebTable(columns=("about", "what"), rows=tuple(facts.items())),
            WebText(text=task.prompt, kind="verbatim", title="What the agent is sent"),
            WebForm(submit="Run now", hidden={"action": "run"}),
            WebForm(submit=switch, hidden={"action": switch.lower()}),
            WebForm(submit="Delete", about=task.name, hidden={"action": "delete"}, is_destructive=True),
            WebTable(
                columns=("run", "status", "took", "result", "session", "change"),
                rows=tuple(rows),
                title="Runs",
                empty="It has not run yet.",
            ),
        ),
    )


async def _do(service: TaskService, form: Mapping[str, str], wanted: str) -> str:
    if form.get("action") != "grant":
        return "; ".join((await service.do(form.get("action", ""), wanted)).splitlines())
    # Nothing but what the page has shown is granted.
    shown = form.get("grants", "").splitlines()
    lacked = await service.lacked(await service.database.run(stored.get_run, wanted))
    run = await service.continue_run(wanted, [each for each in lacked if json.dumps(each.key) in shown])
    return f"It is granted to this task alone; run {run.id} waits for a worker"


def _given(form: dict[str, str]) -> dict[str, Any]:
    given: dict[str, Any] = {key: form.get(key, "").strip() or None for key in _NEW["properties"] if key != "at"}
    hour, _, minute = form.get("at", "").strip().partition(":")
    numbers = {"hour": ("At", hour), "minute": ("At", minute)}
    numbers["interval_minutes"] = ("Minutes between runs", form.get("interval_minutes", ""))
    return given | {key: _number(*titled) for key, titled in numbers.items()}


def _number(name: str, text: str) -> int | None:
    if not text.strip():
        return None
    if not text.strip().isdecimal():
        raise UsageError(f"{name}: {text[:50]!r} is not a number")
    return int(text)


def _row(task: Task, last: Run | None) -> Any:
    state = "enabled" if task.is_enabled else "paused"
    times = (task.last_text(last), task.local_text(task.next_at))
    return (WebLink(task.name, f"task/{task.id}"), task.schedule_text, state, *times)


async def _result_cells(service: TaskService, run: Run, about: str) -> Any:
    lacked = await service.lacked(run) if run.status is RunStatus.NEEDS_PERMISSION else []
    session = WebLink("open", session=run.session) if run.session else ""
    return " ".join(filter(None, (run.answer, run.error, run.notes))), session, _actions(run, about, lacked)


def _actions(run: Run, about: str, lacked: Sequence[Grant]) -> tuple[str | WebForm, ...]:
    def button(submit: str, action: str, **hidden: str) -> WebForm:
        return WebForm(submit=submit, about=about, hidden={"action": action, "run": run.id, **hidden})

    if not run.status.is_final:
        return (button("Stop", "stop"),)
    if not run.status.can_go_on:
        return ()
    go_on = button("Continue", "continue")
    if not lacked:
        return (go_on,)
    grants = "\n".join(json.dumps(each.key) for each in lacked)
    grant = button("Grant to this task alone and continue", "grant", grants=grants)
    return (f"It lacked: {'; '.join(lacked_in_words(lacked))}.", grant, go_on)
