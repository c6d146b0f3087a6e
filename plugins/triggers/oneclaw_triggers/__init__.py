"""Triggers of scheduled tasks: a file that changes, mail that comes, and webhooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core import hookimpl

if TYPE_CHECKING:
    from oneclaw_core import SettingsRegistrar
    from oneclaw_core.plugins import TriggerRegistrar


@hookimpl
def register_settings(register: SettingsRegistrar) -> None:
    """Register the server that is asked for new mail."""
    register("oneclaw_triggers.settings:MailboxSettings")


@hookimpl
def register_triggers(register: TriggerRegistrar) -> None:
    """Register the triggers."""
    register(
        "file_changed",
        "oneclaw_triggers.files:file_changed",
        help="a file changes, or a file comes into a folder, changes or goes",
        parameters={"path": "the file or folder, seen from the workspace"},
        required=("path",),
    )
    register(
        "mail_received",
        "oneclaw_triggers.mail:mail_received",
        help="mail comes to a mailbox, looked for once a minute",
        parameters={
            "from": "a part of the sender",
            "subject": "a part of the subject",
            "folder": "the folder; by default INBOX",
        },
    )
    register(
        "webhook",
        "oneclaw_triggers.webhook:webhook",
        help="a request with the task's token comes to oneclaw serve",
        parameters={"token_sha256": "made with the task"},
        required=("token_sha256",),
        set_up="oneclaw_triggers.webhook:set_up",
        take_request="oneclaw_triggers.webhook:take_request",
    )
