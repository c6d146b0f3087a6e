"""The program in a message that asks to run one."""

from __future__ import annotations

import re

_FENCED = re.compile(r"```[^\S\n]*(?:[A-Za-z+#-]{1,20})?[^\S\n]*\n(.*?)\n?```", re.DOTALL)
_BEFORE_LANGUAGE = re.compile(
    r"\s*(?:please\s+|can you\s+|could you\s+)?(?:evaluate|eval|calculate|compute|run|execute)\s+(?P<code>\S.*?)\s+"
    r"(?:in|with|using|as|by)\s+(?:javascript|js|ecmascript)[\s.?!]*",
    re.IGNORECASE | re.DOTALL,
)
_QUOTED = re.compile(r"""["'`“„«‘「].*""", re.DOTALL)  # noqa: RUF001  # the quotes meant
# Two words side by side, as in "the sum of 1 and 2".
_PROSE = re.compile(r"[A-Za-z]{2,}\s+[A-Za-z]{2,}")


def code_in(message: str) -> str | None:
    """Find the code in a message such as "Calculate 6*7 with JavaScript", or between fences.

    Returns:
        ``None`` if there is none, or if it stands in quotes, between which it is found like any other text.
    """
    fenced = _FENCED.search(message)
    if fenced is not None:
        return fenced[1].strip() or None
    asked = _BEFORE_LANGUAGE.fullmatch(message[:2000])
    if asked is None or _QUOTED.fullmatch(asked["code"]) or _PROSE.search(asked["code"]):
        return None
    return asked["code"]
