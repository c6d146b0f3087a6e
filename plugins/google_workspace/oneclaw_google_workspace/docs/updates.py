"""Sending changes of a document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact
from oneclaw_google_workspace.edits import is_outdated, send_edits
from oneclaw_google_workspace.problems import GoogleError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oneclaw_google_workspace.client import GoogleClient

_FIELDS = "documentId,replies,writeControl/requiredRevisionId,suggestionResponses/createdSuggestionIds"


@dataclass(frozen=True, slots=True)
class Updated:
    """A document after a change.

    Attributes:
        replies: one for each request.
        revision_id: of the document now.
        suggestion_ids: what the change became, if it was to be a suggestion.
        is_suggestion: whether it was to be one.
    """

    replies: list[dict[str, Any]]
    revision_id: str
    suggestion_ids: list[str]
    is_suggestion: bool

    @property
    def state(self) -> dict[str, Any]:
        """The closing line of every answer."""
        if not self.is_suggestion:
            return {"revision_id": self.revision_id, "suggested": False}
        note = None if self.suggestion_ids else "Google did not confirm that this became a suggestion: see docs_read."
        return {
            "revision_id": self.revision_id,
            "suggested": bool(self.suggestion_ids),
            **compact({"suggestion_ids": self.suggestion_ids[:20], "note": note}),
        }


async def update(
    google: GoogleClient,
    document_id: str,
    requests: Sequence[dict[str, Any]],
    *,
    revision_id: str | None = None,
    is_suggestion: bool = False,
    hint: str = "",
) -> Updated:
    """Change a document; all requests are carried out, or none.

    Args:
        google: the client; the user has agreed.
        document_id: the document.
        requests: as Google has them; indexes in one hold for the document after those before it.
        revision_id: refuse if there is another by now; for indexes that were found in this one.
        is_suggestion: suggest it instead of doing it.
        hint: what may be the matter if Google does not accept the requests.

    Raises:
        GoogleError: it did not work out.
    """
    control = compact({"requiredRevisionId": revision_id, "writeMode": "SUGGEST" if is_suggestion else None})
    body = {"requests": list(requests), **compact({"writeControl": control})}
    try:
        answer = await send_edits(
            google,
            "docs.documents.batchUpdate",
            body,
            look_with="docs_read",
            fields=_FIELDS,
            documentId=document_id,
        )
    except GoogleError as error:
        if error.status != 400 or is_outdated(error) or error.error_type != "validation_error":
            raise
        more = " Nothing was changed; perhaps this cannot be made a suggestion." if is_suggestion else ""
        raise GoogleError(
            error.error_type, f"{error} {hint}".rstrip() + more, status=error.status, reasons=error.reasons
        ) from None
    return Updated(
        answer.get("replies", []),
        str(answer.get("writeControl", {}).get("requiredRevisionId", "")),
        [each for made in answer.get("suggestionResponses", []) for each in made.get("createdSuggestionIds", [])],
        is_suggestion,
    )
