"""Pairing: who may talk to OneClaw through a channel. A code shown to the owner makes its sender known."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_core.channels.mailbox import STORAGE, ChannelTables, open_tables
from oneclaw_core.types.text import clean_text

if TYPE_CHECKING:
    from oneclaw_core.app import OneClaw
    from oneclaw_core.sessions.plugin_storage import PluginStorage
    from oneclaw_core.sessions.plugin_tables import PluginTables

CODE_CHARACTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""Without those that look alike."""
CODE_LENGTH = 8
CODE_SECONDS = 600
MAX_WRONG_CODES = 5
"""After so many wrong codes the current one is void, so that none can be guessed."""
_MAX_NAME_CHARACTERS = 100


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
        tables: see :func:`oneclaw_core.channels.mailbox.open_tables`.
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
