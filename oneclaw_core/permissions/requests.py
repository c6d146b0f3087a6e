"""Questions for permissions, and their answers (FEAT-004, "Permission Rules").

A tool declares permissions by name; each is checked before every run. A decision holds for what the question showed:
a permission with its subject, see :mod:`oneclaw_core.permissions.rules`, and the agent and directory that it was
asked for.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from oneclaw_core.permissions.rules import subject_kind
from oneclaw_core.types.permissions import Grant

if TYPE_CHECKING:
    from collections.abc import Mapping


SANDBOX = "sandbox"
"""The reason recorded where a call goes on without a permission because it is in a sandbox."""


class PermissionAnswer(StrEnum):
    """The possible answers of a user to a question."""

    ONCE = "once"
    SCRIPT = "script"
    SESSION = "session"
    ALWAYS = "always"
    NO = "no"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class PermissionRequest:
    """The question to the user.

    Attributes:
        permission: such as ``network.private``.
        tool_name: the tool that needs it.
        arguments: what the tool was called with.
        detail: what exactly it is about to do, where the tool says so.
        session_id: the conversation, ``None`` outside one.
        subject: what it is needed for, such as a host or, of ``shell.execute``, the command; ``None`` for nothing.
        meaning: what the permission allows, in the words of OneClaw or of a plugin; ``""`` if none says.
        meaning_by: the plugin whose words these are, to be shown with them; ``None`` for OneClaw's own.
        agent: the agent on whose behalf, ``None`` for a plugin at work by itself.
        task: the scheduled task on whose behalf, ``None`` for a turn of the user's.
        directory: the absolute path where it will be done; ``None`` if that means nothing to the permission.
        on_behalf_of: the agents of the turns that this one is run within; what is denied to them is denied here,
            and a grant for one agent alone holds only if they are that agent.
        sub_agent: what the sub-agent is called that needs it, ``None`` for the agent that the user talks with.
        holds: what the conversation holds that others wrote, and which private data; ``""`` for neither.
        asks_again: True if, for what the conversation holds, neither the defaults nor a grant for all subjects is
            enough: see :func:`oneclaw_core.provenance.marks.asks_again`.
        as_a_whole: True if a grant for a pattern of subjects is not enough.
        call_id: the id of the tool call that needs it, which its events have too; ``None`` outside one.
        script: which call of which script needs it, in words that quote a model; ``""`` for no script.
        is_counted: True if no lasting grant is enough, since a script has used it many times.
    """

    permission: str
    tool_name: str
    arguments: Mapping[str, Any]
    detail: str = ""
    session_id: str | None = None
    subject: str | None = None
    meaning: str = ""
    meaning_by: str | None = None
    agent: str | None = None
    task: str | None = None
    directory: str | None = None
    on_behalf_of: tuple[str, ...] = ()
    sub_agent: str | None = None
    holds: str = ""
    asks_again: bool = False
    as_a_whole: bool = False
    call_id: str | None = None
    script: str = ""
    is_counted: bool = False

    @property
    def grant_for_script(self) -> Grant | None:
        """The grant that ``PermissionAnswer.SCRIPT`` gives for the rest of a script; ``None`` outside scripts."""
        return self.grant_for_session if self.script else None

    @property
    def grant_for_session(self) -> Grant | None:
        """The grant that ``PermissionAnswer.SESSION`` gives to this agent in this session; ``None`` for none."""
        if subject_kind(self.permission).is_for_once:
            return None
        is_in_directory = subject_kind(self.permission).is_whole_in_session and self.directory is not None
        is_whole = self.subject is None or is_in_directory
        pattern = None if is_whole else self.subject
        return Grant(self.permission, pattern, agent=self.agent, directory=self.directory, source="question")

    @property
    def grant_for_good(self) -> Grant | None:
        """The grant that ``PermissionAnswer.ALWAYS`` stores; ``None`` where no pattern can stand for the subject."""
        pattern, kind = None, subject_kind(self.permission)
        if kind.is_for_once or (self.as_a_whole and not kind.is_whole_for_good):
            return None
        if kind.directory_argument is not None and self.directory is None:
            return None
        if self.subject is not None and not (kind.is_whole_for_good and self.directory is not None):
            pattern = kind.exact_pattern(self.subject)
            if pattern is None:
                return None
        return Grant(self.permission, pattern, task=self.task, directory=self.directory, source="question")


Asker = Callable[[PermissionRequest], Awaitable[PermissionAnswer]]
"""Asks a person for a permission."""


class RequirePermission(Protocol):
    """Returns if a call has a permission, after asking the user where nothing is decided."""

    async def __call__(
        self,
        permission: str,
        detail: str = "",
        subject: str | None = None,
        directory: str | None = None,
        sandbox: str | None = None,
        *,
        as_a_whole: bool = False,
    ) -> bool:
        """Return if the permission is granted, or if the call goes on in a sandbox without it.

        Args:
            permission: such as ``network.private``.
            detail: what exactly is about to be done, for the user.
            subject: what it is needed for.
            directory: where, as an absolute path.
            sandbox: the sandbox that makes a question needless; ``None`` to ask where nothing is decided.
            as_a_whole: True if a grant for a pattern of subjects is not enough.

        Returns:
            True if it is granted; False if the call goes on in the sandbox.

        Raises:
            PermissionDeniedError: it is not.
        """
        ...


def grant_in_words(grant: Grant) -> str:
    """Say what a grant or a denial holds for, such as ``network.private for the host 127.0.0.1, by the agent Ada``."""
    words = grant.permission
    if grant.pattern is not None:
        words += f" for the {subject_kind(grant.permission).noun} {grant.pattern}"
    if grant.directory is not None:
        words += f" in {grant.directory}"
    if grant.agent is not None:
        words += f", by the agent {grant.agent}"
    if grant.task is not None:
        words += f", in the task {grant.task}"
    if grant.until is not None:
        words += f", until {grant.until.astimezone():%Y-%m-%d %H:%M}"
    return words
