"""Markdown as text with entities, which need no escaping and so cannot break a message."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

from oneclaw_core.tools import printable

MAX_UNITS = 4096
MAX_ENTITIES = 100
_LINK = re.compile(r"(?<!!)\[([^\]\n]*)\]\(\s*<?([^\s<>()]+)[^()\n]*\)")
_SCHEMES = ("http", "https", "mailto", "tg")


def utf16_length(text: str) -> int:
    """Return the length in the units that Telegram counts."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def formatted(markdown: str) -> list[tuple[str, list[dict[str, Any]]]]:
    """Convert Markdown to texts with entities, each short enough for a message.

    Args:
        markdown: as a model wrote it.
    """
    from telegramify_markdown import convert
    from telegramify_markdown.entity import split_entities

    markdown = _LINK.sub(_with_host, printable(markdown))
    text, entities = convert(markdown)
    if not text.strip():
        # Such as nothing but a link definition.
        text, entities = markdown, []
    parts = [(text, entities)] if utf16_length(text) <= MAX_UNITS else split_entities(text, entities, MAX_UNITS)
    return [(part, _usable(found)) for part, found in parts if part.strip()]


def _with_host(match: re.Match[str]) -> str:
    """Show the host of a link behind its text, unless the text says it."""
    text, target = match[1], match[2]
    try:
        host = urlsplit(target).hostname or ""
    except ValueError:
        host = target
    shown = text.removeprefix("https://").removeprefix("http://")
    says_so = shown == host or shown.startswith((f"{host}/", f"{host}:", f"{host}?", f"{host}#"))
    return match[0] if says_so or not host else f"{match[0]} ({host})"


def _usable(entities: list[Any]) -> list[dict[str, Any]]:
    found = [each.to_dict() for each in entities]
    return [each for each in found if "url" not in each or _is_link(each["url"])][:MAX_ENTITIES]


def _is_link(url: str) -> bool:
    try:
        return urlsplit(url).scheme.lower() in _SCHEMES
    except ValueError:
        return False


def fixed_width(text: str) -> list[tuple[str, list[dict[str, Any]]]]:
    """Put a text into messages of a fixed width, with nothing in it left out or formatted."""
    pieces: list[str] = []
    for line in text.split("\n"):
        for start in range(0, max(len(line), 1), MAX_UNITS // 4):
            piece = line[start : start + MAX_UNITS // 4]
            if pieces and utf16_length(f"{pieces[-1]}\n{piece}") < MAX_UNITS - 200:
                pieces[-1] += f"\n{piece}"
            else:
                pieces.append(piece)
    return [(each, [{"type": "pre", "offset": 0, "length": utf16_length(each)}]) for each in pieces if each]
