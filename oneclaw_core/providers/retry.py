"""Sending a request again: the one place where it is decided whether, and when."""

from __future__ import annotations

import asyncio
import itertools
import math
import random
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from oneclaw_core.providers.base import RetryNotice

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping

    from oneclaw_core.errors import ProviderError
    from oneclaw_core.providers.base import ModelEvent

GIVE_UP_ABOVE_SECONDS = 120
_LONGEST_SECONDS = 366 * 24 * 3600


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
        self.error = error
        self.is_retryable = is_retryable
        self.retry_after_seconds = retry_after_seconds


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how fast a failed request is sent again.

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


async def with_retries(
    attempt: Callable[[], AsyncGenerator[ModelEvent, None]], policy: RetryPolicy
) -> AsyncGenerator[ModelEvent, None]:
    """Run attempts at a request until one has begun to answer, and yield its events.

    Args:
        attempt: starts one attempt, which raises :class:`AttemptFailed` when it fails.
        policy: how often and how fast.

    Raises:
        ProviderError: the last attempt failed, or one that had begun to answer.
    """
    for number in itertools.count():
        has_answered = False
        try:
            async with aclosing(attempt()) as events:
                async for event in events:
                    has_answered = True
                    yield event
            return
        except AttemptFailed as failure:
            if has_answered or not failure.is_retryable or number >= policy.max_retries:
                raise failure.error from failure.__cause__
            asked = failure.retry_after_seconds
            if asked is not None and asked > GIVE_UP_ABOVE_SECONDS:
                raise _come_back_later(failure.error, asked) from failure.__cause__
            delay = policy.delay_seconds(number) if asked is None else asked
            notice = RetryNotice(str(failure.error), delay)
        yield notice
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
    return type(error)(f"{error}; come back in {minutes} minutes, at {moment:%Y-%m-%d %H:%M} UTC")
