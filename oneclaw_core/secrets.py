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


def redact(text: str, environ: Mapping[str, str] | None = None) -> str:
    """Replace every secret of the environment that a text contains.

    Args:
        text: what is about to be shown.
        environ: the environment; by default the program's own.
    """
    environ = os.environ if environ is None else environ
    secrets = {
        value.strip()
        for name, value in environ.items()
        if name.upper().endswith(SECRET_SUFFIXES) and len(value.strip()) >= SHORTEST_SECRET_CHARACTERS
    }
    # Of two secrets of which one contains the other, the longer goes first, lest its rest stay.
    for secret in sorted(secrets, key=len, reverse=True):
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
