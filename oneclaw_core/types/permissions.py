"""Permissions: their names and meanings, decisions of the user on them, and the log of their use."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from oneclaw_core.types.text import BLANKS, INVISIBLE_CHARACTERS

if TYPE_CHECKING:
    from datetime import datetime

MAX_MEANING_CHARACTERS = 120
MAX_NAME_CHARACTERS = 100

KNOWN_PERMISSIONS: dict[str, str] = {
    "agents.create": "create agents, and have them do a task within the limits of the turn",
    "config.write": "change providers, models, agents, settings, tools and variables",
    "calls.as_text": "run a tool that changes something, whose call the model wrote as text",
    "data.send": "send what a model wrote, if the conversation holds text from outside and private data",
    "directory.instructions": "have agents follow a file of a trusted directory that is new or has changed",
    "directory.trust": "write in the directory OneClaw was started in, and follow its AGENTS.md and skills",
    "files.read": "read files in the workspace and in the directory OneClaw was started in",
    "files.write": "write files in the workspace, and in a trusted directory",
    "memory.write": "remember something about you, for all later conversations",
    "network.public": "make requests to public addresses",
    "network.private": "make requests to private, loopback and link-local addresses",
    "shell.execute": "run shell commands, which can do all that you can",
    "shell.execute.unsandboxed": "run one shell command outside the sandbox, where it can do all that you can",
    "shell.network": "let a shell command in the sandbox connect to a host, and send there what it can read",
    "tools.write": "create, change and delete your own JavaScript tools",
    "tasks.write": "schedule tasks that agents do later, change, run and delete them",
}


class PermissionMeaning(NamedTuple):
    """The meaning of a permission as stated by one source.

    Attributes:
        text: in words for users, of the form that :func:`meaning_fault` asks for.
        plugin: whose words these are; ``None`` for OneClaw itself, and for a program that embeds it.
    """

    text: str
    plugin: str | None = None


# What ends a line, steers a terminal, turns the direction of text or is a blank that is none. The joiners U+200C and
# U+200D stay: scripts are written with them. `manifest.schema.json` has the same, but for the surrogates.
_UNSEEN = f"[\x00-\x1f\x7f-\x9f{INVISIBLE_CHARACTERS}{BLANKS}\ud800-\udfff]"


def is_permission_name(name: str) -> bool:
    """Return True if a name is lower-case words separated by dots, such as ``network.private``."""
    return name.isascii() and all(
        part.isidentifier() and part == part.lower() and part[0] != "_" for part in name.split(".")
    )


def meaning_fault(name: object, meaning: object) -> str | None:
    """Say why a permission cannot be explained so.

    Returns:
        What is wrong, ``None`` if nothing is.
    """
    if not isinstance(name, str) or len(name) > MAX_NAME_CHARACTERS or not is_permission_name(name):
        shown = repr(name[:MAX_NAME_CHARACTERS]) if isinstance(name, str) else f"a {type(name).__name__}"
        return (
            f"{shown} is not a permission's name: it is lower-case words separated by dots, such as tables.delete, of "
            f"at most {MAX_NAME_CHARACTERS} characters"
        )
    if not isinstance(meaning, str) or not meaning.strip():
        return f"the meaning of {name!r} must be a text that is not empty"
    if len(meaning) > MAX_MEANING_CHARACTERS:
        return f"the meaning of {name!r} has {len(meaning):,} characters, and may have {MAX_MEANING_CHARACTERS}"
    # For ASCII, which is the rule, the pattern need not be compiled at every start.
    if not (meaning.isprintable() if meaning.isascii() else re.search(_UNSEEN, meaning) is None):
        return f"the meaning of {name!r} must be one line of plain text, without control characters"
    return None


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


class PassingGrant(NamedTuple):
    """A grant that is not stored: for a session, or for the rest of a script.

    Attributes:
        grant: what is granted.
        tool_name: the only tool that it holds for, ``None`` for all.
        asked_again: True if it was given though the session held text from outside.
    """

    grant: Grant
    tool_name: str | None
    asked_again: bool


class PermissionUse(NamedTuple):
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
