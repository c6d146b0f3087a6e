"""Decide on permissions without asking: by what was allowed for this run, what is remembered, and the defaults."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from oneclaw_core.errors import PermissionDeniedError, UsageError, denied_for_good
from oneclaw_core.permissions.requests import PermissionRequest
from oneclaw_core.permissions.rules import ALL_PARTS, PermissionRule, denies, grants, is_account, subject_parts
from oneclaw_core.types.permissions import Decision, Grant, PassingGrant

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from oneclaw_core.sessions.store import Store


GRANTED_BY_DEFAULT = frozenset({"agents.create", "files.read", "files.write", "memory.write", "network.public"})
# Granted by default only for what no question is about: a question names a path because it is another one.
_NOT_FOR_SUBJECTS = frozenset({"files.read", "files.write"})


class Decisions:
    """The decisions of the user on permissions, and the defaults.

    Args:
        decided: the lasting decisions.
        allowed: permissions and rules granted for as long as the program runs, whatever is remembered.

    Attributes:
        known: the lasting decisions as they were read last.

    Raises:
        UsageError: something in ``allowed`` has a pattern that is none.
    """

    def __init__(self, decided: Iterable[Grant] = (), allowed: Iterable[str] = ()) -> None:
        self._allowed = tuple(PermissionRule.check(each) for each in allowed)
        self._granted_in_session: dict[str | None, list[PassingGrant]] = {}
        self.replace(decided)

    def replace(self, decided: Iterable[Grant]) -> None:
        """Take over what is remembered now; another process may have changed it."""
        self._decided = self.known = tuple(decided)

    def add(self, grant: Grant) -> None:
        """Take over a lasting decision that was just made."""
        self._decided = (*(each for each in self._decided if each.key != grant.key), grant)

    def grant_in_session(self, request: PermissionRequest) -> None:
        """Grant what a request asks for until its session ends, as far as it says what that is."""
        if (granted := passing_grant(request)) is not None:
            self._granted_in_session.setdefault(request.session_id, []).append(granted)

    def forget_session(self, session_id: str) -> None:
        """Forget the answers for a session that is deleted."""
        self._granted_in_session.pop(session_id, None)

    def holds(self, permission: str, subject: str) -> bool:
        """Return True if a permission is granted for a subject without asking, to all agents."""
        return self.is_granted(PermissionRequest(permission, "", {}, subject=subject))

    def is_granted(self, request: PermissionRequest) -> bool:
        """Return True if a permission is granted without asking."""
        try:
            return self.granted_by(request) is not None
        except PermissionDeniedError:
            return False

    def denied(self, *permissions: str, behalf: PermissionRequest, with_patterns: bool = False) -> frozenset[str]:
        """Return those of some permissions that the user has denied permanently.

        Args:
            permissions: their names.
            behalf: says on whose behalf they are needed.
            with_patterns: True to return denials of a part too, as ``PERMISSION:PATTERN``.
        """
        if not self._decided:
            return frozenset()
        found = set()
        for each in permissions:
            request = replace(behalf, permission=each)
            if PermissionRule(each) in self._allowed:
                continue
            if self.denial(request) is not None:
                found.add(each)
            for grant in self._remembered(each) if with_patterns else ():
                if grant.decision is Decision.GRANT or grant.pattern is None or not _holds_for(grant, request):
                    continue
                if not any(grants(rule, each, grant.pattern) for rule in self._allowed):
                    found.add(f"{each}:{grant.pattern}")
        return frozenset(found)

    def granted_places(self, request: PermissionRequest, in_script: Sequence[PassingGrant] = ()) -> frozenset[str]:
        """Return the places that a permission is granted for without a question; ``"/"`` if any place is.

        Args:
            request: of ``files.read`` or ``files.write``; its subject does not matter.
            in_script: grants for the rest of the script.
        """
        permission = request.permission
        found = {rule.pattern or "/" for rule in self._allowed if rule.permission == permission}
        passing = (*self._granted_in_session.get(request.session_id, ()), *in_script)
        granted = [each.grant for each in passing if each.grant.permission == permission]
        granted += [
            each
            for each in self._remembered(permission)
            if each.decision is Decision.GRANT and each.source != "version 0.1" and _holds_for(each, request)
        ]
        return frozenset(found | {each.pattern or each.directory or "/" for each in granted})

    def granted_by(
        self, request: PermissionRequest, in_script: Sequence[PassingGrant] = ()
    ) -> tuple[str, Grant | None] | None:
        """Find what grants it without asking, ``None`` if nothing does; a denial goes before a grant.

        A subject with several parts, such as the recipients of a mail, is granted as a whole, or each part by itself.

        Args:
            request: what is asked for.
            in_script: grants for the rest of the script.
        """
        found = self._granted_as_one(request, in_script)
        if request.is_counted:
            is_of_this_run = found is not None and (found[0] == "option" or (found[1] is not None and found[1].task))
            return found if is_of_this_run else None
        parts = subject_parts(request.permission, request.subject) if request.subject is not None else ()
        if found is not None or len(parts) < 2:
            return found
        for part in parts:
            # With which account is no matter of what the conversation holds, once it is said for whom.
            alone = replace(request, subject=part, asks_again=request.asks_again and not is_account(part))
            found = self._granted_as_one(alone, in_script)
            if found is None:
                return None
        return found

    def _granted_as_one(
        self, request: PermissionRequest, in_script: Sequence[PassingGrant]
    ) -> tuple[str, Grant | None] | None:
        """Find one thing that grants it."""
        permission, subject = request.permission, request.subject
        if any(_is_enough(rule, request) for rule in self._allowed):
            return "option", None
        denial = self.denial(request)
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
        passing = (*self._granted_in_session.get(request.session_id, ()), *in_script)
        if any(_passes(each, request) for each in passing):
            return "grant", None
        is_default = permission in GRANTED_BY_DEFAULT and (subject is None or permission not in _NOT_FOR_SUBJECTS)
        return ("default", None) if is_default and not request.asks_again else None

    def denial(self, request: PermissionRequest) -> Grant | None:
        """Return the lasting denial that a request meets; ``None`` if there is none."""
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
        return [
            each
            for each in self._decided
            if permission == each.permission or permission.startswith(f"{each.permission.removesuffix(ALL_PARTS)}.")
        ]


def passing_grant(request: PermissionRequest) -> PassingGrant | None:
    """Grant what a request asks for, as far as it says what that is."""
    if request.grant_for_session is None:
        return None
    # The user has not seen what another tool would use it for, or, outside a session, another caller.
    is_for_one = request.subject is None or is_account(request.subject) or request.session_id is None
    return PassingGrant(request.grant_for_session, request.tool_name if is_for_one else None, request.asks_again)


def _passes(passing: PassingGrant, request: PermissionRequest) -> bool:
    """Return True if a grant that is not stored grants what a request asks for."""
    grant, subject = passing.grant, request.subject
    return (
        grant.permission == request.permission
        and not (request.asks_again and _is_for_anything(grant) and not passing.asked_again)
        and passing.tool_name in (None, request.tool_name)
        and grant.pattern in (None, None if request.as_a_whole else subject)
        and (grant.agent, grant.directory) == (request.agent, request.directory)
    )


def _is_for_anything(grant: Grant) -> bool:
    """Return True if a grant does not say what for, be it for one account."""
    return grant.pattern is None or is_account(grant.pattern)


def _is_enough(rule: PermissionRule | Grant, request: PermissionRequest) -> bool:
    """Return True if a rule grants the permission of a request for its subject."""
    return grants(rule, request.permission, request.subject) and not (request.as_a_whole and rule.pattern is not None)


def _holds_for(grant: Grant, request: PermissionRequest) -> bool:
    """Return True if a grant holds now, and for the agent, task and directory of a request."""
    agents = (request.agent, *request.on_behalf_of)
    # A denial holds for who works for an agent too; a grant does not, for who works for an agent without it.
    holds = any if grant.decision is Decision.DENY else all
    return (
        (grant.agent is None or holds(each == grant.agent for each in agents))
        and grant.task in (None, request.task)
        and grant.directory in (None, request.directory)
        and (grant.until is None or grant.until > datetime.now(UTC))
    )


_MOST_ENTRIES = 500


class TaskPermissions:
    """The permissions that scheduled tasks lacked, and their grants.

    Args:
        store: holds the decisions and the log of their use.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    async def lacked(self, task: str, session_id: str) -> list[Grant]:
        """Return the grants that a task lacked in a session and still lacks, each for one subject where there is one.

        What the user has denied, and what has to be asked each time, is left out.

        Args:
            task: the id of the task.
            session_id: of its run.
        """
        granted = {each.key for each in await self._store.grants() if each.decision is Decision.GRANT}
        seen: set[tuple[str, str | None, str | None]] = set()
        found: dict[object, Grant] = {}
        for use in await self._store.permission_log(_MOST_ENTRIES, session_id):  # the newest first
            asked = use.permission, use.subject, use.directory
            if use.task != task or asked in seen:
                continue
            seen.add(asked)
            if use.is_granted or use.decided_by != "default":
                continue
            request = PermissionRequest(
                use.permission, use.tool_name, {}, subject=use.subject, task=task, directory=use.directory
            )
            grant = request.grant_for_good
            if grant is not None and grant.key not in granted:
                found[grant.key] = grant
        return list(found.values())[::-1]

    async def grant(self, grant: Grant) -> None:
        """Store a grant that the user gave to a task.

        Raises:
            UsageError: it is for no task.
        """
        if grant.task is None or grant.decision is not Decision.GRANT:
            raise UsageError(f"{grant.name}: this is not a grant for one task")
        await self._store.set_grant(grant)

    async def forget(self, task: str) -> int:
        """Remove all decisions that were made for a task that is deleted.

        Args:
            task: its id.

        Returns:
            How many there were.
        """
        return await self._store.remove_task_grants(task)
