"""Texts and colours as Google's editors count, keep and take them; pure, without any I/O."""

from __future__ import annotations

import re

from oneclaw_google_workspace.problems import invalid

# What both editors leave out of a text, so that it would take up no index.
_LEFT_OUT = re.compile("[\x00-\x08\x0c-\x1f\ue000-\uf8ff]")
_COLOR = re.compile(r"#?([0-9a-fA-F]{6}|[0-9a-fA-F]{3})")


def utf16_length(text: str) -> int:
    """Count the UTF-16 code units of a text, as the indexes of both editors do: an emoji has two."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf16_slice(text: str, start: int, end: int) -> str:
    """Cut out a part by UTF-16 code units; half a character becomes a question mark in a box."""
    return text.encode("utf-16-le", "surrogatepass")[2 * start : 2 * end].decode("utf-16-le", "replace")


def insertable(text: str) -> str:
    """Leave of a text what the editors keep, so that its length is what they count."""
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")
    return _LEFT_OUT.sub("", whole.replace("\r\n", "\n").replace("\r", "\n"))


def rgb(name: str, text: str) -> dict[str, float]:
    """Write a colour as the editors want it.

    Args:
        name: of the argument, for messages.
        text: ``#rrggbb`` or ``#rgb``.

    Returns:
        ``red``, ``green`` and ``blue`` from 0 to 1.

    Raises:
        GoogleError: it is no colour.
    """
    match = _COLOR.fullmatch(text.strip())
    if match is None:
        raise invalid(f"{name} must be a colour such as #1a73e8, not {text[:40]!r}.")
    digits = match[1] if len(match[1]) == 6 else "".join(2 * digit for digit in match[1])
    parts = zip(("red", "green", "blue"), range(0, 6, 2), strict=True)
    return {part: round(int(digits[at : at + 2], 16) / 255, 4) for part, at in parts}


def image_address(url: str | None) -> str:
    """Check the address of an image that Google is to fetch.

    Raises:
        GoogleError: it is missing, or Google would not fetch it.
    """
    if not url or not re.match(r"https?://", url):
        raise invalid("Give image_url: the public http or https address of a PNG, JPEG or GIF image.")
    if len(url.encode("utf-8", "replace")) > 2048:
        raise invalid("image_url is longer than the 2 kB that Google takes.")
    return url
