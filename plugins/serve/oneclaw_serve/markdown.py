"""Markdown as HTML that is safe to show: rendered, then sanitised."""

from __future__ import annotations

import re
import time
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import nh3

from oneclaw_core.tools import printable

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

RENDER_SECONDS = 0.25
"""The growing end of a text is rendered again after this time at the earliest."""
_TAGS = {
    "a",
    "blockquote",
    "br",
    "code",
    "del",
    "em",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "li",
    "ol",
    "p",
    "pre",
} | {"s", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul"}
_ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}}
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_BLOCK_START = re.compile(r"(?:[-*+]|\d{1,9}[.)]?)$|(?:[-*+]|\d{1,9}[.)])\s|[ \t]")


@cache
def _renderer() -> MarkdownIt:
    from markdown_it import MarkdownIt

    # Raw HTML is shown as text. An image would be loaded from anywhere, and tell its server what stands in the address.
    made = MarkdownIt("js-default", {"html": False, "linkify": False})
    made.add_render_rule("image", _image_as_link)
    made.add_render_rule("link_close", _with_host)
    return made


def _image_as_link(self: Any, tokens: Any, index: int, options: Any, env: Any) -> str:
    from markdown_it.common.utils import escapeHtml

    token = tokens[index]
    text = escapeHtml(token.content or "image")
    target = str(token.attrGet("src") or "")
    return f'<a href="{escapeHtml(target)}">{text}</a>{_host_note(target, token.content)}'


def _with_host(self: Any, tokens: Any, index: int, options: Any, env: Any) -> str:
    """Close a link, and show where it leads unless its text says so."""
    opening = next(place for place in range(index, -1, -1) if tokens[place].type == "link_open")
    target = str(tokens[opening].attrGet("href") or "")
    text = "".join(each.content for each in tokens[opening + 1 : index])
    return f"</a>{_host_note(target, text)}"


def _host_note(target: str, text: str) -> str:
    from markdown_it.common.utils import escapeHtml

    try:
        parts = urlsplit(target)
        host = parts.hostname or parts.path
    except ValueError:
        host = target
    shown = text.strip().removeprefix("https://").removeprefix("http://").removeprefix("mailto:")
    says_so = shown == host or shown.startswith((f"{host}/", f"{host}:", f"{host}?", f"{host}#"))
    return "" if says_so or not host else f" ({escapeHtml(printable(host))})"


def render(text: str) -> str:
    """Return Markdown as HTML without scripts, styles, images and forms."""
    return nh3.clean(
        _renderer().render(printable(text)),
        tags=set(_TAGS),
        attributes={tag: set(names) for tag, names in _ATTRIBUTES.items()},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
        set_tag_attribute_values={"a": {"target": "_blank"}},
    )


class GrowingText:
    """A text that grows; what is finished is rendered once, and the rest a few times a second.

    Attributes:
        is_behind: True if a piece was added that is not rendered yet.
    """

    def __init__(self) -> None:
        self.is_behind = False
        self._rest = ""
        self._render_at = 0.0

    def add(self, piece: str, *, is_last: bool = False) -> tuple[str, str | None]:
        """Add a piece.

        Args:
            piece: more of the text; empty if only time has passed.
            is_last: True to render everything.

        Returns:
            HTML of blocks that are finished now, and HTML of the last one, which may change yet; ``None`` if it was
            rendered a moment ago, and the piece is to be shown as it is for now.
        """
        self._rest += piece
        self.is_behind = not is_last and time.monotonic() < self._render_at
        if self.is_behind:
            return "", None
        end = _finished(self._rest)
        done, self._rest = self._rest[:end], self._rest[end:]
        rendered = render(done) if done.strip() else "", render(self._rest)
        self._render_at = time.monotonic() + RENDER_SECONDS
        return rendered


def _finished(text: str) -> int:
    """Return the end of what no further text can change: before the last block that follows a blank line."""
    end = place = 0
    fence: str | None = None
    was_blank = False
    for line in text.splitlines(keepends=True):
        found = _FENCE.match(line)
        # An item of a list, or an indented line, may belong to the block before.
        if was_blank and fence is None and line.strip() and not _BLOCK_START.match(line):
            end = place
        if found and fence is None:
            fence = found[1]
        elif found and fence is not None and found[1].startswith(fence) and not line.strip().strip(fence[0]):
            fence = None
        was_blank = not line.strip()
        place += len(line)
    return end
