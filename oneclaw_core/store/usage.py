"""What model requests used and cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, func, insert, select

from oneclaw_core.store.schema import usage
from oneclaw_core.store.timestamps import now
from oneclaw_core.tools.result import clean_text

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from oneclaw_core.messages import TokenUsage

# No request has as many; a sum of millions of them still fits a database's integers.
_MOST_TOKENS = 10**12


@dataclass(frozen=True, slots=True)
class UsageRecord:
    """What one model request used.

    Attributes:
        provider: the provider's name.
        model: the model's name at the provider.
        usage: tokens, as far as the service said.
        cost: ``None`` where the price is not known.
    """

    provider: str
    model: str
    usage: TokenUsage
    cost: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageTotals:
    """Sums over model requests: of what is known, ``None`` where nothing is.

    Attributes:
        requests: how many there were.
        input_tokens: as in ``TokenUsage``, and so are the others.
    """

    requests: int
    input_tokens: int | None
    cached_input_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None
    cost: float | None


_INSERT = insert(usage)
_TOTALS = select(
    func.count(),
    func.sum(usage.c.input_tokens),
    func.sum(usage.c.cached_input_tokens),
    func.sum(usage.c.output_tokens),
    func.sum(usage.c.reasoning_tokens),
    func.sum(usage.c.cost),
).select_from(usage)
_TOTALS_OF_SESSION = _TOTALS.where(usage.c.session_id == bindparam("session"))


def record(connection: Connection, session_id: str, it: UsageRecord) -> None:
    """Store what one request of a session used."""
    connection.execute(
        _INSERT,
        {
            "session_id": clean_text(session_id),
            "provider": clean_text(it.provider),
            "model": clean_text(it.model),
            "input_tokens": _plausible(it.usage.input_tokens),
            "cached_input_tokens": _plausible(it.usage.cached_input_tokens),
            "output_tokens": _plausible(it.usage.output_tokens),
            "reasoning_tokens": _plausible(it.usage.reasoning_tokens),
            "cost": it.cost,
            "created_at": now(),
        },
    )


def totals(connection: Connection, session_id: str | None) -> UsageTotals:
    """Add up what the requests of a session used, or of all sessions for ``None``."""
    if session_id is None:
        row = connection.execute(_TOTALS).one()
    else:
        row = connection.execute(_TOTALS_OF_SESSION, {"session": clean_text(session_id)}).one()
    requests, *tokens, cost = row
    input_tokens, cached, output_tokens, reasoning = (None if each is None else int(each) for each in tokens)
    return UsageTotals(
        requests=requests,
        input_tokens=input_tokens,
        cached_input_tokens=cached,
        output_tokens=output_tokens,
        reasoning_tokens=reasoning,
        cost=cost,
    )


def _plausible(tokens: int | None) -> int | None:
    """A service's count, unless it is absurd."""
    return tokens if tokens is not None and 0 <= tokens <= _MOST_TOKENS else None
