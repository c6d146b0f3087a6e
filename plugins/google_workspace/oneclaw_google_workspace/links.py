"""From what people copy out of the address bar to the id of a file; pure, without any I/O."""

from __future__ import annotations

import re

from oneclaw_google_workspace.problems import invalid

_ID = re.compile(r"[\w-]+")
_IN_LINK = re.compile(r"/(?:d|folders)/([\w-]+)|[?&]id=([\w-]+)")


def file_id(text: str, what: str) -> str:
    """Read the id of a document, a folder or another file of Drive.

    Args:
        text: the id, or a link such as ``https://docs.google.com/spreadsheets/d/ID/edit``.
        what: the argument that it was given as, for messages.

    Raises:
        GoogleError: it is neither.
    """
    given = text.strip()
    if _ID.fullmatch(given):
        return given
    match = _IN_LINK.search(given)
    # What stands behind /d/e/ is an id for respondents and readers, which the APIs do not know.
    if match is None or match[1] == "e":
        raise invalid(f"{what} must be an id, or a link with /d/ID or /folders/ID in it, not {given[:80]!r}.")
    return str(match[1] or match[2])
