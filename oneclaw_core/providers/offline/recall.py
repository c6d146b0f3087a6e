"""Questions about earlier conversations, whose words say nothing of the tool that answers them."""

from __future__ import annotations

import re

SEARCH_HISTORY = "search_history"

_LONGEST_MESSAGE = 500
_ASKS = re.compile(
    r"""
    \b(?: (?:did|have|had|has|do) \s+ (?:i|we|you) \s+ (?:(?:ever|just|already|once|last|not) \s+)?
          (?: say|said|tell|told|mention(?:ed)?|writ(?:e|ten)|talk(?:ed)?|discuss(?:ed)?|decid(?:e|ed)|agree(?:d)?
            | ask(?:ed)?|remember|know ) (?:\s+ (?:you|me|us|to\s+you|to\s+me|anything|something))?
      | (?:i|we|you) \s+ (?:said|told|mentioned|talked|discussed|decided) (?:\s+ (?:you|me|us|to\s+you|to\s+me))? )
    \s+ (?:about|on|of|regarding|concerning) \s+ (?P<topic>.+)
    """,
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_ENDS = " \t\n.?!\"'"


def recalled_topic(message: str) -> str | None:
    """Find what a question such as "What did I say about tea?" wants to know of the past; ``None`` if it is none.

    Args:
        message: what the user wrote.
    """
    if len(message) > _LONGEST_MESSAGE:
        return None
    match = _ASKS.search(message)
    return match["topic"].strip(_ENDS) or None if match is not None else None
