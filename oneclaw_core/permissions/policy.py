"""May a tool do what it wants to do (FEAT-004, "Permission Rules")?

A tool declares permissions by name; each is checked before every run. Lasting decisions of the user are kept by
the policy; this module neither reads nor writes anything. A decision holds for what the question showed:
a permission with its subject, see :mod:`oneclaw_core.permissions.rules`, and the agent and directory that it was
asked for.
"""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import Awaitable, Callable
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from oneclaw_core.errors import NobodyToAskError, PermissionDeniedError, denied_for_good
from oneclaw_core.permissions.rules import (
    ALL_PARTS,
    PermissionRule,
    denies,
    grants,
    is_account,
    subject_kind,
    subject_parts,
)
from oneclaw_core.system.redaction import redact_all
from oneclaw_core.types.frozen_dataclass import frozen_dataclass
from oneclaw_core.types.permissions import Decision, Grant, PermissionUse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from oneclaw_core.types.user_question import UserAsker, UserQuestion

GRANTED_BY_DEFAULT = frozenset({"agents.create", "files.read", "files.write", "memory.write", "network.public"})
# Granted by default only for what no question is about: a question names a path because it is another one.
_NOT_FOR_SUBJECTS = frozenset({"files.read", "files.write"})
SANDBOX = "sandbox"
"""The reason recorded where a call goes on without a permission because it is in a sandbox."""
_LONGEST_NAMED_RULE = 200


class PermissionAnswer(StrEnum):
    """The possible answers of a user to a question."""

    ONCE = "once"
    SESSION = "session"
    ALWAYS = "always"
    NO = "no"
    NEVER = "never"


@frozen_dataclass
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
        on_behalf_of: the agents of the turns that this one is run within; what is denied to them is denied here.
        sub_agent: what the sub-agent is called that needs it, ``None`` for the agent that the user talks with.
        holds: what the conversation holds that others wrote, and which private data; ``""`` for neither.
        asks_again: True if, for what the conversation holds, neither the defaults nor a grant for all subjects is
            enough: see :func:`oneclaw_core.provenance.marks.asks_again`.
        as_a_whole: True if a grant for a pattern of subjects is not enough.
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


class _People(NamedTuple):
    """The people who are asked in a session, one question at a time."""

    ask: Asker | None
    ask_user: UserAsker | None
    asking: asyncio.Lock
    shows_forms: bool = False


class PermissionPolicy:
    """Decides on permissions: by what was allowed for this run, what is remembered, the defaults, and asking.

    Args:
        decided: the lasting decisions of the user.
        remember: called with a lasting decision of the user.
        ask: asks the user; ``None`` where there is no one to ask.
        allowed: permissions and rules granted for as long as the program runs, whatever is remembered.
        record: called with what a person decided, now or before; what is granted is recorded before it is done.
        read: reads the lasting decisions as they are now; ``None`` if no one else changes them.
        ask_user: asks the user questions that are not about permissions; ``None`` where there is no one to ask.
        record_known: called with what was granted and the lasting decisions that granted it; records it and returns
            True, or returns False if there are others by now. ``None`` to read the decisions first.

    Raises:
        UsageError: something in ``allowed`` has a pattern that is none.
    """

    def __init__(
        self,
        decided: Iterable[Grant],
        remember: Callable[[Grant], Awaitable[None]],
        ask: Callable[[PermissionRequest], Awaitable[PermissionAnswer]] | None = None,
        allowed: Iterable[str] = (),
        record: Callable[[PermissionUse], Awaitable[None]] | None = None,
        read: Callable[[], Awaitable[Iterable[Grant]]] | None = None,
        ask_user: UserAsker | None = None,
        record_known: Callable[[PermissionUse, tuple[Grant, ...]], Awaitable[bool]] | None = None,
    ) -> None:
        self._ask_user = ask_user
        self._record_known = record_known
        self.replace_grants(decided)
        self._remember = remember
        self._record = record
        self._read = read
        self._ask = ask
        self._allowed = tuple(PermissionRule.check(each) for each in allowed)
        # By session, each with the only tool that it holds for, ``None`` for all, and ``asks_again`` of its request.
        self._granted_in_session: dict[str | None, list[tuple[Grant, str | None, bool]]] = {}
        self._asking = asyncio.Lock()
        # With a lock each: a question in one conversation must not wait for the answer in another.
        self._askers: dict[str, _People] = {}

    def can_ask_in(self, session_id: str | None) -> bool:
        """Return True if a person can be asked in a session."""
        return self._people_in(session_id).ask is not None

    async def ask_user(self, question: UserQuestion, timeout_seconds: float | None) -> str | None:
        """Ask the user a question that is about no permission; one question at a time.

        Args:
            question: with the session that it is asked in.
            timeout_seconds: how long to wait for the answer; ``None`` for as long as it takes.

        Returns:
            The answer; ``None`` if the user gives none.

        Raises:
            NobodyToAskError: there is no one, or no form can be shown.
            TimeoutError: the time is up.
        """
        people = self._people_in(question.session_id)
        if people.ask_user is None:
            raise NobodyToAskError("no one can be asked here")
        if question.form is not None and not people.shows_forms:
            raise NobodyToAskError("no form can be shown here: ask for one value after the other")
        async with people.asking, asyncio.timeout(timeout_seconds):
            return await people.ask_user(question)

    def _people_in(self, session_id: str | None) -> _People:
        return self._askers.get(session_id or "") or _People(self._ask, self._ask_user, self._asking)

    def replace_grants(self, decided: Iterable[Grant]) -> None:
        """Take over what is remembered now; another process may have changed it."""
        self._known = tuple(decided)
        self._decided: dict[str, list[Grant]] = {}
        for grant in self._known:
            self._decided.setdefault(grant.permission, []).append(grant)

    def forget_session(self, session_id: str) -> None:
        """Forget the answers for a session that is deleted."""
        self._granted_in_session.pop(session_id, None)

    def is_granted(self, request: PermissionRequest) -> bool:
        """Return True if a permission is granted without asking."""
        try:
            return self._granted_by(request) is not None
        except PermissionDeniedError:
            return False

    def denied(
        self,
        *permissions: str,
        agent: str | None = None,
        task: str | None = None,
        on_behalf_of: tuple[str, ...] = (),
        with_patterns: bool = False,
    ) -> frozenset[str]:
        """Return those of some permissions that the user has denied permanently.

        Args:
            permissions: their names.
            agent: on whose behalf they are needed.
            task: for which scheduled task.
            on_behalf_of: the agents of the turns that this one is run within.
            with_patterns: True to return denials of a part too, as ``PERMISSION:PATTERN``.
        """
        if not self._decided:
            return frozenset()
        found = set()
        for each in permissions:
            request = PermissionRequest(each, "", {}, agent=agent, task=task, on_behalf_of=on_behalf_of)
            if PermissionRule(each) in self._allowed:
                continue
            if self._denial(request) is not None:
                found.add(each)
            for grant in self._remembered(each) if with_patterns else ():
                if grant.decision is Decision.GRANT or grant.pattern is None or not _holds_for(grant, request):
                    continue
                if not any(grants(rule, each, grant.pattern) for rule in self._allowed):
                    found.add(f"{each}:{grant.pattern}")
        return frozenset(found)

    async def require(
        self, request: PermissionRequest, sandbox: str | None = None, refused: set[str] | None = None
    ) -> str:
        """Return if the permission is granted, asking the user where nothing is decided.

        Args:
            request: what is needed.
            sandbox: the sandbox that the call goes on in where nothing is decided, ``""`` if the caller will ask
                then; ``None`` to ask.
            refused: keys of the questions that the user did not agree with in this turn; they are not asked again.

        Returns:
            Who granted it: ``option``, ``grant``, ``default`` or ``user``; ``sandbox`` if it goes on without.

        Raises:
            PermissionDeniedError: it is not; the message says how the user can change that.
        """
        known = await self._granted_by_known(request)
        if known is not None:
            return known
        try:
            decided_by, grant = await self._decide(request, sandbox, set() if refused is None else refused)
        except PermissionDeniedError as error:
            await self._note(request, None, error.decided_by, is_granted=False)
            raise
        if decided_by == SANDBOX:
            if not sandbox:
                return decided_by
            request = replace(request, detail=f"in the sandbox {sandbox}")
        await self._note(request, grant, decided_by, is_granted=True)
        return decided_by

    @contextmanager
    def answered_by(
        self,
        session_id: str,
        ask: Asker | None,
        ask_user: UserAsker | None = None,
        *,
        or_nobody: bool = False,
        shows_forms: bool = False,
    ) -> Iterator[None]:
        """Ask somebody else in one session while the block runs.

        Args:
            session_id: the session.
            ask: asks for permissions; ``None``, with the other, to leave it as it is.
            ask_user: asks questions of tools.
            or_nobody: True to ask no one if both are ``None``.
            shows_forms: True if ``ask_user`` takes questions with a form.
        """
        if ask is None and ask_user is None and not or_nobody:
            yield
            return
        before = self._askers.get(session_id)
        self._askers[session_id] = _People(ask, ask_user, asyncio.Lock(), shows_forms)
        try:
            yield
        finally:
            if before is None:
                self._askers.pop(session_id, None)
            else:
                self._askers[session_id] = before

    async def _granted_by_known(self, request: PermissionRequest) -> str | None:
        """Record what the known decisions grant, in the transaction that finds them unchanged; ``None`` otherwise."""
        if self._record_known is None:
            return None
        try:
            found = self._granted_by(request)
        except PermissionDeniedError:
            return None
        if found is None or found[0] == "default":
            return None
        decided_by, grant = found
        use = _use_of(request, grant, decided_by, is_granted=True)
        return decided_by if await self._record_known(use, self._known) else None

    async def _decide(
        self, request: PermissionRequest, sandbox: str | None, refused: set[str]
    ) -> tuple[str, Grant | None]:
        await self.refresh()
        decided = self._granted_by(request)
        if decided is not None:
            return decided
        if sandbox is not None:
            return SANDBOX, None
        people = self._people_in(request.session_id)
        async with people.asking:  # one question at a time; its answer may settle the next
            decided = self._granted_by(request)
            if decided is not None:
                return decided
            if people.ask is None:
                raise PermissionDeniedError(_no_one_to_ask(request), request.permission, "default")
            key = _key_of(request)
            if key in refused:
                text = f"Permission '{request.permission}' was denied by the user for the same call in this turn."
                text += " The user is not asked again. Continue without it, and say at the end what was not done."
                raise PermissionDeniedError(text, request.permission, "user")
            refused.add(key)
            answer = await people.ask(request)
            # The user may have taken long, and have denied it elsewhere.
            await self.refresh()
            denial = self._denial(request)
            if denial is not None:
                raise denied_for_good(denial.name)
            await self._settle(request, answer)
            refused.discard(key)
            return "user", None

    async def refresh(self) -> None:
        """Take over what another process has decided by now."""
        if self._read is not None:
            self.replace_grants(await self._read())

    def _granted_by(self, request: PermissionRequest) -> tuple[str, Grant | None] | None:
        """Find what grants it without asking, ``None`` if nothing does; a denial goes before a grant.

        A subject with several parts, such as the recipients of a mail, is granted as a whole, or each part by itself.
        """
        found = self._granted_as_one(request)
        parts = subject_parts(request.permission, request.subject) if request.subject is not None else ()
        if found is not None or len(parts) < 2:
            return found
        for part in parts:
            # With which account is no matter of what the conversation holds, once it is said for whom.
            alone = replace(request, subject=part, asks_again=request.asks_again and not is_account(part))
            found = self._granted_as_one(alone)
            if found is None:
                return None
        return found

    def _granted_as_one(self, request: PermissionRequest) -> tuple[str, Grant | None] | None:
        """Find one thing that grants it."""
        permission, subject = request.permission, request.subject
        if any(_is_enough(rule, request) for rule in self._allowed):
            return "option", None
        denial = self._denial(request)
        if denial is not None:
            raise denied_for_good(denial.name)
        for grant in self._remembered(permission):
            if grant.source == "version 0.1" and subject is not None and permission in _NOT_FOR_SUBJECTS:
                continue  # it was granted when it was for the workspace alone
            if (
                grant.decision is Decision.GRANT
                and _is_enough(grant, request)
                and _holds_for(grant, request)
                and not (request.asks_again and _is_for_anything(grant) and grant.task is None)
            ):
                return "grant", grant
        for grant, tool_name, asked_again in self._granted_in_session.get(request.session_id, ()):
            if (
                grant.permission == permission
                and not (request.asks_again and _is_for_anything(grant) and not asked_again)
                and tool_name in (None, request.tool_name)
                and grant.pattern in (None, None if request.as_a_whole else subject)
                and (grant.agent, grant.directory) == (request.agent, request.directory)
            ):
                return "grant", None
        is_default = permission in GRANTED_BY_DEFAULT and (subject is None or permission not in _NOT_FOR_SUBJECTS)
        return ("default", None) if is_default and not request.asks_again else None

    def _denial(self, request: PermissionRequest) -> Grant | None:
        for grant in self._remembered(request.permission):
            if (
                grant.decision is Decision.DENY
                and denies(grant, request.permission, request.subject)
                and _holds_for(grant, request)
            ):
                return grant
        return None

    def _remembered(self, permission: str) -> Iterable[Grant]:
        """Return what is remembered of a permission, and of those that it is a part of."""
        parts = permission.split(".")
        names = [".".join(parts[:count]) for count in range(1, len(parts) + 1)]
        names += [f"{name}{ALL_PARTS}" for name in names[:-1]]
        return [grant for name in names for grant in self._decided.get(name, ())]

    async def _settle(self, request: PermissionRequest, answer: PermissionAnswer) -> None:
        if answer == PermissionAnswer.SESSION:
            if request.grant_for_session is None:
                return
            # The user has not seen what another tool would use it for, or, outside a session, another caller.
            is_for_one = request.subject is None or is_account(request.subject) or request.session_id is None
            tool_name = request.tool_name if is_for_one else None
            granted = self._granted_in_session.setdefault(request.session_id, [])
            granted.append((request.grant_for_session, tool_name, request.asks_again))
        elif answer == PermissionAnswer.ALWAYS:
            if request.grant_for_good is not None:
                await self._remember_now(request.grant_for_good)
        elif answer == PermissionAnswer.NEVER:
            pattern = request.subject if subject_kind(request.permission).is_denied_alone else None
            denial = Grant(request.permission, pattern, Decision.DENY, source="question")
            await self._remember_now(denial)
            error = denied_for_good(denial.name)
            error.decided_by = "user"
            raise error
        elif answer != PermissionAnswer.ONCE:
            text = f"Permission '{request.permission}' was denied by the user."
            raise PermissionDeniedError(text, request.permission, "user")

    async def _remember_now(self, grant: Grant) -> None:
        await self._remember(grant)
        others = [each for each in self._decided.get(grant.permission, []) if each.key != grant.key]
        self._decided[grant.permission] = [*others, grant]

    async def _note(
        self, request: PermissionRequest, grant: Grant | None, decided_by: str, *, is_granted: bool
    ) -> None:
        """Have a decision recorded, unless the defaults let it through."""
        if self._record is None or (is_granted and decided_by == "default"):
            return
        await self._record(_use_of(request, grant, decided_by, is_granted=is_granted))


def _key_of(request: PermissionRequest) -> str:
    """Return a text that is the same for the same question about the same call."""
    asked = (
        request.permission, request.subject, request.directory, request.agent, request.tool_name, request.arguments
    )  # fmt: skip
    return json.dumps(asked, sort_keys=True, default=str)


def _use_of(request: PermissionRequest, grant: Grant | None, decided_by: str, *, is_granted: bool) -> PermissionUse:
    subject, detail = redact_all((request.subject or "", request.detail))
    return PermissionUse(
        permission=request.permission,
        subject=subject if request.subject is not None else None,
        detail=detail,
        tool_name=request.tool_name,
        is_granted=is_granted,
        decided_by=decided_by,
        session_id=request.session_id,
        agent=request.agent,
        task=request.task,
        directory=request.directory,
        grant=grant.key if grant is not None else None,
    )


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


def _is_for_anything(grant: Grant) -> bool:
    """Return True if a grant does not say what for, be it for one account."""
    return grant.pattern is None or is_account(grant.pattern)


def _is_enough(rule: PermissionRule | Grant, request: PermissionRequest) -> bool:
    """Return True if a rule grants the permission of a request for its subject."""
    return grants(rule, request.permission, request.subject) and not (request.as_a_whole and rule.pattern is not None)


def _holds_for(grant: Grant, request: PermissionRequest) -> bool:
    """Return True if a grant holds now, and for the agent, task and directory of a request."""
    agents = (None, request.agent, *(request.on_behalf_of if grant.decision is Decision.DENY else ()))
    return (
        grant.agent in agents
        and grant.task in (None, request.task)
        and grant.directory in (None, request.directory)
        and (grant.until is None or grant.until > datetime.now(UTC))
    )


def _no_one_to_ask(request: PermissionRequest) -> str:
    grant, kind = request.grant_for_good, subject_kind(request.permission)
    if request.asks_again:
        return _not_asked_again(request, grant)
    text = f"Permission '{request.permission}' is not granted, and no one can be asked here. "
    if grant is not None and grant.pattern is not None and not kind.whole_covers(grant.pattern):
        return f"{text}The user can grant it with: oneclaw permissions grant {shlex.quote(grant.name)}"
    text += f"The user can grant it with: oneclaw permissions grant {request.permission}"
    if grant is not None and kind.is_whole_for_good and grant.directory is not None:
        name = shlex.quote(f"{request.permission}:{grant.directory}")
        return f"{text}; for this directory alone with: oneclaw permissions grant {name}"
    command = _granting_command(grant)
    return text if command is None else f"{text}; for this alone with: {command}"


def _not_asked_again(request: PermissionRequest, grant: Grant | None) -> str:
    command = _granting_command(grant)
    how = f"for one run with: --allow {request.permission}" if command is None else f"with: {command}"
    return (
        f"The user has to agree with '{request.permission}', because this conversation holds {request.holds}, "
        f"and no one can be asked here. The user can grant it {how}"
    )


def _granting_command(grant: Grant | None) -> str | None:
    """Return the command that gives a grant for one subject alone; ``None`` if there is none that a person types."""
    if grant is None or grant.pattern is None or len(grant.name) > _LONGEST_NAMED_RULE:
        return None
    command = f"oneclaw permissions grant {shlex.quote(grant.name)}"
    if grant.directory is not None:
        command += f" --in {shlex.quote(grant.directory)}"
    if grant.task is not None:
        command += f" --task {shlex.quote(grant.task)}"
    return command
