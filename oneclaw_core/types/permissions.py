"""Decisions of the user on permissions, and the log of their use."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime


class Decision(StrEnum):
    """A lasting decision of the user."""

    GRANT = "grant"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that a person is shown before deciding on a permission.

    Attributes:
        kind: for programs: ``subject``, ``arguments``, ``consequence``, ``task``, ``origin`` or another word.
        label: for people, in OneClaw's words.
        text: as others wrote it.
    """

    kind: str
    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Grant:
    """A remembered decision: a permission that is granted, or denied.

    Attributes:
        permission: the action, such as ``network.private``.
        pattern: of the subjects that it holds for, such as a host; ``None`` for all.
        decision: granted or denied.
        until: when it ends, with a time zone; ``None`` for never.
        agent: the name of the only agent that it holds for; ``None`` for all.
        task: the id of the only scheduled task that it holds for; ``None`` for all, and for turns of the user's.
        directory: the absolute path of the only directory that it holds in; ``None`` for all.
        source: where it came from: ``question``, ``command line`` or ``version 0.1``.
        created_at: when it was decided; ``None`` for one that is not stored yet.
        last_used_at: when it last let something through; ``None`` for never.
    """

    permission: str
    pattern: str | None = None
    decision: Decision = Decision.GRANT
    until: datetime | None = None
    agent: str | None = None
    task: str | None = None
    directory: str | None = None
    source: str = "command line"
    created_at: datetime | None = None
    last_used_at: datetime | None = field(default=None, compare=False)

    @property
    def name(self) -> str:
        """The permission as the command line takes it: ``PERMISSION``, or ``PERMISSION:PATTERN``."""
        return self.permission if self.pattern is None else f"{self.permission}:{self.pattern}"

    @property
    def key(self) -> tuple[str, str | None, str | None, str | None, str | None]:
        """The key by which one grant replaces another."""
        return self.permission, self.pattern, self.agent, self.task, self.directory


@dataclass(frozen=True, slots=True)
class PassingGrant:
    """A grant that is not stored: for a session, or for the rest of a script.

    Attributes:
        grant: what is granted.
        tool_name: the only tool that it holds for, ``None`` for all.
        asked_again: True if it was given though the session held text from outside.
    """

    grant: Grant
    tool_name: str | None
    asked_again: bool


@dataclass(frozen=True, slots=True)
class PermissionUse:
    """A permission that was asked for, and the answer: an entry of the audit log.

    Attributes:
        permission: the action.
        subject: what it was needed for, such as a command; ``None`` if there is none.
        detail: what the tool said that it was about to do.
        tool_name: the tool that needed it.
        is_granted: whether it was let through.
        decided_by: ``option`` (``--allow``), ``grant``, ``user``, ``denial`` (remembered), or ``default`` where no
            person could be asked.
        session_id: the conversation, ``None`` outside one.
        agent: on whose behalf, ``None`` for a plugin at work by itself.
        task: the scheduled task, ``None`` for a turn of the user's.
        directory: where, ``None`` if that means nothing to the permission.
        grant: the key of the grant that decided it, ``None`` for none.
        at: when; ``None`` for one that is not stored yet.
    """

    permission: str
    subject: str | None
    detail: str
    tool_name: str
    is_granted: bool
    decided_by: str
    session_id: str | None = None
    agent: str | None = None
    task: str | None = None
    directory: str | None = None
    grant: tuple[str, str | None, str | None, str | None, str | None] | None = None
    at: datetime | None = None
