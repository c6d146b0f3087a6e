"""Sending edits to the editors of Docs and Slides, whose batches are carried out whole or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.api_request import api_request
from oneclaw_google_workspace.problems import GoogleError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_google_workspace.client import GoogleClient


async def send_edits(
    google: GoogleClient,
    method_id: str,
    body: Mapping[str, Any],
    *,
    look_with: str,
    fields: str,
    has_own_ids: bool = False,
    **ids: str,
) -> dict[str, Any]:
    """Send a batch of edits.

    One that holds for a certain revision only, or makes things of ids of our own, is sent again if no one knows whether
    it was carried out: after the first success there is another revision, or a thing of that id, and it is refused.

    Args:
        google: the client; the user has agreed.
        method_id: of a ``batchUpdate``.
        body: with ``requests``, and ``writeControl`` if it holds for a certain revision.
        look_with: the tool that shows the present state, such as ``docs_read``.
        fields: of the answer.
        has_own_ids: whether all of it fails if what it makes is there already.
        ids: parameters of the path.

    Raises:
        GoogleError: nothing was changed; or it may have been, which is told as ``unknown_outcome``.
    """
    has_revision = "requiredRevisionId" in body.get("writeControl", {})
    hint = f"Look with {look_with} whether it was done"
    request = api_request(
        method_id, body=body, fields=fields, is_repeatable=has_revision or has_own_ids, unclear_hint=hint, **ids
    )
    try:
        return await google.send(request)
    except GoogleError as error:
        if error.was_unclear:
            message = f"Google did not confirm the change, so it may have been made or not. {hint} before trying again."
            raise GoogleError("unknown_outcome", message, status=error.status, reasons=error.reasons) from None
        if has_revision and is_outdated(error):
            message = f"It was changed by somebody else meanwhile, so nothing was done. Read it again with {look_with}."
            raise GoogleError("conflict", message, status=error.status, reasons=error.reasons) from None
        raise


def is_outdated(error: GoogleError) -> bool:
    """Return True if edits were refused because they refer to an older revision."""
    return error.status == 400 and "revision" in str(error).lower()


def is_office_file(error: GoogleError) -> bool:
    """Return True if a file was refused because it is none of Google's own kinds, such as one of Word kept in Drive."""
    return error.status == 400 and "not supported for this document" in str(error).lower()
