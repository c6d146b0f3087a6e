"""Telegram for OneClaw: a bot through which paired people talk with agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core import hookimpl

if TYPE_CHECKING:
    from oneclaw_core import CheckRegistrar, CommandRegistrar, ServiceRegistrar, SettingsRegistrar
    from oneclaw_core.plugins import ChannelRegistrar, RouteRegistrar


@hookimpl
def register_settings(register: SettingsRegistrar) -> None:
    """Register the settings of the bot."""
    register("oneclaw_telegram.settings:TelegramSettings")


@hookimpl
def register_services(register: ServiceRegistrar) -> None:
    """Have the bot listen in ``oneclaw serve``."""
    register("telegram", "oneclaw_telegram.service:serve_bot", help="talks with people in Telegram", needs="token")


@hookimpl
def register_channels(register: ChannelRegistrar) -> None:
    """Register the channel for messages to paired people."""
    register("telegram", "oneclaw_telegram.channel:make_channel")


@hookimpl
def register_routes(register: RouteRegistrar) -> None:
    """Register the webhook, which Telegram calls if ``telegram.webhook_url`` is set."""
    register("webhook", "oneclaw_telegram.service:take_webhook", methods=("POST",), is_public=True)


@hookimpl
def register_commands(register: CommandRegistrar) -> None:
    """Add ``oneclaw telegram``."""
    register(
        "telegram", "oneclaw_telegram.commands:telegram", help="Pair people with the Telegram bot, and unpair them."
    )


@hookimpl
def register_checks(register: CheckRegistrar) -> None:
    """Have ``oneclaw doctor`` look at the bot's token and its pairing."""
    register("telegram", "oneclaw_telegram.commands:check_bot")
