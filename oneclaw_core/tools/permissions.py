"""May a tool do what it wants to do (FEAT-004, "Permission Rules")?

A tool declares permissions by name; each is checked before every run. What the user decided for good is remembered by
whoever makes the policy; this module neither reads nor writes anything.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import PermissionDeniedError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

KNOWN_PERMISSIONS: dict[str, str] = {
    "files.read": "read files in the workspace and in the directory OneClaw was started in",
    "files.write": "write files in the workspace",
    "network.public": "make requests to public addresses",
    "network.private": "make requests to private, loopback and link-local addresses",
}
GRANTED_BY_DEFAULT = frozenset({"files.read", "files.write", "network.public"})


class Decision(StrEnum):
    """What the user decided for good."""

    GRANT = "grant"
    DENY = "deny"


class PermissionAnswer(StrEnum):
    """What a user can answer when asked."""

    ONCE = "once"
    SESSION = "session"
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
    """

    permission: str
    tool_name: str
    arguments: Mapping[str, Any]
    detail: str = ""
    session_id: str | None = None


class PermissionPolicy:
    """Decides on permissions: by what was allowed for this run, what is remembered, the defaults, and asking.

    Args:
        decisions: what the user decided for good, by permission.
        remember: called with a permission and the user's lasting decision about it.
        ask: asks the user; ``None`` where there is nobody to ask.
        allowed: granted for as long as the program runs, whatever is remembered.
    """

    def __init__(
        self,
        decisions: Mapping[str, Decision],
        remember: Callable[[str, Decision], Awaitable[None]],
        ask: Callable[[PermissionRequest], Awaitable[PermissionAnswer]] | None = None,
        allowed: Iterable[str] = (),
    ) -> None:
        self._decisions = dict(decisions)
        self._remember = remember
        self._ask = ask
        self._allowed = frozenset(allowed)
        self._granted_in_session: set[tuple[str | None, str]] = set()
        self._asking = asyncio.Lock()

    def replace_decisions(self, decisions: Mapping[str, Decision]) -> None:
        """Take over what is remembered now; another process may have changed it."""
        self._decisions = dict(decisions)

    def denied(self, *permissions: str) -> frozenset[str]:
        """Those of some permissions that the user has denied for good."""
        return frozenset(
            each for each in permissions if each not in self._allowed and self._decisions.get(each) == Decision.DENY
        )

    async def require(self, request: PermissionRequest) -> None:
        """Return if the permission is granted, asking the user where nothing is decided.

        Raises:
            PermissionDeniedError: it is not; the message says how the user can change that.
        """
        if self._is_granted(request):
            return
        async with self._asking:  # one question at a time; its answer may settle the next
            if self._is_granted(request):
                return
            if self._ask is None:
                raise PermissionDeniedError(
                    f"Permission '{request.permission}' is not granted, and nobody can be asked here. "
                    f"The user can grant it with: oneclaw permissions grant {request.permission}",
                    request.permission,
                )
            await self._settle(request, await self._ask(request))

    def _is_granted(self, request: PermissionRequest) -> bool:
        permission = request.permission
        if permission in self._allowed:
            return True
        decision = self._decisions.get(permission)
        if decision == Decision.DENY:
            raise denied_for_good(permission)
        if (request.session_id, permission) in self._granted_in_session:
            return True
        return decision == Decision.GRANT or permission in GRANTED_BY_DEFAULT

    async def _settle(self, request: PermissionRequest, answer: PermissionAnswer) -> None:
        if answer == PermissionAnswer.ONCE:
            return
        if answer == PermissionAnswer.SESSION:
            self._granted_in_session.add((request.session_id, request.permission))
            return
        if answer == PermissionAnswer.ALWAYS:
            self._decisions[request.permission] = Decision.GRANT
            await self._remember(request.permission, Decision.GRANT)
            return
        if answer == PermissionAnswer.NEVER:
            self._decisions[request.permission] = Decision.DENY
            await self._remember(request.permission, Decision.DENY)
            raise denied_for_good(request.permission)
        raise PermissionDeniedError(f"Permission '{request.permission}' was denied by the user.", request.permission)


def denied_for_good(permission: str) -> PermissionDeniedError:
    """Make the error that says how a lasting denial is changed."""
    return PermissionDeniedError(
        f"Permission '{permission}' is set to never. "
        f"The user can change that with: oneclaw permissions reset {permission}",
        permission,
    )
