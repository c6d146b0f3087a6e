"""The headers and dates of mails, made readable; pure, without any I/O."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from html import unescape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_MAX_CHARACTERS = 10_000
# Control characters, and those that turn the direction of what follows, to make an address look like another one.
_MISLEADING = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
# What newsletters fill up the preview with.
_FILLING = re.compile("(?:[\u00ad\u034f\u200b-\u200f\u2007\u2060\ufeff]\\s*){2,}")


def header(part: Mapping[str, Any], name: str) -> str:
    """The first header of a name, as it was sent; empty if there is none.

    Args:
        part: a part of a message as Google answers it, or its ``payload``.
        name: in any case.
    """
    for each in part.get("headers", []):
        if str(each.get("name", "")).casefold() == name.casefold():
            return str(each.get("value", ""))
    return ""


def readable(value: str) -> str:
    """A header's value on one line, with encoded words (RFC 2047) decoded, and nothing in it that misleads."""
    text = value[:_MAX_CHARACTERS]
    with suppress(HeaderParseError, LookupError, ValueError):  # then it is shown as it was sent
        text = str(make_header(decode_header(text)))
    return " ".join(_MISLEADING.sub("", text).split())


def preview(snippet: str) -> str:
    """Google's beginning of a message's text, without HTML entities and filling."""
    return " ".join(without_filling(_MISLEADING.sub("", unescape(snippet))).split())


def without_filling(text: str) -> str:
    """A text without runs of characters that no one sees."""
    return _FILLING.sub(" ", text)


def moment(internal_date: object) -> str | None:
    """When Gmail got a message: ISO 8601 in this machine's zone, with the offset.

    Args:
        internal_date: milliseconds since 1970, as Google answers them.
    """
    try:
        return local_time(int(str(internal_date)) / 1000)
    except (ValueError, OverflowError, OSError):
        return None


def local_time(seconds: float) -> str:
    """A moment in ISO 8601 in this machine's zone, with the offset.

    Args:
        seconds: since 1970.

    Raises:
        ValueError: no calendar reaches that far; the same ``OverflowError`` and ``OSError``.
    """
    return datetime.fromtimestamp(seconds, UTC).astimezone().isoformat(timespec="seconds")
