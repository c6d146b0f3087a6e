"""The tables of channels in the database: inbox and outbox, chats, and the people who may talk through a channel.

A message stays in the inbox or the outbox until it is done. A code shown to the owner makes its sender known.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from oneclaw_core import Attachment
from oneclaw_core.channels import Inbound
from oneclaw_core.tools import clean_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from oneclaw_core import OneClaw
    from oneclaw_core.channels import ReasoningLevel
    from oneclaw_core.sessions import PluginStorage, PluginTables, StorageConnection

STORAGE = "channels"
KEPT_SECONDS = 30 * 24 * 3600
"""The time for which a message is known, so that it is not taken twice."""
_MOST_READ = 200
CODE_CHARACTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""Without those that look alike."""
CODE_LENGTH = 8
CODE_SECONDS = 600
MAX_WRONG_CODES = 5
"""After so many wrong codes the current one is void, so that none can be guessed."""
_MAX_NAME_CHARACTERS = 100


def _first(connection: StorageConnection) -> None:
    table, key = connection.table, connection.numbered_key
    connection.execute(
        f"""CREATE TABLE {table("inbox")} (
            id {key}, channel TEXT NOT NULL, message TEXT NOT NULL, chat TEXT NOT NULL, body TEXT NOT NULL,
            state TEXT NOT NULL, session_id TEXT, after_sequence BIGINT, came_at DOUBLE PRECISION NOT NULL,
            UNIQUE (channel, message))"""
    )
    connection.execute(
        f"""CREATE TABLE {table("outbox")} (
            id {key}, channel TEXT NOT NULL, chat TEXT NOT NULL, body TEXT NOT NULL, state TEXT NOT NULL,
            inbox_id BIGINT, receipt TEXT, tries BIGINT NOT NULL, not_before DOUBLE PRECISION NOT NULL,
            made_at DOUBLE PRECISION NOT NULL)"""
    )
    for name in ("inbox", "outbox"):
        connection.execute(f"CREATE INDEX {table(f'{name}_by_state')} ON {table(name)} (channel, state, id)")
    connection.execute(
        f"""CREATE TABLE {table("chats")} (
            channel TEXT NOT NULL, chat TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (channel, chat))"""
    )
    connection.execute(
        f"""CREATE TABLE {table("people")} (
            channel TEXT NOT NULL, person TEXT NOT NULL, name TEXT NOT NULL, paired_at DOUBLE PRECISION NOT NULL,
            PRIMARY KEY (channel, person))"""
    )


MIGRATIONS = (_first,)


async def open_tables(claw: OneClaw) -> PluginTables:
    """Open the tables that all channels share."""
    return await claw.store.plugin_storage(STORAGE).tables(MIGRATIONS)


@dataclass(frozen=True, slots=True)
class InboxRow:
    """A message in the inbox.

    Attributes:
        id: its number; messages of a chat are worked on in this order.
        inbound: the message.
        session_id: the session that it was being said in when the work ended early; ``None`` if it was not begun.
        after_sequence: the end of that session's history before.
    """

    id: int
    inbound: Inbound
    session_id: str | None = None
    after_sequence: int = 0


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """A message in the outbox.

    Attributes:
        id: its number; messages to a chat are sent in this order.
        chat: where it goes.
        text: Markdown.
        attachments: files.
        reply_to: the channel's id of the message that it answers.
        receipt: the channel's id of it, if it was sent and its text is to be replaced.
        is_repeated: True if the program ended while it was sent, so that it may be there already.
        tries: how often it failed.
        made_at: when it was put there, in seconds since 1970.
        not_before: when it may be sent, in seconds since 1970.
    """

    id: int
    chat: str
    text: str
    attachments: tuple[Attachment, ...] = ()
    reply_to: str | None = None
    receipt: str | None = None
    is_repeated: bool = False
    tries: int = 0
    made_at: float = 0.0
    not_before: float = 0.0


@dataclass(frozen=True, slots=True)
class ChatState:
    """The session of a chat, and what was chosen in it.

    Attributes:
        session: the id of its session, ``None`` as long as none is begun.
        agent: chosen in the chat.
        model: chosen in the chat.
        reasoning: chosen in the chat.
    """

    session: str | None = None
    agent: str | None = None
    model: str | None = None
    reasoning: ReasoningLevel | None = None


@dataclass(frozen=True, slots=True)
class OutgoingText:
    """A message to put into the outbox."""

    text: str
    attachments: tuple[Attachment, ...] = field(default=())
    receipt: str | None = None


class ChannelTables:
    """The rows of one channel in the tables that all channels share."""

    def __init__(self, tables: PluginTables, channel: str) -> None:
        self._tables = tables
        self._channel = {"channel": channel}

    async def _read(self, statement: str, **values: object) -> list[Sequence[Any]]:
        """Read rows; the statement names tables in braces, and may name the ``:channel``."""
        return await self._tables.read(
            lambda connection: list(connection.execute(_with_tables(statement, connection), self._channel | values))
        )

    async def _write(self, statement: str, **values: object) -> int:
        """Change rows, and return how many; see :meth:`_read`."""
        return await self._tables.write(
            lambda connection: connection.execute(_with_tables(statement, connection), self._channel | values).rowcount
        )


def _with_tables(statement: str, connection: StorageConnection) -> str:
    return statement.format_map({name: connection.table(name) for name in ("inbox", "outbox", "chats", "people")})


class Mailbox(ChannelTables):
    """The inbox, the outbox and the chats of one channel; each change is one transaction."""

    @classmethod
    async def open(cls, claw: OneClaw, channel: str) -> Mailbox:
        """Open the mailbox of a channel.

        Args:
            claw: the open home.
            channel: the name of the channel.
        """
        return cls(await open_tables(claw), channel)

    async def put(self, inbound: Inbound, *, session_id: str | None = None, after_sequence: int = 0) -> bool:
        """Store a message; return False if it was stored before.

        Args:
            inbound: the message.
            session_id: the session that it is about to be said in, if that is known, as for :meth:`begin`.
            after_sequence: the end of that session's history.
        """
        await self._write(
            "DELETE FROM {inbox} WHERE channel = :channel AND state = 'done' AND came_at < :old",
            old=time.time() - KEPT_SECONDS,
        )
        inserted = await self._write(
            """INSERT INTO {inbox} (channel, message, chat, body, state, session_id, after_sequence, came_at)
               VALUES (:channel, :message, :chat, :body, 'waiting', :session, :after, :now)
               ON CONFLICT (channel, message) DO NOTHING""",
            message=inbound.id,
            chat=inbound.chat,
            body=inbound.to_json(),
            session=session_id,
            after=after_sequence,
            now=time.time(),
        )
        return inserted > 0

    async def waiting(self, after: int = 0) -> list[InboxRow]:
        """Return the messages that are not done, in order.

        Args:
            after: the number to begin behind.
        """
        return await self._inbox_rows("id > :after", after=after)

    async def waiting_ids(self) -> list[str]:
        """Return the ids of the messages that are not done, in order, without reading the messages."""
        rows = await self._read(
            "SELECT message FROM {inbox} WHERE channel = :channel AND state = 'waiting' ORDER BY id"
        )
        return [row[0] for row in rows]

    async def find(self, message: str) -> InboxRow | None:
        """Return a message that is not done by its id; ``None`` if there is none."""
        return next(iter(await self._inbox_rows("message = :message", message=message)), None)

    async def _inbox_rows(self, condition: str, **values: object) -> list[InboxRow]:
        rows = await self._read(
            "SELECT id, body, session_id, after_sequence FROM {inbox} "
            f"WHERE channel = :channel AND state = 'waiting' AND {condition} ORDER BY id",
            **values,
        )
        return [InboxRow(row, Inbound.from_json(body), session, seq or 0) for row, body, session, seq in rows]

    async def done(self, messages: Iterable[str]) -> None:
        """Mark messages as done by their ids; nothing answers them through the outbox."""
        rows = [self._channel | {"message": each} for each in messages]

        def change(connection: StorageConnection) -> None:
            # The body goes: the history holds what was said.
            connection.execute_many(
                f"UPDATE {connection.table('inbox')} SET state = 'done', body = '' "
                "WHERE channel = :channel AND message = :message",
                rows,
            )

        if rows:
            await self._tables.write(change)

    async def begin(self, row: int, session_id: str, after_sequence: int) -> None:
        """Note that a message is about to be said in a session."""
        await self._write(
            "UPDATE {inbox} SET session_id = :session, after_sequence = :after WHERE id = :id",
            session=session_id,
            after=after_sequence,
            id=row,
        )

    async def finish(
        self, row: int | None, chat: str, texts: Sequence[OutgoingText] = (), reply_to: str | None = None
    ) -> None:
        """Mark a message as done and put what answers it into the outbox.

        Args:
            row: the number of the message; ``None`` for texts that answer none.
            chat: where the texts go.
            texts: what is to be sent; one with a receipt takes the place of what was streamed.
            reply_to: the channel's id of the message that they answer.
        """
        await self._tables.write(self._finish, row, chat, list(texts), reply_to)

    def _finish(
        self, connection: StorageConnection, row: int | None, chat: str, texts: list[OutgoingText], reply_to: str | None
    ) -> None:
        outbox = connection.table("outbox")
        if row is not None:
            # The body goes: the history holds what was said.
            connection.execute(
                f"UPDATE {connection.table('inbox')} SET state = 'done', body = '' WHERE id = :id", {"id": row}
            )
            connection.execute(f"DELETE FROM {outbox} WHERE inbox_id = :id AND state = 'streaming'", {"id": row})
        for each in texts:
            body = json.dumps({"text": each.text, "files": [_file(one) for one in each.attachments], "to": reply_to})
            values = {"chat": chat, "body": body, "receipt": each.receipt, "inbox": row, "now": time.time()}
            connection.execute(
                f"""INSERT INTO {outbox} (channel, chat, body, state, inbox_id, receipt, tries, not_before, made_at)
                    VALUES (:channel, :chat, :body, 'waiting', :inbox, :receipt, 0, 0, :now)""",
                self._channel | values,
            )

    async def note_streamed(self, row: int, chat: str, receipt: str) -> None:
        """Note the message that the answer is being streamed into, so that it is completed after a crash."""
        await self._write(
            """INSERT INTO {outbox} (channel, chat, body, state, inbox_id, receipt, tries, not_before, made_at)
               VALUES (:channel, :chat, '', 'streaming', :inbox, :receipt, 0, 0, :now)""",
            chat=chat,
            inbox=row,
            receipt=receipt,
            now=time.time(),
        )

    async def streamed(self, row: int) -> str | None:
        """Return the message that the answer to a message was being streamed into."""
        rows = await self._read(
            "SELECT receipt FROM {outbox} WHERE inbox_id = :id AND state = 'streaming' ORDER BY id DESC", id=row
        )
        return str(rows[0][0]) if rows else None

    async def to_send(self) -> list[OutboxRow]:
        """Return the messages to send, in order, those that must wait included."""
        rows = await self._read(
            "SELECT id, chat, body, state, receipt, tries, made_at, not_before FROM {outbox} "
            f"WHERE channel = :channel AND state IN ('waiting', 'sending') ORDER BY id LIMIT {_MOST_READ}"
        )
        return [_outbox_row(*row) for row in rows]

    async def sending(self, row: int) -> None:
        """Note that a message is about to be sent."""
        await self._write("UPDATE {outbox} SET state = 'sending' WHERE id = :id", id=row)

    async def sent(self, row: int) -> None:
        """Forget a message that was sent."""
        await self._write("DELETE FROM {outbox} WHERE id = :id", id=row)

    async def send_later(self, row: int, seconds: float, *, is_failure: bool) -> None:
        """Note that a message was not sent.

        Args:
            row: the number of the message.
            seconds: the time to wait before the next try.
            is_failure: True to count it as a failure after which it may be there all the same.
        """
        await self._write(
            "UPDATE {outbox} SET state = :state, not_before = :then, tries = tries + :more WHERE id = :id",
            state="sending" if is_failure else "waiting",
            then=time.time() + seconds,
            more=int(is_failure),
            id=row,
        )

    async def give_up(self, row: int) -> None:
        """Keep a message that cannot be sent, for people to look into; it is not tried again."""
        await self._write("UPDATE {outbox} SET state = 'failed' WHERE id = :id", id=row)

    async def chat(self, chat: str) -> ChatState:
        """Return the session, agent and model of a chat."""
        rows = await self._read("SELECT body FROM {chats} WHERE channel = :channel AND chat = :chat", chat=chat)
        return ChatState(**json.loads(rows[0][0])) if rows else ChatState()

    async def keep_chat(self, chat: str, state: ChatState) -> None:
        """Keep something about a chat."""
        await self._write(
            """INSERT INTO {chats} (channel, chat, body) VALUES (:channel, :chat, :body)
               ON CONFLICT (channel, chat) DO UPDATE SET body = excluded.body""",
            chat=chat,
            body=json.dumps(asdict(state)),
        )


def _file(attachment: Attachment) -> dict[str, str]:
    data = base64.b64encode(attachment.data).decode()
    return {"name": attachment.name, "media_type": attachment.media_type, "data": data}


def _outbox_row(
    row: int, chat: str, body: str, state: str, receipt: str | None, tries: int, made_at: float, not_before: float
) -> OutboxRow:
    values = json.loads(body)
    files = tuple(
        Attachment(each["name"], each["media_type"], base64.b64decode(each["data"])) for each in values["files"]
    )
    is_repeated = state == "sending" and receipt is None
    return OutboxRow(row, chat, values["text"], files, values["to"], receipt, is_repeated, tries, made_at, not_before)


@dataclass(frozen=True, slots=True)
class Person:
    """A paired person.

    Attributes:
        id: the channel's id of the person.
        name: as it was when the person was paired.
        paired_at: when, in seconds since 1970.
    """

    id: str
    name: str
    paired_at: float


class Pairing(ChannelTables):
    """The people who may talk through one channel.

    Args:
        storage: for the current code.
        tables: see :func:`open_tables`.
        channel: the name of the channel.
    """

    def __init__(self, storage: PluginStorage, tables: PluginTables, channel: str) -> None:
        super().__init__(tables, channel)
        self._storage = storage
        self._key = f"code:{channel}"

    @classmethod
    async def open(cls, claw: OneClaw, channel: str) -> Pairing:
        """Open the pairing of a channel.

        Args:
            claw: the open home.
            channel: the name of the channel.
        """
        return cls(claw.store.plugin_storage(STORAGE), await open_tables(claw), channel)

    async def new_code(self) -> str:
        """Make a code that works once within ten minutes; an earlier one is void from now on."""
        code = "".join(secrets.choice(CODE_CHARACTERS) for _ in range(CODE_LENGTH))
        value = {"hash": _hash(code), "wrong": 0, "until": time.time() + CODE_SECONDS}
        await self._storage.set(self._key, value, ttl_seconds=CODE_SECONDS)
        return code

    async def redeem(self, code: str, person: str, name: str) -> bool:
        """Pair a person who sent a code.

        Args:
            code: as it was sent.
            person: the channel's id of the sender.
            name: of the sender.

        Returns:
            True if the code was right; else the person stays unknown.
        """
        is_right = False
        given = _hash(code.strip().upper())

        def check(value: Any) -> Any:
            nonlocal is_right
            is_right = False
            if value is None or value["until"] < time.time():
                return None
            if hmac.compare_digest(value["hash"], given):
                is_right = True
                return None
            wrong = value["wrong"] + 1
            return None if wrong >= MAX_WRONG_CODES else value | {"wrong": wrong}

        await self._storage.change(self._key, check)
        if is_right:
            await self.add(person, name)
        return is_right

    async def add(self, person: str, name: str) -> None:
        """Pair a person whom the channel has authenticated in another way, such as by a login."""
        await self._write(
            """INSERT INTO {people} (channel, person, name, paired_at)
               VALUES (:channel, :person, :name, :now) ON CONFLICT (channel, person) DO NOTHING""",
            person=person,
            name=clean_text(name)[:_MAX_NAME_CHARACTERS],
            now=time.time(),
        )

    async def is_paired(self, person: str) -> bool:
        """Return True if a person may talk."""
        return any(each.id == person for each in await self.people())

    async def people(self) -> list[Person]:
        """Return the paired people, the first one first."""
        rows = await self._read(
            "SELECT person, name, paired_at FROM {people} WHERE channel = :channel ORDER BY paired_at"
        )
        return [Person(*row) for row in rows]

    async def remove(self, person: str) -> bool:
        """Unpair a person; return False if there was no such one."""
        return (
            await self._write("DELETE FROM {people} WHERE channel = :channel AND person = :person", person=person) > 0
        )


def _hash(code: str) -> str:
    return hashlib.sha256(code.encode("utf-8", "replace")).hexdigest()
