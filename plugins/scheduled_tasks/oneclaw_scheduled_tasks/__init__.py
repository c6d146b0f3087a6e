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
        SettingsRegistrar,
        ToolRegistrar,
    )
    from oneclaw_core.plugins import ChannelRegistrar, ChatNotice, RouteRegistrar, TriggerRegistrar


@hookimpl
def register_tools(register: ToolRegistrar) -> None:
    """Declare the tool group ``scheduled_tasks``; its functions are imported when they first run."""
    register.manifest(files(__name__) / "scheduled_tasks.json")


@hookimpl
def register_settings(register: SettingsRegistrar) -> None:
    """Register the server that results are mailed by."""
    register("oneclaw_scheduled_tasks.settings:MailSettings")


@hookimpl
def register_channels(register: ChannelRegistrar) -> None:
    """Register ``mail``, which sends only."""
    register("mail", "oneclaw_scheduled_tasks.mail:make_channel", is_send_only=True)


@hookimpl
def register_triggers(register: TriggerRegistrar) -> None:
    """Register what starts tasks beside time."""
    register(
        "file_changed",
        "oneclaw_scheduled_tasks.triggers:file_changed",
        help="a file changes, or a file comes into a folder, changes or goes",
        parameters={"path": "the file or folder, seen from the workspace"},
        required=("path",),
    )
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
    register(
        "mail_received",
        "oneclaw_scheduled_tasks.triggers:mail_received",
        help="mail comes to a mailbox, looked for once a minute",
        parameters={
            "from": "a part of the sender",
            "subject": "a part of the subject",
            "folder": "the folder; by default INBOX",
        },
    )
    register(
        "webhook",
        "oneclaw_scheduled_tasks.triggers:webhook",
        help="a request with the task's token comes to oneclaw serve",
        parameters={"token_sha256": "made with the task"},
        required=("token_sha256",),
    )


@hookimpl
def register_commands(register: CommandRegistrar) -> None:
    """Add ``oneclaw tasks``."""
    register(
        "tasks",
        "oneclaw_scheduled_tasks.commands:tasks",
        help="Schedule tasks for agents, and run the worker that has them done.",
    )


@hookimpl
def register_routes(register: RouteRegistrar) -> None:
    """Add the page ``Scheduled tasks`` to ``oneclaw serve``."""
    register("", "oneclaw_scheduled_tasks.page:show_tasks", methods=("GET", "POST"), title="Scheduled tasks")
    register("inbox", "oneclaw_scheduled_tasks.page:show_inbox", methods=("GET", "POST"))
    register(
        "hook/{id}",
        "oneclaw_scheduled_tasks.webhook:take_event",
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
