"""Send-only channels: mail, webhooks, the desktop and commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core import hookimpl

if TYPE_CHECKING:
    from oneclaw_core import SettingsRegistrar
    from oneclaw_core.plugins import ChannelRegistrar


@hookimpl
def register_settings(register: SettingsRegistrar) -> None:
    """Register the server that mail is sent by."""
    register("oneclaw_notify.settings:MailSettings")


@hookimpl
def register_channels(register: ChannelRegistrar) -> None:
    """Register the channels."""
    register("mail", "oneclaw_notify.mail:make_channel", is_send_only=True)
    register("webhook", "oneclaw_notify.webhook:WebhookChannel", is_send_only=True)
    register("desktop", "oneclaw_notify.desktop:DesktopChannel", is_send_only=True)
    register("command", "oneclaw_notify.command:CommandChannel", is_send_only=True)
