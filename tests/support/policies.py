"""Permission policies over decisions in memory."""

from oneclaw_core.permissions.decisions import Decisions
from oneclaw_core.permissions.policy import People, PermissionPolicy


class DecisionsInMemory:
    """A store of decisions, whose functions can be given."""

    def __init__(self, decisions, remember, record, read):
        self._decisions, self._remember, self._record, self._read = decisions, remember, record, read

    async def grants(self):
        return self._decisions._decided if self._read is None else await self._read()

    async def set_grant(self, grant):
        if self._remember is not None:
            await self._remember(grant)
        self._decisions.add(grant)

    async def record_permission_use(self, use):
        if self._record is not None:
            await self._record(use)


def policy_of(decided=(), remember=None, ask=None, allowed=(), record=None, read=None, ask_user=None):
    decisions = Decisions(decided, allowed)
    return PermissionPolicy(DecisionsInMemory(decisions, remember, record, read), decisions, People(ask, ask_user))
