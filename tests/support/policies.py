"""Permission policies over decisions in memory."""

from oneclaw_core.permissions.decisions import Decisions
from oneclaw_core.permissions.policy import People, PermissionPolicy


class DecisionsInMemory:
    """A store of decisions, whose functions can be given."""

    def __init__(self, decisions, remember, record, read, record_known):
        self._decisions, self._remember, self._record = decisions, remember, record
        self._read, self._record_known = read, record_known

    async def grants(self):
        return self._decisions.known if self._read is None else await self._read()

    async def set_grant(self, grant):
        if self._remember is not None:
            await self._remember(grant)
        self._decisions.replace([*(each for each in self._decisions.known if each.key != grant.key), grant])

    async def record_permission_use(self, use):
        if self._record is not None:
            await self._record(use)

    async def record_known_permission_use(self, use, known):
        return False if self._record_known is None else await self._record_known(use, known)


def policy_of(
    decided=(), remember=None, ask=None, allowed=(), record=None, read=None, ask_user=None, record_known=None
):
    decisions = Decisions(decided, allowed)
    store = DecisionsInMemory(decisions, remember, record, read, record_known)
    return PermissionPolicy(store, decisions, People(ask, ask_user))
