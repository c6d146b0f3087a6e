"""Several keys of one service: one that is refused is set aside for a while, and the next is used at once."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from oneclaw_core.errors import ProviderAuthenticationError, ProviderQuotaError, ProviderRateLimitError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from oneclaw_core.http_providers.retry import AttemptFailed

# Where the service does not say for how long.
_LIMITED_SECONDS = 60
_REFUSED_SECONDS = 3_600


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
