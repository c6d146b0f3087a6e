"""Text as HTML in which nothing is hidden."""

from __future__ import annotations

from html import escape as escape_exactly

from oneclaw_core.tools import printable


def escape(text: str) -> str:
    """Return a text as HTML, with invisible characters and those that reorder it visible."""
    return escape_exactly(printable(text))
