"""The store of what model requests used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.sessions import usage
from oneclaw_core.sessions.store_part import StorePart
from oneclaw_core.sessions.timestamps import to_stored

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from oneclaw_core.sessions.usage import UsageRecord
    from oneclaw_core.sessions.usage_report import UsageGrouping, UsageRow, UsageTotals
    from oneclaw_core.types.budget import Spending


class StoredUsage(StorePart):
    """Tokens and costs of model requests."""

    async def record_usage(self, session_id: str, record: UsageRecord) -> None:
        """Store the usage of a model request without entries in a history, such as that for a summary."""
        await self._database.write(usage.record, session_id, record)

    async def usage_totals(
        self, session_id: str | None = None, *, since: datetime | None = None, until: datetime | None = None
    ) -> UsageTotals:
        """Sum up the usage of model requests.

        Args:
            session_id: only requests of this session; ``None`` for all.
            since: only requests from this moment on.
            until: only requests before this moment.
        """
        from oneclaw_core.sessions import usage_report

        return await self._database.read(usage_report.totals, session_id, _stored(since), _stored(until))

    async def usage_by(
        self,
        grouping: UsageGrouping,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        time_zone: tzinfo | None = None,
    ) -> list[UsageRow]:
        """Sum up the usage of model requests by day, model, session or tool group.

        A request with several loaded groups counts for each of them.

        Args:
            grouping: what to sum up by.
            since: only requests from this moment on.
            until: only requests before this moment.
            time_zone: of the days; ``None`` for that of the machine.

        Returns:
            Days in their order; other groups by cost, the highest first.
        """
        from oneclaw_core.sessions import usage_report

        return await self._database.read(usage_report.rows, grouping, _stored(since), _stored(until), time_zone)

    async def spent_since(self, since: datetime) -> Spending:
        """Sum up what all sessions spent since a moment, fast enough for a check before each turn."""
        return await self._database.read(usage.spent_since, to_stored(since))


def _stored(moment: datetime | None) -> int | None:
    return None if moment is None else to_stored(moment)
