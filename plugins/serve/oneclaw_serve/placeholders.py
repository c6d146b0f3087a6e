"""Values that a client's template did not fill in, such as ``{{CHAT_ID}}`` or ``undefined``."""

from __future__ import annotations

import re

_MARKED = re.compile(r"\{\{.*?\}\}|\$\{.*?\}|\$\(.*?\)|<%.*?%>|%[A-Z_]+%|\{[A-Z_]+\}|<[A-Za-z][\w ./-]*>", re.DOTALL)
_EMPTY_VALUE = re.compile(
    r"(.*[-_:/. ])?(undefined|null|nan|\[object object\])|none|nil|\$[A-Z_]+|", re.DOTALL | re.IGNORECASE
)


def is_unfilled(value: str) -> bool:
    """Return True if a value is empty or a placeholder of a template that nothing was put into."""
    text = value.strip()
    return _EMPTY_VALUE.fullmatch(text) is not None or _MARKED.search(text) is not None
