"""Keeping keys out of what is printed and logged."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

# What the names of environment variables that hold secrets end in, by the convention that vendors follow.
SECRET_SUFFIXES = ("_API_KEY", "_TOKEN", "_SECRET")
# A shorter value would be found in ordinary words.
SHORTEST_SECRET_CHARACTERS = 8
REDACTED = "[redacted]"

# Whoever prints or logs does not know which home is open, and the environment belongs to the process as well.
_remembered: set[str] = set()


def remember_secret(secret: str) -> None:
    """Have a secret that is not in the environment redacted too, from now on and everywhere in the process."""
    _remembered.add(secret)


def redact(text: str, environ: Mapping[str, str] | None = None) -> str:
    """Replace every secret that a text contains: those of the environment, and those remembered.

    Args:
        text: what is about to be shown.
        environ: the environment; by default the program's own.
    """
    environ = os.environ if environ is None else environ
    found = {value.strip() for name, value in environ.items() if name.upper().endswith(SECRET_SUFFIXES)} | _remembered
    # Of two secrets of which one contains the other, the longer goes first, lest its rest stay.
    for secret in sorted(found, key=len, reverse=True):
        if len(secret) < SHORTEST_SECRET_CHARACTERS:
            break
        text = text.replace(secret, REDACTED)
    return text


class SecretFilter(logging.Filter):
    """Redacts log records, tracebacks included; belongs on a handler, for a logger's filter misses its children."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Redact a record in place, and let it pass."""
        try:
            message = record.getMessage()
        except (TypeError, ValueError, KeyError):
            # The arguments do not fit the message, as can happen in a plugin; it is better logged than lost.
            message = f"{record.msg} {record.args!r}"
        record.msg, record.args = redact(message), None
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = redact(record.exc_text)
        if record.stack_info:
            record.stack_info = redact(record.stack_info)
        return True
