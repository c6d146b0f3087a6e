"""Decide on permissions: by what is decided, else by asking the user, whose answer is remembered (FEAT-004)."""

from __future__ import annotations

import asyncio
import json
import shlex
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from oneclaw_core.errors import NobodyToAskError, PermissionDeniedError, denied_for_good
from oneclaw_core.permissions.decisions import Decisions, passing_grant
from oneclaw_core.permissions.requests import SANDBOX, Asker, PermissionAnswer, PermissionRequest
from oneclaw_core.permissions.rules import subject_kind
from oneclaw_core.secrets.redaction import redact_all
from oneclaw_core.types.permissions import Decision, Grant, PassingGrant, PermissionUse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oneclaw_core.sessions.store import Store
    from oneclaw_core.types.user_question import UserAsker, UserQuestion


_LONGEST_NAMED_RULE = 200


class PermissionPolicy:
    """Decides on permissions. What is granted is recorded before it is done.

    Args:
        store: of decisions.
        decisions: what was decided before.
        people: who is asked.
    """

    def __init__(self, store: Store, decisions: Decisions | None = None, people: People | None = None) -> None:
        self._store = store
        self.decisions = decisions or Decisions()
        self.people = people or People()

    async def require(
        self,
        request: PermissionRequest,
        sandbox: str | None = None,
        refused: set[str] | None = None,
        in_script: list[PassingGrant] | None = None,
    ) -> str:
        """Return if the permission is granted, asking the user where nothing is decided.

        Args:
            request: what is needed.
            sandbox: the sandbox that the call goes on in where nothing is decided, ``""`` if the caller will ask
                then; ``None`` to ask.
            refused: keys of the questions that the user did not agree with in this turn; they are not asked again.
            in_script: grants for the rest of the script that needs it; the user's answer adds to them.

        Returns:
            Who granted it: ``option``, ``grant``, ``default`` or ``user``; ``sandbox`` if it goes on without.

        Raises:
            PermissionDeniedError: it is not; the message says how the user can change that.
        """
        known = await self._granted_by_known(request)
        if known is not None:
            return known
        try:
            decided_by, grant = await self._decide(
                request, sandbox, set() if refused is None else refused, [] if in_script is None else in_script
            )
        except PermissionDeniedError as error:
            await self._note(request, None, error.decided_by, is_granted=False)
            raise
        if decided_by == SANDBOX:
            if not sandbox:
                return decided_by
            request = replace(request, detail=f"in the sandbox {sandbox}")
        await self._note(request, grant, decided_by, is_granted=True)
        return decided_by

    async def refresh(self) -> None:
        """Take over what another process has decided by now."""
        self.decisions.replace(await self._store.grants())

    async def _granted_by_known(self, request: PermissionRequest) -> str | None:
        """Record what the known decisions grant, in the transaction that finds them unchanged; ``None`` otherwise."""
        if request.is_counted:
            return None
        try:
            found = self.decisions.granted_by(request)
        except PermissionDeniedError:
            return None
        if found is None or found[0] == "default":
            return None
        decided_by, grant = found
        use = _use_of(request, grant, decided_by, is_granted=True)
        return decided_by if await self._store.record_known_permission_use(use, self.decisions.known) else None

    async def _decide(
        self, request: PermissionRequest, sandbox: str | None, refused: set[str], in_script: list[PassingGrant]
    ) -> tuple[str, Grant | None]:
        await self.refresh()
        decided = self.decisions.granted_by(request, in_script)
        if decided is not None:
            return decided
        if sandbox is not None:
            return SANDBOX, None
        people = self.people.in_session(request.session_id)
        async with people.asking:  # one question at a time; its answer may settle the next
            decided = self.decisions.granted_by(request, in_script)
            if decided is not None:
                return decided
            if people.ask is None:
                raise PermissionDeniedError(_no_one_to_ask(request), request.permission, "default")
            key = _key_of(request)
            if key in refused:
                same = "a call like this" if request.script else "the same call"
                text = f"Permission '{request.permission}' was denied by the user for {same} in this turn."
                text += " The user is not asked again. Continue without it, and say at the end what was not done."
                raise PermissionDeniedError(text, request.permission, "user")
            refused.add(key)
            answer = await people.ask(request)
            # The user may have taken long, and have denied it elsewhere.
            await self.refresh()
            denial = self.decisions.denial(request)
            if denial is not None:
                raise denied_for_good(denial.name)
            await self._settle(request, answer, in_script)
            refused.discard(key)
            return "user", None

    async def _settle(
        self, request: PermissionRequest, answer: PermissionAnswer, in_script: list[PassingGrant]
    ) -> None:
        if answer == PermissionAnswer.SCRIPT and request.script:
            granted = passing_grant(request)
            in_script += [granted] if granted is not None else []
        elif answer == PermissionAnswer.SESSION:
            self.decisions.grant_in_session(request)
        elif answer == PermissionAnswer.ALWAYS:
            if request.grant_for_good is not None:
                await self._remember(request.grant_for_good)
        elif answer == PermissionAnswer.NEVER:
            pattern = request.subject if subject_kind(request.permission).is_denied_alone else None
            denial = Grant(request.permission, pattern, Decision.DENY, source="question")
            await self._remember(denial)
            error = denied_for_good(denial.name)
            error.decided_by = "user"
            raise error
        elif answer != PermissionAnswer.ONCE:
            text = f"Permission '{request.permission}' was denied by the user."
            raise PermissionDeniedError(text, request.permission, "user")

    async def _remember(self, grant: Grant) -> None:
        await self._store.set_grant(grant)
        self.decisions.add(grant)

    async def _note(
        self, request: PermissionRequest, grant: Grant | None, decided_by: str, *, is_granted: bool
    ) -> None:
        """Have a decision recorded, unless the defaults let it through."""
        if not is_granted or decided_by != "default":
            await self._store.record_permission_use(_use_of(request, grant, decided_by, is_granted=is_granted))


def _key_of(request: PermissionRequest) -> str:
    """Return a text that is the same for the same question about the same call.

    Of the calls of scripts, it is the same for all of one tool about the same subject.
    """
    arguments = "script" if request.script else request.arguments
    asked = (request.permission, request.subject, request.directory, request.agent, request.tool_name, arguments)
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


class Asked(NamedTuple):
    """The people who are asked in a session, one question at a time."""

    ask: Asker | None
    ask_user: UserAsker | None
    asking: asyncio.Lock
    shows_forms: bool = False


class People:
    """Knows who is asked where.

    Args:
        ask: asks the user for a permission; ``None`` where there is no one to ask.
        ask_user: asks the user questions that are not about permissions; ``None`` where there is no one to ask.
    """

    def __init__(self, ask: Asker | None = None, ask_user: UserAsker | None = None) -> None:
        self._everywhere = Asked(ask, ask_user, asyncio.Lock())
        # With a lock each: a question in one conversation must not wait for the answer in another.
        self._in_session: dict[str, Asked] = {}

    def in_session(self, session_id: str | None) -> Asked:
        """Return the people who are asked in a session."""
        return self._in_session.get(session_id or "") or self._everywhere

    def can_ask_in(self, session_id: str | None) -> bool:
        """Return True if a person can be asked in a session."""
        return self.in_session(session_id).ask is not None

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
        people = self.in_session(question.session_id)
        if people.ask_user is None:
            raise NobodyToAskError("no one can be asked here")
        if question.form is not None and not people.shows_forms:
            raise NobodyToAskError("no form can be shown here: ask for one value after the other")
        async with people.asking, asyncio.timeout(timeout_seconds):
            return await people.ask_user(question)

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
        before = self._in_session.get(session_id)
        self._in_session[session_id] = Asked(ask, ask_user, asyncio.Lock(), shows_forms)
        try:
            yield
        finally:
            if before is None:
                self._in_session.pop(session_id, None)
            else:
                self._in_session[session_id] = before
