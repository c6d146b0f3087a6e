"""From the ids and links that a model gives to what Google wants to know of a file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from oneclaw_google_workspace.links import file_id

if TYPE_CHECKING:
    from oneclaw_google_workspace.client import GoogleClient

_KEYS_HEADER = "X-Goog-Drive-Resource-Keys"
_KEY = re.compile(r"[?&]resourcekey=([\w-]+)")


def refer(google: GoogleClient, text: str, what: str) -> str:
    """Read an id or a link; the key in the link of a file that only those with its link may open is sent along.

    Args:
        google: the client.
        text: the id or the link.
        what: the argument, for messages.

    Raises:
        GoogleError: it is neither.
    """
    found = file_id(text, what)
    if key := _KEY.search(text):
        known = google.headers.get(_KEYS_HEADER)
        pair = f"{found}/{key[1]}"
        google.headers[_KEYS_HEADER] = f"{known},{pair}" if known else pair
    return found
