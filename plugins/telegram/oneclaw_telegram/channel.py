"""The channel: messages, files and questions to chats of Telegram."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_core.channels import ChatChannel, RetryLaterError, UndeliverableError
from oneclaw_core.plugins import Receipt
from oneclaw_telegram.bot_api import MAX_DOWNLOAD_BYTES, BotApi, BotApiError
from oneclaw_telegram.formatting import fixed_width, formatted, utf16_length
from oneclaw_telegram.pace import Pace

if TYPE_CHECKING:
    from oneclaw_core import Attachment, PluginContext
    from oneclaw_core.channels import ChatQuestion, InboundFile
    from oneclaw_core.plugins import OutMessage

MAX_UPLOAD_BYTES = 50_000_000
MAX_PHOTO_BYTES = 10_000_000
GENERAL_TOPIC = "1"
_CAPTION_UNITS = 1024
_LABEL_CHARACTERS = 60
_NO_PREVIEW = {"is_disabled": True}


@dataclass(frozen=True, slots=True)
class _Place:
    """A chat and its topic."""

    chat: int
    topic: int | None

    @classmethod
    def of(cls, text: str) -> _Place:
        chat, _, topic = text.partition(":")
        try:
            return cls(int(chat), int(topic) if topic and topic != GENERAL_TOPIC else None)
        except ValueError:
            raise UndeliverableError(f"{text[:50]!r} is no chat of Telegram: give its number") from None


class TelegramChannel(ChatChannel):
    """Sends to Telegram.

    Args:
        api: of the bot.
    """

    name = "telegram"
    # Some room, since what Markdown becomes may be longer.
    max_characters = 3900
    edit_seconds = 3.0

    def __init__(self, api: BotApi) -> None:
        self._api = api
        self._pace = Pace()

    async def send(self, message: OutMessage) -> Receipt | None:
        """See ``Channel``."""
        place = _Place.of(message.to)
        sent: Any = None
        for text, entities in formatted(message.text) if message.text.strip() else ():
            sent = await self._send_text(place, text, entities, reply_to=message.reply_to)
        for attachment in message.attachments:
            sent = await self._send_file(place, attachment)
        return None if sent is None else Receipt(str(sent["message_id"]))

    async def edit(self, chat: str, message_id: str, text: str) -> None:
        """See ``ChatChannel``."""
        place = _Place.of(chat)
        first, *others = formatted(text)
        await self._edit_text(place, int(message_id), *first)
        for part, entities in others:
            await self._send_text(place, part, entities)

    async def ask(self, chat: str, question: ChatQuestion) -> Receipt | None:
        """See ``ChatChannel``."""
        place = _Place.of(chat)
        *before, last = fixed_width(question.text)
        for text, entities in before:
            await self._send_text(place, text, entities)
        buttons = [
            [{"text": _label(label), "callback_data": f"{question.id}:{value}"}] for value, label in question.choices
        ]
        markup = {"inline_keyboard": buttons} if buttons else {"force_reply": True}
        sent = await self._send_text(place, *last, markup=markup)
        return Receipt(str(sent["message_id"]))

    async def settle(self, chat: str, question: ChatQuestion, receipt: Receipt | None, outcome: str) -> None:
        """See ``ChatChannel``."""
        if receipt is None or receipt.id is None:
            return
        text, entities = fixed_width(question.text)[-1]
        await self._edit_text(_Place.of(chat), int(receipt.id), f"{text}\n\n{outcome}", entities)

    async def fetch(self, file: InboundFile) -> bytes:
        """See ``ChatChannel``."""
        from oneclaw_core import OneClawError

        if file.size is not None and file.size > MAX_DOWNLOAD_BYTES:
            raise OneClawError(f"it has {file.size / 1_000_000:.0f} MB, and bots can fetch 20 MB: send a smaller one")
        return await self._api.download(file.id)

    async def typing(self, chat: str) -> None:
        """See ``ChatChannel``."""
        place = _Place.of(chat)
        about = {"chat_id": place.chat, "message_thread_id": place.topic}
        await self._call(place.chat, "sendChatAction", **about, action="typing")

    def private_chat(self, person: str) -> str | None:
        """See ``ChatChannel``; it has the number of the person."""
        return person

    def length(self, text: str) -> int:
        """See ``ChatChannel``."""
        return utf16_length(text)

    async def _send_text(
        self,
        place: _Place,
        text: str,
        entities: list[dict[str, Any]],
        *,
        reply_to: str | None = None,
        markup: dict[str, Any] | None = None,
    ) -> Any:
        reply = {"message_id": int(reply_to), "allow_sending_without_reply": True} if reply_to else None
        parameters = {
            "chat_id": place.chat,
            "message_thread_id": place.topic,
            "text": text,
            "link_preview_options": _NO_PREVIEW,
            "reply_parameters": reply,
            "reply_markup": markup,
        }
        try:
            return await self._paced(place.chat, "sendMessage", entities=entities or None, **parameters)
        except BotApiError as error:
            if not _is_about_entities(error):
                raise
        return await self._paced(place.chat, "sendMessage", **parameters)

    async def _edit_text(self, place: _Place, message_id: int, text: str, entities: list[dict[str, Any]]) -> None:
        parameters: dict[str, Any] = {
            "chat_id": place.chat,
            "message_id": message_id,
            "text": text,
            "link_preview_options": _NO_PREVIEW,
        }
        try:
            try:
                await self._paced(place.chat, "editMessageText", entities=entities or None, **parameters)
            except BotApiError as error:
                if not _is_about_entities(error):
                    raise
                await self._paced(place.chat, "editMessageText", **parameters)
        except BotApiError as error:
            if "not modified" not in error.description:
                raise

    async def _send_file(self, place: _Place, attachment: Attachment) -> Any:
        if attachment.size > MAX_UPLOAD_BYTES:
            size = f"{attachment.size / 1_000_000:.0f} MB"
            return await self._send_text(place, f"{attachment.name} has {size}, too much for Telegram.", [])
        file = (attachment.name or "file", attachment.data, attachment.media_type)
        about: dict[str, Any] = {
            "chat_id": place.chat,
            "message_thread_id": place.topic,
            "caption": attachment.name[:_CAPTION_UNITS],
        }
        if attachment.media_type in ("image/jpeg", "image/png") and attachment.size <= MAX_PHOTO_BYTES:
            # Telegram refuses photos with extreme sides.
            with suppress(BotApiError):
                return await self._paced(place.chat, "sendPhoto", files={"photo": file}, **about)
        return await self._paced(place.chat, "sendDocument", files={"document": file}, **about)

    async def _paced(self, chat: int, method: str, **parameters: Any) -> Any:
        """Call a method that sends a message, as soon as the pace allows."""
        self._check(chat)
        now = time.monotonic()
        await asyncio.sleep(self._pace.take(chat, now) - now)
        return await self._call(chat, method, **parameters)

    async def _call(self, chat: int, method: str, **parameters: Any) -> Any:
        self._check(chat)
        try:
            return await self._api.call(method, **parameters)
        except RetryLaterError as error:
            self._pace.block(chat, time.monotonic() + error.seconds)
            raise

    def _check(self, chat: int) -> None:
        remaining = self._pace.blocked_seconds(chat, time.monotonic())
        if remaining > 0:
            raise RetryLaterError("Telegram asked to send less", remaining)


def make_channel(context: PluginContext) -> TelegramChannel:
    """Make the channel for messages to paired people.

    Raises:
        UsageError: there is no token.
    """
    settings = context.settings
    return TelegramChannel(BotApi(settings.token.get_secret_value(), settings.api_root))


def _is_about_entities(error: BotApiError) -> bool:
    text = error.description.lower()
    return "parse" in text or "entit" in text


def _label(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LABEL_CHARACTERS else f"{line[: _LABEL_CHARACTERS - 1]}…"
