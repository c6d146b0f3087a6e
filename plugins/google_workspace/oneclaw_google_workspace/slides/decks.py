"""Presentations: looking at one before an edit, and sending edits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from oneclaw_google_workspace.answers import compact
from oneclaw_google_workspace.edits import is_office_file, send_edits
from oneclaw_google_workspace.problems import GoogleError, invalid
from oneclaw_google_workspace.wording import listing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oneclaw_google_workspace.client import GoogleClient

_LOOK = "slides_read"


@dataclass(frozen=True, slots=True)
class Deck:
    """A presentation as it was before an edit.

    Attributes:
        id: of the presentation.
        title: as the user knows it.
        revision_id: to be sent along with what was found in it.
        raw: as Google answered it.
    """

    id: str
    title: str
    revision_id: str
    raw: Mapping[str, Any]

    @property
    def named(self) -> str:
        """The name of the item in a question to the user."""
        return f"the presentation {listing([self.title or self.id])}"

    @property
    def slides(self) -> list[Mapping[str, Any]]:
        """Its slides, in order."""
        return list(self.raw.get("slides", []))

    @property
    def slide_ids(self) -> list[str]:
        """The ids of its slides, in order."""
        return [str(slide["objectId"]) for slide in self.slides]

    def check_slides(self, slide_ids: Sequence[str]) -> None:
        """Go on only if there are these slides.

        Raises:
            GoogleError: one is missing.
        """
        missing = [slide_id for slide_id in slide_ids if slide_id not in self.slide_ids]
        if missing:
            raise GoogleError("not_found", f"The presentation has no slides {listing(missing)}: see slides_read.")


@dataclass(frozen=True, slots=True)
class Edited:
    """A presentation after an edit.

    Attributes:
        replies: one for each request; none if the outcome was found out by looking.
        revision_id: of it now; empty in the same case.
    """

    replies: list[dict[str, Any]]
    revision_id: str


async def open_deck(google: GoogleClient, presentation_id: str, fields: str) -> Deck:
    """Look at a presentation.

    Args:
        google: the client.
        presentation_id: the id.
        fields: what is needed beside its title and revision.

    Raises:
        GoogleError: it did not work out.
    """
    try:
        raw = await google.call(
            "slides.presentations.get",
            presentationId=presentation_id,
            fields=f"presentationId,title,revisionId,{fields}",
        )
    except GoogleError as error:
        if is_office_file(error):
            raise invalid(
                "This is no Google Slides presentation but such as a file of PowerPoint: use drive_download_file."
            ) from None
        raise
    return Deck(presentation_id, str(raw.get("title", "")), str(raw.get("revisionId", "")), raw)


async def edit(
    google: GoogleClient,
    presentation_id: str,
    requests: Sequence[dict[str, Any]],
    *,
    revision_id: str | None = None,
    own_id: str | None = None,
) -> Edited:
    """Change a presentation; all requests are carried out, or none.

    Args:
        google: the client; the user has agreed.
        presentation_id: the presentation.
        requests: as Google has them.
        revision_id: refuse if there is another by now.
        own_id: an id of our own that the requests give to something new, by which it can be found out whether they
            were carried out.

    Raises:
        GoogleError: it did not work out.
    """
    body = {"requests": list(requests), **compact({"writeControl": compact({"requiredRevisionId": revision_id})})}
    try:
        answer = await send_edits(
            google,
            "slides.presentations.batchUpdate",
            body,
            look_with=_LOOK,
            fields="replies,writeControl/requiredRevisionId",
            has_own_ids=own_id is not None,
            presentationId=presentation_id,
        )
    except GoogleError as error:
        if own_id is None or error.error_type != "unknown_outcome":
            raise
        if not await _has(google, presentation_id, own_id, error):
            raise GoogleError(
                "service_unavailable", "Google failed, and nothing was changed. Try again later."
            ) from None
        return Edited([], "")
    return Edited(answer.get("replies", []), str(answer.get("writeControl", {}).get("requiredRevisionId", "")))


async def _has(google: GoogleClient, presentation_id: str, object_id: str, error: GoogleError) -> bool:
    """Find out whether something is there; if that cannot be found out, the error stays."""
    try:
        deck = await open_deck(google, presentation_id, "slides(objectId,pageElements/objectId)")
    except GoogleError:
        raise error from None
    return any(
        object_id in (slide.get("objectId"), *(each.get("objectId") for each in slide.get("pageElements", [])))
        for slide in deck.slides
    )


def new_id() -> str:
    """Make an id for something new; with it nothing is made twice."""
    return f"oc_{uuid4().hex}"


def deck_link(presentation_id: str, slide_id: str | None = None) -> str:
    """Return the address of a presentation."""
    place = f"#slide=id.{slide_id}" if slide_id else ""
    return f"https://docs.google.com/presentation/d/{presentation_id}/edit{place}"
