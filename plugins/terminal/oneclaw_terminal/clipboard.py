"""The user's clipboard, through the terminal: OSC 52, which works over ssh too."""

from __future__ import annotations

import base64
import os

# More than this is cut off or ignored by terminals.
MAX_BYTES = 74_994
_ELSEWHERE = "oneclaw sessions show NAME prints a session, to be copied from there."


def copy_sequence(text: str) -> tuple[str, str]:
    """Return the escape sequence that copies a text, and what to tell the user.

    Args:
        text: what to copy.

    Returns:
        The sequence, ``""`` for a terminal that is known to ignore it; and the notice.
    """
    size = len(text.encode())
    reason = _obstacle(size)
    if reason is not None:
        return "", f"Not copied: {reason}; {_ELSEWHERE}"
    hint = "tmux passes it on with: set -g set-clipboard on" if os.environ.get("TMUX") else "if your terminal allows it"
    encoded = base64.b64encode(text.encode()).decode()
    return f"\x1b]52;c;{encoded}\x07", f"Copied {len(text):,} characters to the clipboard ({hint})."


def _obstacle(size: int) -> str | None:
    environ = os.environ
    if size > MAX_BYTES:
        return f"the answer has {size:,} bytes, and terminals take {MAX_BYTES:,}"
    if environ.get("TERM", "dumb") in ("dumb", "linux") or environ.get("TERM_PROGRAM") == "Apple_Terminal":
        return "this terminal does not let programs copy"
    return None
