"""Updates of Telegram as messages and taps on buttons. What is malformed or for others is passed over."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from oneclaw_core.channels import Inbound, InboundFile

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

ALLOWED_UPDATES = ["message", "callback_query"]
_FILES = {
    "document": ("file", "application/octet-stream"),
    "voice": ("voice.ogg", "audio/ogg"),
    "audio": ("audio", "audio/mpeg"),
    "video": ("video.mp4", "video/mp4"),
    "video_note": ("video.mp4", "video/mp4"),
    "animation": ("animation.mp4", "video/mp4"),
}
_COMMAND = re.compile(r"(/[A-Za-z0-9_]{1,32})@(\w+)")


@dataclass(frozen=True, slots=True)
class Bot:
    """The bot.

    Attributes:
        id: its number.
        username: without the ``@``.
        groups: the ids of groups in which it listens.
    """

    id: str
    username: str
    groups: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Tap:
    """A tap on a button.

    Attributes:
        id: to answer it.
        person: who tapped.
        question: the id of the question.
        value: of the choice.
    """

    id: str
    person: str
    question: str
    value: str


def read_update(update: object, bot: Bot) -> Inbound | Tap | None:
    """Read an update.

    Args:
        update: as Telegram sent it.
        bot: that it was sent to.

    Returns:
        A message or a tap; ``None`` for what is not for the bot.
    """
    if not isinstance(update, dict):
        return None
    tap, message = update.get("callback_query"), update.get("message")
    if isinstance(tap, dict):
        question, _, value = str(tap.get("data") or "").partition(":")
        return Tap(str(tap.get("id")), _person(tap), question, value)
    if not isinstance(message, dict) or not isinstance(message.get("chat"), dict):
        return None
    sender = message.get("from")
    # A post in the name of a chat has no person behind it that could be known.
    if not isinstance(sender, dict) or sender.get("is_bot") or "sender_chat" in message:
        return None
    return _inbound(str(update.get("update_id")), message, sender, bot)


def albums(updates: Sequence[Any]) -> list[list[Any]]:
    """Put the updates of each album together: Telegram sends one for each of its files.

    Args:
        updates: in order.
    """
    found: dict[object, list[Any]] = {}
    for number, update in enumerate(updates):
        found.setdefault(album_of(update) or number, []).append(update)
    return list(found.values())


def album_of(update: object) -> tuple[str, str, str] | None:
    """Return the chat, the sender and the id of the album that an update is a part of; ``None`` for no album."""
    message = update.get("message") if isinstance(update, dict) else None
    if not isinstance(message, dict) or not message.get("media_group_id") or not isinstance(message.get("chat"), dict):
        return None
    return str(message["chat"].get("id")), _person(message), str(message["media_group_id"])


def read_album(updates: Sequence[Any], bot: Bot) -> Inbound | Tap | None:
    """Read the updates of one album, or one update, as one message.

    Args:
        updates: as :func:`albums` puts them together.
        bot: that they were sent to.
    """
    # One of the files has the caption, which in a group says for whom the album is.
    first = next((each for each in updates if len(updates) == 1 or each["message"].get("caption")), updates[0])
    found = read_update(first, bot)
    if not isinstance(found, Inbound) or len(updates) == 1:
        return found
    messages = [each["message"] for each in updates]
    return replace(
        found,
        id=f"{bot.id}:{updates[0].get('update_id')}-{updates[-1].get('update_id')}",
        files=tuple(file for message in messages for file in _files(message)),
        is_forwarded=any(_is_forwarded(message) for message in messages),
        is_quoting=any(_is_quoting(message) for message in messages),
    )


def _is_forwarded(message: dict[str, Any]) -> bool:
    """Return True if others wrote a message: it was forwarded, or another bot made it in the user's place."""
    return any(each in message for each in ("forward_origin", "forward_date", "is_automatic_forward", "via_bot"))


def _is_quoting(message: dict[str, Any]) -> bool:
    """Return True if a message quotes another one that its sender did not write."""
    quote, replied = message.get("quote"), message.get("reply_to_message")
    if not (isinstance(quote, dict) and quote.get("text")):
        return False
    is_own = isinstance(replied, dict) and _person(replied) == _person(message) and not _is_forwarded(replied)
    return not is_own or "external_reply" in message


def _person(holder: dict[str, Any]) -> str:
    sender = holder.get("from")
    return str(sender.get("id")) if isinstance(sender, dict) else ""


def _inbound(update_id: str, message: dict[str, Any], sender: dict[str, Any], bot: Bot) -> Inbound | None:
    chat = message["chat"]
    is_private = chat.get("type") == "private"
    text = str(message.get("text") or message.get("caption") or "")
    if not is_private:
        if str(chat.get("id")) not in bot.groups or not _is_meant(message, text, bot):
            return None
        text = re.sub(rf"^\s*@{re.escape(bot.username)}\b[\s,:]*", "", text, flags=re.IGNORECASE)
    found = _COMMAND.match(text)
    if found is not None:
        if found[2].lower() != bot.username.lower():
            return None
        text = found[1] + text[found.end() :]
    topic = message.get("message_thread_id") if message.get("is_topic_message") else None
    name = " ".join(str(sender.get(key)) for key in ("first_name", "last_name") if sender.get(key))
    return Inbound(
        id=f"{bot.id}:{update_id}",
        chat=f"{chat.get('id')}:{topic}" if topic is not None else str(chat.get("id")),
        person=str(sender.get("id")),
        person_name=" ".join(name.split())[:100],
        text=_with_quote(message, text),
        files=tuple(_files(message)),
        is_private=is_private,
        is_forwarded=_is_forwarded(message),
        is_quoting=_is_quoting(message),
        message=str(message.get("message_id")),
    )


def _is_meant(message: dict[str, Any], text: str, bot: Bot) -> bool:
    """Return True for a message of a group that speaks to the bot: a command, a mention or a reply."""
    replied = message.get("reply_to_message")
    if isinstance(replied, dict) and _person(replied) == bot.id:
        return True
    return text.startswith("/") or re.search(rf"@{re.escape(bot.username)}\b", text, re.IGNORECASE) is not None


def _with_quote(message: dict[str, Any], text: str) -> str:
    quote = message.get("quote")
    quoted = quote.get("text") if isinstance(quote, dict) else None
    return f"> {' '.join(str(quoted).split())}\n\n{text}" if quoted and not text.startswith("/") else text


def _files(message: dict[str, Any]) -> list[InboundFile]:
    found: list[InboundFile] = []
    photos = message.get("photo")
    if isinstance(photos, list) and photos and isinstance(photos[-1], dict):
        found.append(_file(photos[-1], "photo.jpg", "image/jpeg"))
    # An animation comes as a document too.
    kinds = [kind for kind in _FILES if isinstance(message.get(kind), dict)]
    if "animation" in kinds and "document" in kinds:
        kinds.remove("document")
    found += [_file(message[kind], *_FILES[kind]) for kind in kinds]
    return found


def _file(value: dict[str, Any], name: str, media_type: str) -> InboundFile:
    size = value.get("file_size")
    return InboundFile(
        str(value.get("file_id")),
        str(value.get("file_name") or name),
        str(value.get("mime_type") or media_type),
        size if isinstance(size, int) else None,
    )
