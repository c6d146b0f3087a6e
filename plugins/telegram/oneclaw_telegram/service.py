"""The service: takes updates by long polling or a webhook, and has them worked on."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from oneclaw_channels import ChatRouter, SlashCommands

from oneclaw_core import OneClawError
from oneclaw_core.channels import RetryLaterError
from oneclaw_core.plugins import WebResponse
from oneclaw_telegram.bot_api import POLL_SECONDS, BotApi, BotApiError
from oneclaw_telegram.channel import TelegramChannel
from oneclaw_telegram.updates import ALLOWED_UPDATES, Bot, Tap, album_of, albums, read_album

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oneclaw_core import PluginContext, ServiceContext
    from oneclaw_core.plugins import WebRequest

ALBUM_SECONDS = 1.0
"""The time in which the other updates of an album come."""
_RETRY_SECONDS = 5.0
_CONFLICT = 409
_MAX_COMMANDS = 100
_SECRET_HEADER = "x-telegram-bot-api-secret-token"  # noqa: S105  # the name of a header


@dataclass
class Listener:
    """The receiver of updates, for the service and the webhook.

    Attributes:
        api: of the bot.
        bot: the bot.
        router: takes messages.
        secret: that calls of the webhook carry.
    """

    api: BotApi
    bot: Bot
    router: ChatRouter
    secret: str
    _albums: dict[tuple[str, str, str], tuple[list[Any], asyncio.Future[None]]] = field(default_factory=dict)

    async def take(self, updates: Sequence[Any]) -> None:
        """Take updates: once this returns, messages are stored."""
        for each in albums(updates):
            await self._take_one(each)

    async def take_soon(self, update: object) -> None:
        """Take an update that came alone, together with others of its album."""
        album = album_of(update)
        if album is None:
            await self.take([update])
            return
        waiting = self._albums.get(album)
        if waiting is None:
            self._albums[album] = waiting = [], asyncio.ensure_future(self._take_album(album))
        waiting[0].append(update)
        await asyncio.shield(waiting[1])

    async def _take_album(self, album: tuple[str, str, str]) -> None:
        await asyncio.sleep(ALBUM_SECONDS)
        updates, _ = self._albums.pop(album)
        await self.take(sorted(updates, key=lambda each: each.get("update_id", 0)))

    async def _take_one(self, updates: Sequence[Any]) -> None:
        found = read_album(updates, self.bot)
        if isinstance(found, Tap):
            text = await self.router.answer(found.question, found.value, found.person)
            with suppress(OneClawError):  # the answer counts; the button only stops spinning later
                await self.api.call("answerCallbackQuery", callback_query_id=found.id, text=text[:200])
        elif found is not None:
            await self.router.accept(found)


class _Holder:
    """Holds the listener while the service runs."""

    def __init__(self, context: PluginContext) -> None:
        self.listener: Listener | None = None


async def serve_bot(context: ServiceContext) -> None:
    """Listen to the bot until cancelled.

    Raises:
        OneClawError: Telegram refuses the token.
    """
    settings = context.settings
    token = settings.token.get_secret_value()
    api = BotApi(token, settings.api_root)
    holder = context.once(_Holder)
    try:
        me = await api.call("getMe")
        bot = Bot(str(me["id"]), str(me["username"]), settings.names(settings.groups))
        agents = settings.names(settings.agents)
        router = await ChatRouter.open(context.app, TelegramChannel(api), agents=agents)
        listener = holder.listener = Listener(api, bot, router, webhook_secret(token))
        await _set_commands(context, api)
        if not await router.pairing.people():
            context.show(f"no one is paired with @{bot.username} yet: oneclaw telegram pair")
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(router.run())
            if settings.webhook_url:
                await _set_webhook(api, settings.webhook_url, listener.secret)
                context.ready(f"@{bot.username}, by webhook")
            else:
                await api.call("deleteWebhook")
                context.ready(f"@{bot.username}")
                tasks.create_task(_poll(listener, context))
    finally:
        holder.listener = None
        await api.aclose()


async def _set_webhook(api: BotApi, url: str, secret: str) -> None:
    await api.call("setWebhook", url=url, secret_token=secret, allowed_updates=ALLOWED_UPDATES)


async def _set_commands(context: ServiceContext, api: BotApi) -> None:
    """Have Telegram complete the commands of the chat."""
    summaries = await SlashCommands(context.app).summaries()
    commands = [
        {"command": name.strip().lstrip("/"), "description": (text or name)[:256]}
        for name, text in summaries.items()
        if name.strip().lstrip("/").replace("_", "").isalnum() and name.islower() and len(name) <= 32
    ]
    await api.call("setMyCommands", commands=commands[:_MAX_COMMANDS])


async def _poll(listener: Listener, context: ServiceContext) -> None:
    offset: int | None = None
    while True:
        try:
            asked: dict[str, Any] = {"offset": offset, "allowed_updates": ALLOWED_UPDATES}
            updates = await listener.api.call("getUpdates", **asked, timeout=POLL_SECONDS)
            if updates and album_of(updates[-1]) is not None:
                await asyncio.sleep(ALBUM_SECONDS)  # the rest of the album
                updates = await listener.api.call("getUpdates", **asked, timeout=0)
            # Stored first: Telegram forgets an update as soon as a call has a higher offset.
            await listener.take(updates)
            if updates:
                offset = int(updates[-1]["update_id"]) + 1
        except RetryLaterError as error:
            await asyncio.sleep(error.seconds)
        except BotApiError as error:
            if error.code != _CONFLICT:
                raise
            context.logger.warning("another program asks for the bot's messages, or a webhook is set")
            await asyncio.sleep(_RETRY_SECONDS)
        except OneClawError as error:
            context.logger.warning("%s", error)
            await asyncio.sleep(_RETRY_SECONDS)


def webhook_secret(token: str) -> str:
    """Return the secret that Telegram sends along with each call of the webhook; it follows from the bot's token."""
    return hmac.new(token.encode(), b"oneclaw telegram webhook", hashlib.sha256).hexdigest()


async def take_webhook(context: PluginContext, request: WebRequest) -> WebResponse:
    """Take an update that Telegram posts; it is stored before the answer.

    Args:
        context: of the plugin.
        request: with the secret in its header.
    """
    listener: Any = context.once(_Holder).listener
    if listener is None:
        return WebResponse(status=503, body="the bot does not run")
    given = request.headers.get(_SECRET_HEADER, "")
    if not hmac.compare_digest(given.encode(), listener.secret.encode()):
        return WebResponse(status=403, body="wrong secret")
    try:
        update = request.json()
    except ValueError:
        return WebResponse(status=400, body="no JSON")
    await listener.take_soon(update)
    return WebResponse()
