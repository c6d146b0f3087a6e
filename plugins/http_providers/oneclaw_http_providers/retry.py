"""Send a request again: when, how often, and with which of several keys."""

from __future__ import annotations

import asyncio
import logging
import math
import random
import time
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from oneclaw_core.providers import (
    ModelResponse,
    ProviderAuthenticationError,
    ProviderQuotaError,
    ProviderRateLimitError,
    ReasoningDelta,
    RetryNotice,
    TextDelta,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence

    from oneclaw_core import ProviderError
    from oneclaw_core.providers import ModelEvent


# After one of these a request is not sent again: the user would read the answer twice.
ANSWER_PARTS = (TextDelta, ReasoningDelta, ModelResponse)

GIVE_UP_ABOVE_SECONDS = 120
_LONGEST_SECONDS = 366 * 24 * 3600
# How long a key is set aside where the service does not say.
_LIMITED_SECONDS = 60
_REFUSED_SECONDS = 3_600

_log = logging.getLogger("oneclaw.provider")


class AttemptFailed(Exception):  # noqa: N818  # one attempt, not yet an error of the request
    """One attempt at a request failed.

    Attributes:
        error: what the user is told if there is no other attempt.
        is_retryable: whether another attempt may succeed.
        retry_after_seconds: when the service asks to be asked again, ``None`` if it does not say.
    """

    def __init__(
        self, error: ProviderError, *, is_retryable: bool = False, retry_after_seconds: float | None = None
    ) -> None:
        super().__init__(str(error))
        error.retry_after_seconds = retry_after_seconds
        self.error = error
        self.is_retryable = is_retryable
        self.retry_after_seconds = retry_after_seconds


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The number of retries and the pauses between them.

    Attributes:
        max_retries: at most that often after the first attempt.
        first_delay_seconds: the wait before the second attempt; it doubles from there.
        longest_delay_seconds: as far as it doubles.
        sleep: waits.
    """

    max_retries: int
    first_delay_seconds: float = 0.5
    longest_delay_seconds: float = 8
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    def delay_seconds(self, attempt: int) -> float:
        """The wait after an attempt, counted from 0; up to a quarter shorter by chance, so that clients spread out."""
        longest = min(self.first_delay_seconds * 2.0 ** min(attempt, 30), self.longest_delay_seconds)
        return longest * random.uniform(0.75, 1)  # noqa: S311  # spreads load, guards nothing


class KeyRotation:
    """The keys of one service, each used as long as the service takes it.

    Which are set aside is known to this process alone: to find out again takes one short request.

    Args:
        keys: in the order of use.
        now: the time in seconds.
    """

    def __init__(self, keys: Sequence[str], now: Callable[[], float] = time.monotonic) -> None:
        self._free_at = dict.fromkeys(keys, 0.0)
        self._now = now

    def current(self) -> str:
        """Return the first key that is not set aside, else the one that is free again first."""
        now = self._now()
        return min(self._free_at, key=lambda key: max(self._free_at[key], now))

    def set_aside(self, key: str, failure: AttemptFailed) -> bool:
        """Set a key aside that a service refused.

        Returns:
            True if another key can be used at once.
        """
        if not isinstance(failure.error, ProviderAuthenticationError | ProviderQuotaError | ProviderRateLimitError):
            return False
        is_limited = isinstance(failure.error, ProviderRateLimitError)
        seconds = failure.retry_after_seconds
        if seconds is None:
            seconds = _LIMITED_SECONDS if is_limited else _REFUSED_SECONDS
        now = self._now()
        self._free_at[key] = max(self._free_at[key], now + seconds)
        return any(free_at <= now for each, free_at in self._free_at.items() if each != key)


async def with_retries(
    attempt: Callable[[str | None], AsyncGenerator[ModelEvent, None]], policy: RetryPolicy, keys: KeyRotation | None
) -> AsyncGenerator[ModelEvent, None]:
    """Run attempts at a request until one has shown a part of its answer, and yield the events of all.

    Args:
        attempt: starts one attempt with a key, ``None`` for the only one, which raises :class:`AttemptFailed` when it
            fails.
        policy: how often and how fast.
        keys: further keys, used at once where the service refuses one; ``None`` for a single key.

    Raises:
        ProviderError: the last attempt failed, or one that had shown a part of its answer.
    """
    retries = 0
    while True:
        key = None if keys is None else keys.current()
        has_answered = False
        try:
            async with aclosing(attempt(key)) as events:
                async for event in events:
                    has_answered = has_answered or isinstance(event, ANSWER_PARTS)
                    yield event
            return
        except AttemptFailed as failure:
            if has_answered:
                raise failure.error from failure.__cause__
            if keys is not None and key is not None and keys.set_aside(key, failure):
                notice = RetryNotice(f"{failure.error}; using another of its keys", 0)
            elif not failure.is_retryable or retries >= policy.max_retries:
                raise failure.error from failure.__cause__
            else:
                asked = failure.retry_after_seconds
                if asked is not None and asked > GIVE_UP_ABOVE_SECONDS:
                    raise _come_back_later(failure.error, asked) from failure.__cause__
                delay = policy.delay_seconds(retries) if asked is None else asked
                notice = RetryNotice(str(failure.error), delay, failure.error)
                retries += 1
        yield notice
        if notice.error is not None:
            await policy.sleep(notice.delay_seconds)


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """Read when a service asks to be asked again (RFC 9110, section 10.2.3, and OpenAI's ``retry-after-ms``).

    Args:
        headers: of the response; looked up in lower case.

    Returns:
        Seconds from now, at most a year; ``None`` if nothing readable is said.
    """
    for name, unit_seconds in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        text = headers.get(name, "").strip()
        try:
            seconds = float(text) * unit_seconds
        except ValueError:
            continue
        if math.isfinite(seconds) and seconds >= 0:
            return min(seconds, _LONGEST_SECONDS)
    try:
        moment = parsedate_to_datetime(headers.get("retry-after", ""))
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return min(max((moment - datetime.now(UTC)).total_seconds(), 0), _LONGEST_SECONDS)
    except (ValueError, TypeError, OverflowError):
        return None


def _come_back_later(error: ProviderError, seconds: float) -> ProviderError:
    moment = datetime.now(UTC) + timedelta(seconds=seconds)
    minutes = math.ceil(seconds / 60)
    later = type(error)(f"{error}; come back in {minutes} minutes, at {moment:%Y-%m-%d %H:%M} UTC")
    later.retry_after_seconds = seconds
    return later
