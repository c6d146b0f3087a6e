"""Speaker notes of slides that have just been made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_google_workspace.slides.decks import edit, open_deck

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_google_workspace.client import GoogleClient

NOTES_ID_FIELDS = "slides(objectId,slideProperties/notesPage/notesProperties/speakerNotesObjectId)"


async def write_notes(google: GoogleClient, presentation_id: str, notes: Mapping[str, str]) -> None:
    """Write the notes of new slides; where they go is known only once the slides are there.

    Args:
        google: the client; the user has agreed.
        presentation_id: the presentation.
        notes: texts by slide.

    Raises:
        GoogleError: it did not work out.
    """
    deck = await open_deck(google, presentation_id, NOTES_ID_FIELDS)
    requests = [
        {"insertText": {"objectId": _notes_id(slide), "text": notes[str(slide["objectId"])], "insertionIndex": 0}}
        for slide in deck.slides
        if slide["objectId"] in notes and _notes_id(slide)
    ]
    if requests:
        await edit(google, presentation_id, requests, revision_id=deck.revision_id)


def _notes_id(slide: Mapping[str, object]) -> str:
    found: object = slide
    for key in ("slideProperties", "notesPage", "notesProperties", "speakerNotesObjectId"):
        found = found.get(key, {}) if isinstance(found, dict) else {}
    return str(found or "")
