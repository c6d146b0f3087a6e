"""The models that stand behind one model: which is asked after which, and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from oneclaw_core.errors import (
    ProviderAuthenticationError,
    ProviderQuotaError,
    ProviderRateLimitError,
    ProviderSilentError,
    ProviderUnavailableError,
    ProviderUnreachableError,
    SettingsError,
    UnknownModelError,
)

MOST_MODELS = 10
MOST_RETRIES = 10
MAX_SILENCE_SECONDS = 3_600
MAX_COOL_DOWN_SECONDS = 7 * 24 * 3_600


class FailureKind(StrEnum):
    """Why another model is asked.

    ``RATE_LIMIT``: the service takes no more requests for now (HTTP 429). ``OVERLOADED``: it is overloaded or broken
    (5xx), or breaks off. ``KEY``: it refuses the key, or there is none (401, 403). ``QUOTA``: the account has no credit
    left. ``SILENCE``: no byte came in time. ``CONNECTION``: no connection. ``MODEL``: it has no such model (404).
    """

    RATE_LIMIT = "rate_limit"
    OVERLOADED = "overloaded"
    KEY = "key"
    QUOTA = "quota"
    SILENCE = "silence"
    CONNECTION = "connection"
    MODEL = "model"


# The first that fits counts.
_KIND_OF: tuple[tuple[type[Exception], FailureKind], ...] = (
    (ProviderRateLimitError, FailureKind.RATE_LIMIT),
    (ProviderAuthenticationError, FailureKind.KEY),
    (ProviderQuotaError, FailureKind.QUOTA),
    (ProviderSilentError, FailureKind.SILENCE),
    (ProviderUnreachableError, FailureKind.CONNECTION),
    (ProviderUnavailableError, FailureKind.OVERLOADED),
    (UnknownModelError, FailureKind.MODEL),
)


def failure_kind(error: BaseException) -> FailureKind | None:
    """Classify the failure of a model; ``None`` for one that another model would meet too."""
    return next((kind for each, kind in _KIND_OF if isinstance(error, each)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """The models of other providers that stand behind one model.

    Attributes:
        models: each as ``PROVIDER/MODEL``, in the order in which they are asked.
        after: the failures after which the next one is asked.
        retries: how often a model is asked again before the next one is.
        silence_seconds: how long a model may take until the first byte of its answer.
        cool_down_seconds: how long a model that failed is asked after the others, at least.

    Raises:
        SettingsError: a value is out of range.
    """

    models: tuple[str, ...]
    after: frozenset[FailureKind] = frozenset(FailureKind)
    retries: int = 2
    silence_seconds: float = 60
    cool_down_seconds: float = 600

    def __post_init__(self) -> None:
        """Check the values."""
        if not 1 <= len(self.models) <= MOST_MODELS or len(set(self.models)) < len(self.models):
            raise SettingsError(f"a chain has 1 to {MOST_MODELS} models, each of them once")
        wrong = next((each for each in self.models if not all(each.partition("/"))), None)
        if wrong is not None:
            raise SettingsError(f"a chain has models such as anthropic/claude-sonnet-5, not {wrong[:100]!a}")
        if not 0 <= self.retries <= MOST_RETRIES:
            raise SettingsError(f"a model is asked again 0 to {MOST_RETRIES} times before the next one is")
        if not 0.1 <= self.silence_seconds <= MAX_SILENCE_SECONDS:
            raise SettingsError(f"a model may be silent for 0.1 to {MAX_SILENCE_SECONDS:,} seconds")
        if not 0 <= self.cool_down_seconds <= MAX_COOL_DOWN_SECONDS:
            raise SettingsError(f"a model cools down for 0 to {MAX_COOL_DOWN_SECONDS:,} seconds")
