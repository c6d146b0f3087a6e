"""Scheduled tasks: what an agent is to do later, once or again and again, and the workers that have it done."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from oneclaw_core import hookimpl

if TYPE_CHECKING:
    from oneclaw_core import (
        ChatCommandRegistrar,
        CommandRegistrar,
        PluginContext,
        ServiceRegistrar,
        ToolRegistrar,
    )
    from oneclaw_core.plugins import ChatNotice, RouteRegistrar, TriggerRegistrar


@hookimpl
def register_tools(register: ToolRegistrar) -> None:
    """Declare the tool group ``scheduled_tasks``; its functions are imported when they first run."""
    register.manifest(files(__name__) / "scheduled_tasks.json")


@hookimpl
def register_triggers(register: TriggerRegistrar) -> None:
    """Register the end of another task as what can start one."""
    register(
        "task_ended",
        "oneclaw_scheduled_tasks.triggers:task_ended",
        help="a run of another task ends",
        parameters={
            "task": "its id or name",
            "status": "success (by default), failed, needs_permission or any",
        },
        required=("task",),
    )


@hookimpl
def register_commands(register: CommandRegistrar) -> None:
    """Add ``oneclaw tasks``."""
    register(
        "tasks",
        "oneclaw_scheduled_tasks.commands:tasks",
        help="Schedule tasks for agents, and run a worker for them.",
    )


@hookimpl
def register_routes(register: RouteRegistrar) -> None:
    """Add the page ``Scheduled tasks`` to ``oneclaw serve``."""
    register("", "oneclaw_scheduled_tasks.page:show_tasks", methods=("GET", "POST"), title="Scheduled tasks")
    register("inbox", "oneclaw_scheduled_tasks.page:show_inbox", methods=("GET", "POST"))
    register(
        "hook/{id}",
        "oneclaw_scheduled_tasks.triggers:take_request",
        methods=("POST",),
        is_public=True,
        max_body_bytes=64 * 1024,
    )
    register("task/{id}", "oneclaw_scheduled_tasks.page:show_task", methods=("GET", "POST"))


@hookimpl
def register_chat_commands(register: ChatCommandRegistrar) -> None:
    """Add ``/inbox`` and ``/tasks``."""
    summary = "Show new results of scheduled tasks; /inbox grant RUN, /inbox continue RUN."
    register("inbox", "oneclaw_scheduled_tasks.chat:inbox_command", help=summary, is_private=True)
    summary = "List scheduled tasks; /tasks run, pause or resume TASK, /tasks stop RUN."
    register("tasks", "oneclaw_scheduled_tasks.chat:tasks_command", help=summary, is_private=True)


@hookimpl
async def chat_notices(context: PluginContext) -> list[ChatNotice]:
    """Say how many results the user has not seen."""
    from oneclaw_scheduled_tasks.inbox import unread_notices

    return await unread_notices(context.services)


@hookimpl
def register_services(register: ServiceRegistrar) -> None:
    """Have a worker run in ``oneclaw serve``, and beside each chat."""
    register(
        "scheduled_tasks",
        "oneclaw_scheduled_tasks.worker_service:run_worker_beside",
        help="does scheduled tasks when they are due",
        runs_in=("serve", "chat"),
        find_task="oneclaw_scheduled_tasks.service:find_task",
    )
