"""Store what model requests used and cost."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oneclaw_core.sessions import schema
from oneclaw_core.sessions.connection import insertion
from oneclaw_core.sessions.timestamps import now, to_stored
from oneclaw_core.types.budget import Spending
from oneclaw_core.types.text import clean_text

if TYPE_CHECKING:
    from datetime import datetime

    from oneclaw_core.sessions.connection import Connection
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
    connection.execute(
        _INSERT,
        {
            "session_id": clean_text(session_id),
            "provider": clean_text(it.provider),
            "model": clean_text(it.model),
            "input_tokens": _plausible(it.usage.input_tokens),
            "cached_input_tokens": _plausible(it.usage.cached_input_tokens),
            "cache_write_tokens": _plausible(it.usage.cache_write_tokens),
            "output_tokens": _plausible(it.usage.output_tokens),
            "reasoning_tokens": _plausible(it.usage.reasoning_tokens),
            "cost": it.cost,
            "tool_groups": json.dumps([clean_text(each) for each in it.tool_groups], ensure_ascii=False),
            "tools_hash": it.prefix and clean_text(it.prefix.tools),
            "system_hash": it.prefix and clean_text(it.prefix.system_prompt),
            "history_hash": it.prefix and clean_text(it.prefix.history),
            "created_at": now(),
            "is_at_least": it.usage.is_at_least or None,
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
