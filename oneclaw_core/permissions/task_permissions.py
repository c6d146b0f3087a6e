"""Decisions on permissions that hold for one scheduled task alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.errors import UsageError
from oneclaw_core.permissions.requests import PermissionRequest
from oneclaw_core.types.permissions import Decision

if TYPE_CHECKING:
    from oneclaw_core.sessions.store import Store
    from oneclaw_core.types.permissions import Grant

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
