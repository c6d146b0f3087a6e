"""Errors of Gemini, whose finer kinds stand in the details (``google.rpc``, https://google.aip.dev/193)."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from oneclaw_http_providers import ServerMessage, ServiceErrors, member, objects_in

if TYPE_CHECKING:
    from collections.abc import Iterator

_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(m?s)")
_NO_KEY_REASONS = frozenset({"API_KEY_INVALID", "API_KEY_EXPIRED"})
_QUOTA_OF_DAY = re.compile(r"PerDay|Daily")
# The limit of a model that the account's plan does not have at all.
_NO_QUOTA = re.compile(r"limit:\s*0(?![\d.])", re.IGNORECASE)


class GeminiErrors(ServiceErrors):
    """Puts into words what goes wrong with Gemini."""

    def _message(self, error: object) -> ServerMessage:
        message = super()._message(error)
        words = set(message.words)
        seconds = None
        for detail in _details(error):
            match str(detail.get("@type", "")).rpartition(".")[2]:
                case "ErrorInfo" if detail.get("reason") in _NO_KEY_REASONS:
                    words.add("invalid_api_key")
                case "QuotaFailure" if any(map(_is_of_day, objects_in(detail.get("violations")))):
                    words.add("insufficient_quota")
                case "RetryInfo":
                    seconds = _seconds(detail.get("retryDelay"))
        if "429" in words and _NO_QUOTA.search(message.text):
            words.add("insufficient_quota")
        return replace(message, words=frozenset(words), retry_after_seconds=seconds)


def _details(error: object) -> Iterator[dict[str, Any]]:
    return objects_in(member(error, "details"))


def _is_of_day(violation: dict[str, Any]) -> bool:
    return _QUOTA_OF_DAY.search(str(violation.get("quotaId", ""))) is not None


def _seconds(duration: object) -> float | None:
    found = _DURATION.fullmatch(duration) if isinstance(duration, str) else None
    if found is None:
        return None
    return float(found[1]) * (0.001 if found[2] == "ms" else 1)
