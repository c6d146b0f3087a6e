"""Store what model requests used and cost, sum it up, and count misses of prompt caches."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from oneclaw_core.sessions import schema
from oneclaw_core.sessions.backend import ENDLESS, Connection, damaged_value, insertion, now, to_datetime, to_stored
from oneclaw_core.types.budget import Spending
from oneclaw_core.types.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime, tzinfo

    from oneclaw_core.types.messages import TokenUsage

# No request has as many; a sum of millions of them still fits a database's integers.
_MOST_TOKENS = 10**12


@dataclass(frozen=True, slots=True)
class PrefixFingerprint:
    """Hashes of the parts of a request's prefix, which show the part that broke a prompt cache.

    Two requests of a session begin alike if the fingerprints are equal: each part is a short text, such as a hash,
    that changes when the part no longer begins as it did. What is only added at a part's end does not change it.

    Attributes:
        tools: of the tools at the front of the request.
        system_prompt: of the system prompt.
        history: of where the messages begin, and of the summary before them.
    """

    tools: str
    system_prompt: str
    history: str


@dataclass(frozen=True, slots=True)
class UsageRecord:
    """The usage of one model request.

    Attributes:
        provider: the provider's name.
        model: the model's name at the provider.
        usage: tokens, as far as the service said.
        cost: in US dollars; ``None`` where the price is not known.
        tool_groups: the loaded tool groups whose tools were sent with it.
        prefix: what it began with; ``None`` for one that continues no conversation, such as that for a summary.
    """

    provider: str
    model: str
    usage: TokenUsage
    cost: float | None = None
    tool_groups: tuple[str, ...] = ()
    prefix: PrefixFingerprint | None = None


_WRITTEN = tuple(each.name for each in schema.usage.columns if each.name != "id")
_INSERT = insertion("usage", _WRITTEN)
_SPENT = """
    SELECT sum(coalesce(input_tokens, 0) + coalesce(output_tokens, 0)), sum(cost), count(*) - count(cost)
    FROM usage WHERE created_at >= :since AND created_at < :until"""
# What is later than this was noted while the clock was wrong; no one is limited by it until that day comes.
_FUTURE_MICROSECONDS = 24 * 3600 * 1_000_000
_LAST_INPUT_TOKENS = """
    SELECT input_tokens FROM usage
    WHERE session_id = :session AND tools_hash IS NOT NULL ORDER BY id DESC LIMIT 1"""


def record(connection: Connection, session_id: str, it: UsageRecord) -> None:
    """Store the usage of one model request of a session."""
    tokens = asdict(it.usage)
    is_at_least = tokens.pop("is_at_least") or None
    connection.execute(
        _INSERT,
        {
            "session_id": clean_text(session_id),
            "provider": clean_text(it.provider),
            "model": clean_text(it.model),
            **{name: _plausible(count) for name, count in tokens.items()},
            "cost": it.cost,
            "tool_groups": json.dumps([clean_text(each) for each in it.tool_groups], ensure_ascii=False),
            "tools_hash": it.prefix and clean_text(it.prefix.tools),
            "system_hash": it.prefix and clean_text(it.prefix.system_prompt),
            "history_hash": it.prefix and clean_text(it.prefix.history),
            "created_at": now(),
            "is_at_least": is_at_least,
        },
    )


def spent_since(connection: Connection, since: datetime) -> Spending:
    """Sum up what all sessions spent since a moment, fast enough for a check before each turn."""
    parameters = {"since": to_stored(since), "until": now() + _FUTURE_MICROSECONDS}
    [(tokens, cost, unpriced)] = connection.execute(_SPENT, parameters).fetchall()
    return Spending(int(tokens or 0), float(cost or 0), unpriced)


def last_input_tokens(connection: Connection, session_id: str) -> int | None:
    """Read the input tokens of the last request that continued a session, ``None`` if they are not known."""
    row = connection.execute(_LAST_INPUT_TOKENS, {"session": clean_text(session_id)}).fetchone()
    return None if row is None else row[0]


def _plausible(tokens: int | None) -> int | None:
    """Return a service's count, unless it is implausible."""
    return tokens if tokens is not None and 0 <= tokens <= _MOST_TOKENS else None


# All time zones are a multiple of this from UTC, so that days of any time zone are put together from such parts.
_PART_OF_DAY_MICROSECONDS = 15 * 60 * 1_000_000


class UsageGrouping(StrEnum):
    """The grouping of a usage report."""

    DAY = "day"
    MODEL = "model"
    SESSION = "session"
    GROUP = "group"


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageTotals:
    """Sums over model requests; ``None`` where no request has a value.

    Attributes:
        requests: how many there were; one whose answer did not complete counts too.
        at_least_requests: how many of them have no final counts, so that they may have used and cost more.
        input_tokens: as in ``TokenUsage``, and so are the others.
        cacheable_input_tokens: the input tokens of requests of which the service said how many were cached.
        cost: in US dollars.
        priced_requests: how many requests are in the cost; of the others the price is not known.
        prefix_breaks: how many requests did not begin as the one before in their session, so that the service's
            prompt cache could not be used; a request can have several of the reasons that follow.
        model_changes: how many of them went to another model.
        tools_changes: how many had other tools at their front.
        system_prompt_changes: how many had another system prompt.
        history_changes: how many had other earlier messages, since old ones were left out or summarized.
    """

    requests: int = 0
    at_least_requests: int = 0
    input_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cacheable_input_tokens: int | None = None
    cost: float | None = None
    priced_requests: int = 0
    prefix_breaks: int = 0
    model_changes: int = 0
    tools_changes: int = 0
    system_prompt_changes: int = 0
    history_changes: int = 0

    @property
    def cached_share(self) -> float | None:
        """Return the share of the input that was read from a prompt cache, from 0 to 1; ``None`` if it is unknown."""
        if not self.cacheable_input_tokens or self.cached_input_tokens is None:
            return None
        return self.cached_input_tokens / self.cacheable_input_tokens

    def __add__(self, other: UsageTotals) -> UsageTotals:
        """Add two sums of different requests."""
        return UsageTotals(**{name: _sum(getattr(self, name), getattr(other, name)) for name in _SUMS})


_SUMS = tuple(field.name for field in fields(UsageTotals))


@dataclass(frozen=True, slots=True)
class UsageRow:
    """The usage of one day, model, session or tool group.

    Attributes:
        key: the day as ``YYYY-MM-DD``, ``PROVIDER/MODEL``, the session's id, or the group's name; ``None`` for
            deleted sessions, and for requests without a loaded group.
        name: a session's name; ``None`` for one without, and for all else.
        totals: the sums.
    """

    key: str | None
    name: str | None
    totals: UsageTotals


_HASHES = {"tools": "tools_hash", "system_prompt": "system_hash", "history": "history_hash"}
_PARTS = ("provider", "model", *_HASHES.values())
# Each request beside the one before in its session; those without a fingerprint make a separate sequence.
_REQUESTS = f"""
    SELECT usage.*, {", ".join(f"lag({part}) OVER by_session AS {part}_before" for part in _PARTS)}
    FROM usage WINDOW by_session AS (PARTITION BY session_id, tools_hash IS NULL ORDER BY id)"""


def _count_changes(*parts: str) -> str:
    # The first request has none before it, which is no change.
    changed = " OR ".join(f"{part} <> {part}_before" for part in parts)
    has_fingerprint = "tools_hash IS NOT NULL AND session_id IS NOT NULL"
    return f"coalesce(sum(CASE WHEN {has_fingerprint} AND ({changed}) THEN 1 ELSE 0 END), 0)"


def _whole_sum(column: str) -> str:
    # PostgreSQL adds whole numbers up to one of another type, so that they do not overflow.
    return f"CAST(sum({column}) AS BIGINT)"


_TOTALS = {
    "requests": "count(*)",
    "at_least_requests": "count(CASE WHEN is_at_least THEN 1 END)",
    **{
        f"{kind}_tokens": _whole_sum(f"{kind}_tokens")
        for kind in ("input", "cached_input", "cache_write", "output", "reasoning")
    },
    "cacheable_input_tokens": _whole_sum("CASE WHEN cached_input_tokens IS NOT NULL THEN input_tokens END"),
    "cost": "sum(cost)",
    "priced_requests": "count(cost)",
    "prefix_breaks": _count_changes(*_PARTS),
    "model_changes": _count_changes("provider", "model"),
    **{f"{part}_changes": _count_changes(column) for part, column in _HASHES.items()},
}
_IN_RANGE = "created_at >= :since AND created_at < :until"
_SUMS_SQL = ", ".join(_TOTALS.values())

_KEYS = {
    UsageGrouping.DAY: (f"created_at / {_PART_OF_DAY_MICROSECONDS}",),
    UsageGrouping.MODEL: ("provider", "model"),
    UsageGrouping.SESSION: ("session_id", "(SELECT name FROM sessions WHERE sessions.id = session_id)"),
    UsageGrouping.GROUP: ("tool_groups",),
}


def totals(
    connection: Connection,
    session_id: str | None = None,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
) -> UsageTotals:
    """Sum up the usage of requests, of one session or all, from ``since`` and before ``until``."""
    statement = f"SELECT {_SUMS_SQL} FROM ({_REQUESTS}) AS requests WHERE {_IN_RANGE}"
    if session_id is not None:
        statement += " AND session_id = :session"
    place = {**_range(since, until), "session": clean_text(session_id or "")}
    return _to_totals(connection.execute(statement, place).fetchone())


def rows(
    connection: Connection,
    by: UsageGrouping,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    time_zone: tzinfo | None = None,
) -> list[UsageRow]:
    """Sum up the usage of requests by day, model, session or tool group.

    A request with several loaded groups counts for each of them.

    Args:
        by: what to sum up by.
        since: only requests from this moment on, ``None`` for no limit.
        until: only requests before this moment, ``None`` for no limit.
        time_zone: of the days; ``None`` for that of the machine.

    Returns:
        Days in their order; of all else what cost most first, then what used most tokens.
    """
    keys = _KEYS[by]
    statement = (
        f"SELECT {', '.join(keys)}, {_SUMS_SQL} FROM ({_REQUESTS}) AS requests WHERE {_IN_RANGE} "
        f"GROUP BY {', '.join(keys)}"
    )
    found: dict[tuple[str | None, str | None], UsageTotals] = {}
    for row in connection.execute(statement, _range(since, until)):
        for key in _readable_keys(by, row[: len(keys)], time_zone):
            found[key] = found.get(key, UsageTotals()) + _to_totals(row[len(keys) :])
    listed = [UsageRow(key, name, sums) for (key, name), sums in found.items()]
    if by is UsageGrouping.DAY:
        return sorted(listed, key=lambda row: row.key or "")
    return sorted(listed, key=_weight, reverse=True)


def _readable_keys(
    by: UsageGrouping, values: Sequence[Any], time_zone: tzinfo | None
) -> list[tuple[str | None, str | None]]:
    match by:
        case UsageGrouping.DAY:
            moment = to_datetime(values[0] * _PART_OF_DAY_MICROSECONDS)
            return [(moment.astimezone(time_zone).date().isoformat(), None)]
        case UsageGrouping.MODEL:
            return [("/".join(values), None)]
        case UsageGrouping.SESSION:
            return [(values[0], values[1])]
        case UsageGrouping.GROUP:
            return [(group, None) for group in _groups(values[0])] or [(None, None)]


def _groups(text: str | None) -> list[str]:
    try:
        groups = json.loads(text or "[]")
    except ValueError:
        groups = None
    if not isinstance(groups, list) or not all(isinstance(group, str) for group in groups):
        raise damaged_value("usage (tool groups)")
    return groups


def _range(since: datetime | None, until: datetime | None) -> dict[str, Any]:
    return {
        "since": -ENDLESS if since is None else to_stored(since),
        "until": ENDLESS if until is None else to_stored(until),
    }


def _to_totals(values: Sequence[Any]) -> UsageTotals:
    return UsageTotals(**dict(zip(_TOTALS, values, strict=True)))


def _sum(one: Any, other: Any) -> Any:
    return one if other is None else other if one is None else one + other


def _weight(row: UsageRow) -> tuple[float, int]:
    sums = row.totals
    return sums.cost or 0.0, (sums.input_tokens or 0) + (sums.output_tokens or 0)
