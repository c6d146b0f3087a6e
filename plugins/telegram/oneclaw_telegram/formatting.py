"""Markdown as text with entities, which need no escaping and so cannot break a message."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from oneclaw_core.tools import printable

MAX_UNITS = 4096
MAX_ENTITIES = 100
_MOST_SHOWN_CHARACTERS = 100
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

    markdown = printable(markdown)
    text, entities = _with_hosts(*convert(markdown))
    if not text.strip():
        # Such as nothing but a link definition.
        text, entities = markdown, []
    parts = [(text, entities)] if utf16_length(text) <= MAX_UNITS else split_entities(text, entities, MAX_UNITS)
    return [(part, _usable(found)) for part, found in parts if part.strip()]


def _with_hosts(text: str, entities: list[Any]) -> tuple[str, list[Any]]:
    """Show the host of each link behind its text, unless the text says it; entities count in UTF-16."""
    encoded = text.encode("utf-16-le", "surrogatepass")
    links = [each for each in entities if each.url]
    for link in sorted(links, key=lambda each: int(each.offset + each.length), reverse=True):
        end = link.offset + link.length
        note = _host_note(link.url, encoded[2 * link.offset : 2 * end].decode("utf-16-le", "replace"))
        encoded = encoded[: 2 * end] + note.encode("utf-16-le") + encoded[2 * end :]
        for each in entities:
            if each.offset >= end:
                each.offset += utf16_length(note)
            elif each.offset + each.length > end:
                each.length += utf16_length(note)
    return encoded.decode("utf-16-le", "surrogatepass"), entities


def _host_note(target: str, text: str) -> str:
    try:
        parts = urlsplit(target)
        host = parts.hostname if parts.scheme in ("http", "https") else None
    except ValueError:
        host = None
    shown = text.strip().removeprefix("https://").removeprefix("http://").removeprefix("mailto:")
    place = host or target.removeprefix("mailto:")[:_MOST_SHOWN_CHARACTERS]
    says_so = shown == place or shown.startswith((f"{place}/", f"{place}:", f"{place}?", f"{place}#"))
    return "" if says_so else f" ({place})"


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
