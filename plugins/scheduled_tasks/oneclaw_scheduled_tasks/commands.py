"""``oneclaw tasks``: the tasks and their log, and the worker.

What opens the database or a home is imported when it is needed: it takes long.
"""

from __future__ import annotations

import sys
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import click

from oneclaw_core import OneClawError, StoreError, UsageError, find_home
from oneclaw_core.cli import is_terminal, json_option, print_json, print_table, print_text, run_async, warn
from oneclaw_scheduled_tasks.command_options import option_names, read_options, task_options
from oneclaw_scheduled_tasks.documents import describe_changes, run_document, task_document, trigger_document
from oneclaw_scheduled_tasks.inbox import result_text
from oneclaw_scheduled_tasks.task import duration_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from sqlalchemy import Connection

    from oneclaw_scheduled_tasks.service import TaskService
    from oneclaw_scheduled_tasks.task import Run

Value = TypeVar("Value")


@click.group()
def tasks() -> None:
    """Schedule tasks for agents, and run a worker for them.

    Tasks run as long as a worker does: 'oneclaw tasks worker', or 'oneclaw chat' in a terminal. TASK is the name or the
    id of a task.
    """


_dead_after_option = partial(
    click.option, "--dead-after", "dead_seconds", type=click.FloatRange(1, 3600), default=15.0, show_default=True
)


@tasks.command("add")
@click.argument("name")
@click.argument("prompt")
@task_options
@json_option
def add(name: str, prompt: str, as_json: bool, **options: Any) -> None:
    """Schedule the task NAME.

    An agent gets PROMPT at the times of the options. With --at alone it runs every day; --date makes it run once, --day
    every week.
    """
    from oneclaw_scheduled_tasks.triggers import setup_text

    given = {"name": name, "prompt": prompt, **read_options(options, is_new=True)}

    async def run(service: TaskService) -> Any:
        complete, setup = await service.set_up(given)
        task = await service.new(complete)
        await service.add(task)
        return task, setup, setup_text(service.services, task, setup)

    task, setup, text = _with_service(run)
    if as_json:
        print_json(task_document(task) | (dict(setup.values) if setup is not None else {}))
        return
    print_text(
        f"task {task.id} is started {task.schedule_text}"
        if task.is_triggered
        else f"task {task.id} is scheduled {task.schedule_text}; next run: {task.local_text(task.next_at)}"
    )
    if text:
        print_text(text)


@tasks.command("triggers")
@json_option
def triggers(as_json: bool) -> None:
    """List the events that can start a task, for --on.

    Plugins can add more.
    """
    from oneclaw_core.cli import load_catalog

    plugins = [each for each in load_catalog(is_quiet=True).plugins if not each.is_disabled]
    registered = [each for plugin in plugins for each in plugin.registrations if each.hook == "register_triggers"]
    # Of two of one name, the first counts.
    by_name = {each.name: each for each in reversed(registered)}
    found = [trigger_document(by_name[name]) for name in sorted(by_name)]
    if as_json:
        print_json(found)
        return
    rows = []
    for each in found:
        optional = each["parameters"].keys() - each["required"]
        shown = [f"{key}{' (optional)' if key in optional else ''}: {of}" for key, of in each["parameters"].items()]
        rows.append((each["name"], each["help"], "; ".join(shown)))
    print_table(("trigger", "starts a task when", "parameters"), rows)


@tasks.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """List the tasks, the newest first."""
    from oneclaw_scheduled_tasks.stored import list_tasks

    found = _read(list_tasks)
    if as_json:
        print_json([task_document(task, last) for task, last in found])
        return
    rows = []
    for task, last in found:
        state = "yes" if task.is_enabled else "no"
        times = (task.last_text(last), task.local_text(task.next_at))
        rows.append((task.id, task.name, task.schedule_text, state, *times))
    print_table(("id", "name", "schedule", "enabled", "last run", "next run"), rows)


@tasks.command("show")
@click.argument("task")
@json_option
def show(task: str, as_json: bool) -> None:
    """Show the task TASK."""
    from oneclaw_scheduled_tasks.stored import find_task

    document = task_document(_read(lambda connection: find_task(connection, task)))
    if as_json:
        print_json(document)
        return
    for key, value in document.items():
        print_text(f"{key}: {'' if value is None else value}")


@tasks.command("edit")
@click.argument("task")
@click.option("--name", help="Another name.")
@click.option("--prompt", help="Something else to do.")
@task_options
def edit(task: str, name: str | None, prompt: str | None, **options: Any) -> None:
    """Change the task TASK; only the given options change."""
    _change(task, {"name": name, "prompt": prompt, **read_options(options)})


@tasks.command("pause")
@click.argument("task")
def pause(task: str) -> None:
    """Pause the task TASK until it is resumed.

    A running run is stopped.
    """
    _change(task, {"is_enabled": False})


@tasks.command("resume")
@click.argument("task")
def resume(task: str) -> None:
    """Resume the schedule of the task TASK.

    Runs that it missed meanwhile are not made up for.
    """
    _change(task, {"is_enabled": True})


@tasks.command("run")
@click.argument("task")
def run_command(task: str) -> None:
    """Run the task TASK now, by the next free worker.

    Its schedule stays as it is.
    """

    async def start(service: TaskService) -> Run:
        return await service.run(await service.id_of(task))

    run = _with_service(start)
    print_text(f"run {run.id} waits for a worker; see: oneclaw tasks log {run.task_id}")


@tasks.command("backfill")
@click.argument("task")
@click.option("--from", "first", required=True, metavar="DATE", help="The first day, or 'YYYY-MM-DD HH:MM'.")
@click.option("--to", "last", required=True, metavar="DATE", help="The last day or time; the future is left out.")
@click.option("--yes", "is_confirmed", is_flag=True, help="Do not ask.")
def backfill(task: str, first: str, last: str, is_confirmed: bool) -> None:
    """Make up for missed runs of TASK in a period.

    It runs TASK for each time when it was due, also before it was made, and that was missed, skipped or has no run.
    The limit is 100 runs at once; each is told its time.
    """
    from oneclaw_scheduled_tasks.backfill import make_up, missing_runs
    from oneclaw_scheduled_tasks.stored import find_task

    def find(connection: Connection) -> Any:
        found = find_task(connection, task)
        return found, missing_runs(connection, found, first, last)

    found, moments = _read(find)
    if not moments:
        print_text(f"task {found.name} lacks no runs in this time")
        return
    count = f"{len(moments)} run{'' if len(moments) == 1 else 's'}"
    print_text(f"{count} of task {found.name}: {found.local_text(moments[0])} to {found.local_text(moments[-1])}")
    if not is_confirmed:
        if not is_terminal(sys.stdin):
            raise UsageError(f"no one can be asked here whether to have {count} done: add --yes")
        if not click.confirm(f"Have {count} done?", err=True):
            raise OneClawError("no runs were made")
    made = _write(lambda connection: make_up(connection, found, moments, datetime.now(UTC)))
    print_text(f"{len(made)} wait for a worker; see: oneclaw tasks log {found.id}")


@tasks.command("stop")
@click.argument("run_id")
def stop(run_id: str) -> None:
    """Stop the run RUN_ID, wherever it runs.

    It makes no more calls, and is not retried; its task stays as it is. 'oneclaw tasks log' shows the ids.
    """
    print_text(_with_service(lambda service: service.do("stop", run_id)))


@tasks.command("continue")
@click.argument("run_id")
@click.option("--grant", "is_granted", is_flag=True, help="Grant the missing permission to its task alone.")
def continue_command(run_id: str, is_granted: bool) -> None:
    """Continue a run that failed, was stopped or lacked a permission.

    It continues in its session, and does not repeat finished work. With --grant, the missing permission is granted
    first, only to its task; 'oneclaw tasks inbox' shows it.
    """
    from oneclaw_core.permissions import grant_in_words
    from oneclaw_scheduled_tasks.stored import get_run

    async def run(service: TaskService) -> Any:
        grants = await service.lacked(await service.database.run(get_run, run_id)) if is_granted else None
        return await service.continue_run(run_id, grants), grants or ()

    found, grants = _with_service(run)
    for grant in grants:
        print_text(f"{grant_in_words(grant)} is granted")
    print_text(f"run {found.id} waits for a worker; see: oneclaw tasks log {found.task_id}")


@tasks.command("inbox")
@click.option("--keep", is_flag=True, help="Show them the next time, too.")
@json_option
def inbox(keep: bool, as_json: bool) -> None:
    """Show the results of runs that you have not seen.

    The shown results count as seen.
    """
    from oneclaw_scheduled_tasks.stored import mark_read, unread

    found = _read(unread)
    if found and not keep:
        try:
            _write(lambda connection: mark_read(connection, found))
        except StoreError as error:
            warn(f"these results stay new: {error}")
    if as_json:
        print_json([{**run_document(run), "task": name} for run, name in found])
    elif not found:
        print_text("no new results")
    else:
        for run, name in found:
            print_text(f"{run.id}\n{result_text(run, name)}\n")


@tasks.command("delete")
@click.argument("task")
def delete(task: str) -> None:
    """Delete the task TASK with its log.

    A running run is stopped. The sessions of its runs stay.
    """

    async def run(service: TaskService) -> str:
        task_id = await service.id_of(task)
        await service.delete(task_id)
        return task_id

    print_text(f"task {_with_service(run)} is deleted")


@tasks.command("log")
@click.argument("task")
@json_option
def log(task: str, as_json: bool) -> None:
    """Show the last 50 runs of the task TASK.

    The newest is first; runs are kept for 90 days.
    """
    from oneclaw_scheduled_tasks.stored import find_task, runs_of

    def find(connection: Connection) -> Any:
        found = find_task(connection, task)
        return found, runs_of(connection, found.id)

    found, runs = _read(find)
    if as_json:
        print_json([run_document(run) for run in runs])
        return
    rows = []
    for run in runs:
        took, tokens = duration_text(run.duration_seconds), run.input_tokens + run.output_tokens or ""
        cost = "" if run.cost is None else f"${run.cost:.4f}"
        what = "; ".join(each for each in (run.error or run.answer, run.notes) if each)
        due, session = found.local_text(run.scheduled_at), (run.session or "")[:8]
        rows.append((run.id, due, str(run.status), took, tokens, cost, session, what))
    print_table(("run", "due", "status", "took", "tokens", "cost", "session", "what"), rows)


@tasks.command("copy")
@click.option("--to", "target", required=True, metavar="URL", help="The database, as for 'oneclaw db copy'.")
@_dead_after_option(help="Seconds without a sign of life after which a worker counts as killed.")
@json_option
def copy(target: str, dead_seconds: float, as_json: bool) -> None:
    """Copy all tasks and their log into another database.

    'oneclaw db copy' copies everything else. Stop the workers first. Workers of the other database do the unfinished
    runs.
    """
    from oneclaw_scheduled_tasks.copying import copy_tasks
    from oneclaw_scheduled_tasks.database import tasks_database_url

    copied = copy_tasks(tasks_database_url(find_home().database_url), target, dead_seconds)
    if as_json:
        print_json(copied)
        return
    print_table(("table", "rows"), [(name, str(count)) for name, count in copied.items()])
    print_text("all rows are the same in both; let workers run with one of the two databases only")


@tasks.command("worker")
@click.option("--status", "is_status", is_flag=True, help="List the workers, and do nothing else.")
@click.option("--concurrency", type=click.IntRange(1, 256), default=4, show_default=True, help="Runs at the same time.")
@click.option(
    "--grace",
    "grace_seconds",
    type=click.FloatRange(0, 3600),
    default=30.0,
    show_default=True,
    help="Seconds that runs have to finish when the worker is stopped.",
)
@_dead_after_option(help="Seconds without a sign of life after which other workers continue a worker's runs.")
@json_option
@click.pass_context
def worker(
    context: click.Context,
    is_status: bool,
    concurrency: int,
    grace_seconds: float,
    dead_seconds: float,
    as_json: bool,
) -> None:
    """Run tasks when they are due.

    It runs until Ctrl-C or SIGTERM. Any number of workers can run, on one machine or, with a PostgreSQL database, on
    many: each run is done by one of them. When a worker is stopped, its runs may finish within the grace time, and
    others continue the rest; a second Ctrl-C stops it at once. With --status, the exit status is 1 if there is no
    worker.
    """
    from oneclaw_scheduled_tasks import worker_command

    if not is_status:
        worker_command.run_worker(concurrency, grace_seconds, dead_seconds, as_json=as_json)
    elif not worker_command.print_status(dead_seconds, as_json=as_json):
        context.exit(1)


def _change(task: str, given: dict[str, Any]) -> None:
    from oneclaw_scheduled_tasks.triggers import setup_text

    async def run(service: TaskService) -> list[str]:
        complete, setup = await service.set_up(given)
        before, after = await service.changed(await service.id_of(task), complete)
        changes = describe_changes(before, after)
        next_run = after.local_text(after.next_at)
        texts = [f"task {after.id} is changed: {'; '.join(changes)}; next run: {next_run}"]
        if changes:
            await service.store_change(before, after)
        else:
            texts = [f"task {after.id} is as it was"]
        if given.get("is_enabled") is False:
            texts += [f"run {each.id} is stopped" for each in await service.stop_task(after.id)]
        return [*texts, *([setup_text(service.services, after, setup)] if given.get("trigger") else ())]

    for text in filter(None, _with_service(run)):
        print_text(text)


def _read(work: Callable[[Connection], Value]) -> Value:
    from oneclaw_scheduled_tasks.database import read_tasks

    return read_tasks(find_home().database_url, work)


def _write(work: Callable[[Connection], Value]) -> Value:
    from oneclaw_scheduled_tasks.database import TaskDatabase, tasks_database_url

    with closing(TaskDatabase.open_here(tasks_database_url(find_home().database_url))) as database:
        return database.run_here(work)


def _with_service(work: Callable[[TaskService], Awaitable[Value]]) -> Value:
    """Open the user's home and the tasks' database, do something with the tasks, and close both."""
    from oneclaw_core import OneClaw
    from oneclaw_scheduled_tasks.schedules import FieldError
    from oneclaw_scheduled_tasks.service import TaskService

    async def run() -> Value:
        async with OneClaw.open() as app, TaskService.open(app.services) as service:
            return await work(service)

    try:
        return run_async(run())
    except FieldError as error:
        raise UsageError(error.worded(option_names())) from None
