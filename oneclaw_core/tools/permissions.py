"""May a tool do what it wants to do (FEAT-004, "Permission Rules")?

A tool declares permissions by name; each is checked before every run. What the user decided for good is remembered by
whoever makes the policy; this module neither reads nor writes anything. A decision is on a permission as a whole, or on
what fits a pattern: see :mod:`oneclaw_core.tools.permission_rules`.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Awaitable, Callable
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import PermissionDeniedError
from oneclaw_core.tools.permission_rules import PermissionRule, exact_rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

GRANTED_BY_DEFAULT = frozenset({"agents.create", "files.read", "files.write", "network.public"})
_LONGEST_NAMED_RULE = 200


class Decision(StrEnum):
    """What the user decided for good."""

    GRANT = "grant"
    DENY = "deny"


class PermissionAnswer(StrEnum):
    """What a user can answer when asked."""

    ONCE = "once"
    SESSION = "session"
    EXACTLY = "exactly"
    ALWAYS = "always"
    NO = "no"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class PermissionRequest:
    """What the user is asked.

    Attributes:
        permission: such as ``network.private``.
        tool_name: the tool that needs it.
        arguments: what the tool was called with.
        detail: what exactly it is about to do, where the tool says so.
        session_id: the conversation, ``None`` outside one.
        subject: what it is needed for, where the permission has patterns: of ``shell.execute``, the command.
        meaning: what the permission allows, in the words of OneClaw or of a plugin; ``""`` if none says.
        meaning_by: the plugin whose words these are, to be shown with them; ``None`` for OneClaw's own.
    """

    permission: str
    tool_name: str
    arguments: Mapping[str, Any]
    detail: str = ""
    session_id: str | None = None
    subject: str | None = None
    meaning: str = ""
    meaning_by: str | None = None

    @property
    def exact_rule(self) -> PermissionRule | None:
        """What ``PermissionAnswer.EXACTLY`` grants for good; ``None`` where that is no answer, or means just once."""
        return exact_rule(self.permission, self.subject)


Asker = Callable[[PermissionRequest], Awaitable[PermissionAnswer]]
"""Asks a person for a permission."""


class PermissionPolicy:
    """Decides on permissions: by what was allowed for this run, what is remembered, the defaults, and asking.

    Args:
        decisions: what the user decided for good, by permission or rule.
        remember: called with a permission or rule and the user's lasting decision about it.
        ask: asks the user; ``None`` where there is nobody to ask.
        allowed: permissions and rules granted for as long as the program runs, whatever is remembered.

    Raises:
        UsageError: something in ``allowed`` has a pattern that is none.
    """

    def __init__(
        self,
        decisions: Mapping[str, Decision],
        remember: Callable[[str, Decision], Awaitable[None]],
        ask: Callable[[PermissionRequest], Awaitable[PermissionAnswer]] | None = None,
        allowed: Iterable[str] = (),
    ) -> None:
        self.replace_decisions(decisions)
        self._remember = remember
        self._ask = ask
        self._allowed = tuple(PermissionRule.check(each) for each in allowed)
        self._granted_in_session: set[tuple[str | None, str]] = set()
        self._asking = asyncio.Lock()
        # With a lock each: a question in one conversation must not wait for the answer in another.
        self._askers: dict[str, tuple[Asker, asyncio.Lock]] = {}

    def can_ask_in(self, session_id: str | None) -> bool:
        """Return True if a person can be asked in a session."""
        return self._ask is not None or (session_id or "") in self._askers

    def replace_decisions(self, decisions: Mapping[str, Decision]) -> None:
        """Take over what is remembered now; another process may have changed it."""
        self._decisions: dict[PermissionRule, Decision] = {
            PermissionRule.read(text): decision for text, decision in decisions.items()
        }

    def denied(self, *permissions: str) -> frozenset[str]:
        """Those of some permissions that the user has denied for good."""
        rules = {each: PermissionRule(each) for each in permissions}
        return frozenset(
            each
            for each, rule in rules.items()
            if rule not in self._allowed and self._decisions.get(rule) == Decision.DENY
        )

    async def require(self, request: PermissionRequest) -> str:
        """Return if the permission is granted, asking the user where nothing is decided.

        Returns:
            Who granted it: ``option``, ``grant``, ``default`` or ``user``.

        Raises:
            PermissionDeniedError: it is not; the message says how the user can change that.
        """
        granted_by = self._granted_by(request)
        if granted_by is not None:
            return granted_by
        ask, lock = self._askers.get(request.session_id or "", (self._ask, self._asking))
        async with lock:  # one question at a time; its answer may settle the next
            granted_by = self._granted_by(request)
            if granted_by is not None:
                return granted_by
            if ask is None:
                raise PermissionDeniedError(_nobody_to_ask(request), request.permission, "default")
            await self._settle(request, await ask(request))
            return "user"

    @contextmanager
    def answered_by(self, session_id: str, ask: Asker | None) -> Iterator[None]:
        """Ask somebody else in one session while the block runs.

        Args:
            session_id: the session.
            ask: asks; ``None`` to leave it as it is.
        """
        if ask is None:
            yield
            return
        before = self._askers.get(session_id)
        self._askers[session_id] = ask, asyncio.Lock()
        try:
            yield
        finally:
            if before is None:
                self._askers.pop(session_id, None)
            else:
                self._askers[session_id] = before

    def _granted_by(self, request: PermissionRequest) -> str | None:
        """Find what grants it without asking, ``None`` if nothing does; a denial goes before a grant."""
        permission, subject = request.permission, request.subject
        if any(rule.grants(permission, subject) for rule in self._allowed):
            return "option"
        if (decision := self._decisions.get(PermissionRule(permission))) == Decision.DENY:
            raise denied_for_good(permission)
        patterns = [each for each in self._decisions if each.permission == permission and each.pattern is not None]
        for rule in patterns:
            if self._decisions[rule] == Decision.DENY and rule.denies(permission, subject):
                raise denied_for_good(permission, rule)
        if decision == Decision.GRANT or (request.session_id, permission) in self._granted_in_session:
            return "grant"
        if permission in GRANTED_BY_DEFAULT:
            return "default"
        is_granted = any(
            self._decisions[rule] == Decision.GRANT and rule.grants(permission, subject) for rule in patterns
        )
        return "grant" if is_granted else None

    async def _settle(self, request: PermissionRequest, answer: PermissionAnswer) -> None:
        whole = PermissionRule(request.permission)
        if answer == PermissionAnswer.ONCE:
            return
        if answer == PermissionAnswer.EXACTLY:
            if request.exact_rule is not None:
                await self._decide(request.exact_rule, Decision.GRANT)
            return
        if answer == PermissionAnswer.SESSION:
            self._granted_in_session.add((request.session_id, request.permission))
            return
        if answer == PermissionAnswer.ALWAYS:
            await self._decide(whole, Decision.GRANT)
            return
        if answer == PermissionAnswer.NEVER:
            await self._decide(whole, Decision.DENY)
            error = denied_for_good(request.permission)
            error.decided_by = "user"
            raise error
        text = f"Permission '{request.permission}' was denied by the user."
        raise PermissionDeniedError(text, request.permission, "user")

    async def _decide(self, rule: PermissionRule, decision: Decision) -> None:
        self._decisions[rule] = decision
        await self._remember(str(rule), decision)


def denied_for_good(permission: str, rule: PermissionRule | None = None) -> PermissionDeniedError:
    """Make the error that says how a lasting denial is changed.

    Args:
        permission: what is denied.
        rule: the rule by which it is, if that is for a pattern.
    """
    what = f"'{rule}' is" if rule is not None else f"Permission '{permission}' is"
    return PermissionDeniedError(
        f"{what} set to never. "
        f"The user can change that with: oneclaw permissions reset {shlex.quote(str(rule or permission))}",
        permission,
    )


def _nobody_to_ask(request: PermissionRequest) -> str:
    text = (
        f"Permission '{request.permission}' is not granted, and nobody can be asked here. "
        f"The user can grant it with: oneclaw permissions grant {request.permission}"
    )
    rule = request.exact_rule
    if rule is None or len(str(rule)) > _LONGEST_NAMED_RULE:
        return text
    return f"{text}; for this alone with: oneclaw permissions grant {shlex.quote(str(rule))}"


def read_decisions(stored: Mapping[str, str]) -> dict[str, Decision]:
    """Read decisions from the store; those of a newer version are left out."""
    return {name: Decision(value) for name, value in stored.items() if value in set(Decision)}
