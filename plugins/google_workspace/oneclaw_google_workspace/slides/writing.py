"""Changing texts of presentations: ``slides_update_text``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, google_tool
from oneclaw_google_workspace.connecting import connect
from oneclaw_google_workspace.editors import Replacements, insertable, utf16_length
from oneclaw_google_workspace.links import file_id
from oneclaw_google_workspace.problems import GoogleError, invalid
from oneclaw_google_workspace.slides.decks import edit, open_deck
from oneclaw_google_workspace.slides.elements import TEXT_FIELDS, elements_of, shown_text, text_end
from oneclaw_google_workspace.slides.new_slides import BULLETS
from oneclaw_google_workspace.wording import counted, passage, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient
    from oneclaw_google_workspace.slides.decks import Deck

_SHAPE = f"objectId,shape(shapeType,{TEXT_FIELDS})"
_FIELDS = (
    f"slides(objectId,pageElements({_SHAPE},table(rows,columns,tableRows/tableCells(location,{TEXT_FIELDS})),"
    "elementGroup),slideProperties/notesPage(notesProperties/speakerNotesObjectId,"
    f"pageElements({_SHAPE})))"
)


@google_tool
async def slides_update_text(
    presentation_id: str,
    replacements: list[dict[str, Any]] | None = None,
    slide_ids: list[str] | None = None,
    object_id: str | None = None,
    row: int | None = None,
    column: int | None = None,
    text: str | None = None,
    mode: str = "set",
    bullets: bool = False,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Find and replace, or set the text of one shape or cell."""
    google = connect(context)
    wanted = file_id(presentation_id, "presentation_id")
    has_object = any(value is not None for value in (object_id, row, column, text)) or bullets
    if bool(replacements) == has_object:
        raise invalid("Give either replacements, or object_id and text.")
    if replacements:
        return await _replace_all(google, wanted, Replacements.of(replacements), slide_ids)
    if slide_ids:
        raise invalid("slide_ids go with replacements; an object_id is on one slide anyway.")
    if not object_id or text is None or (row is None) != (column is None):
        raise invalid("Give object_id and text; for a cell of a table row and column, too.")
    text = insertable(text)
    if not text and (mode == "append" or bullets):
        raise invalid("Give the text; only with mode set it may be empty, which clears the text.")
    deck = await open_deck(google, wanted, _FIELDS)
    before, end = _present_text(deck, object_id, row, column)
    where = "the table" if row is not None else "a shape"
    if mode == "append":
        detail = f"append {passage(text)} to {quoted(before)}"
    else:
        detail = f"replace {passage(before)} by {passage(text)}"
    await google.ask(f"{detail} in {where} of {deck.named}")
    place: dict[str, Any] = {"objectId": object_id}
    if row is not None:
        place |= {"cellLocation": {"rowIndex": row, "columnIndex": column}}
    done = await edit(
        google,
        wanted,
        _requests(place, text, end, is_append=mode == "append", bullets=bullets),
        revision_id=deck.revision_id,
    )
    return {
        **compact({"object_id": object_id, "row": row, "column": column, "length": utf16_length(text)}),
        "revision_id": done.revision_id,
    }


async def _replace_all(
    google: GoogleClient, presentation_id: str, pairs: Replacements, slide_ids: Sequence[str] | None
) -> dict[str, Any]:
    deck = await open_deck(google, presentation_id, "slides/objectId")
    deck.check_slides(slide_ids or ())
    where = f"on {counted(len(slide_ids), 'slide')} of" if slide_ids else "throughout"
    await google.ask(f"replace {pairs.described} {where} {deck.named}")
    pages = compact({"pageObjectIds": slide_ids})
    done = await edit(google, presentation_id, [{"replaceAllText": {**each, **pages}} for each in pairs.requests])
    return {"replaced": pairs.counts(done.replies), "revision_id": done.revision_id}


def _present_text(deck: Deck, object_id: str, row: int | None, column: int | None) -> tuple[str, int]:
    """Find the text that is there now, and the index at its end.

    Raises:
        GoogleError: there is no such shape or cell.
    """
    for slide in deck.slides:
        notes = slide.get("slideProperties", {}).get("notesPage", {})
        for element in (*elements_of(slide), *elements_of(notes)):
            if element.id == object_id:
                content = _cell(element.raw, row, column) if "table" in element.raw else _shape(element.raw, row)
                return shown_text(content), text_end(content)
        # The shape of the notes is made when something is first written into it.
        if notes.get("notesProperties", {}).get("speakerNotesObjectId") == object_id and row is None:
            return "", 0
    raise GoogleError("not_found", "There is no element of that object_id: see slides_read with include_elements.")


def _shape(raw: Mapping[str, Any], row: int | None) -> Mapping[str, Any]:
    if "shape" not in raw:
        raise invalid("This element holds no text: give the object_id of a shape or a table.")
    if row is not None:
        raise invalid("This is a shape and no table: leave row and column out.")
    content: Mapping[str, Any] = raw["shape"].get("text", {})
    return content


def _cell(raw: Mapping[str, Any], row: int | None, column: int | None) -> Mapping[str, Any]:
    rows, columns = int(raw["table"].get("rows", 0)), int(raw["table"].get("columns", 0))
    if row is None or column is None or row >= rows or column >= columns:
        raise invalid(f"This is a table of {rows} x {columns} cells: give row and column, each from 0.")
    for cells in raw["table"].get("tableRows", []):
        for cell in cells.get("tableCells", []):
            place = cell.get("location", {})
            if (place.get("rowIndex", 0), place.get("columnIndex", 0)) == (row, column):
                content: Mapping[str, Any] = cell.get("text", {})
                return content
    raise invalid("This cell is part of a larger one: give the row and column at which that begins.")


def _requests(place: Mapping[str, Any], text: str, end: int, *, is_append: bool, bullets: bool) -> list[dict[str, Any]]:
    """Write the requests.

    Args:
        place: of the text.
        text: what is to be there, or to come behind it.
        end: the index at the end of what is there.
        is_append: whether that stays.
        bullets: whether the new text is to be a list.
    """
    requests: list[dict[str, Any]] = []
    start = end if is_append else 0
    if end and not is_append:
        requests.append({"deleteText": {**place, "textRange": {"type": "ALL"}}})
    if text:
        requests.append({"insertText": {**place, "text": text, "insertionIndex": start}})
    if bullets:
        first = start + len(text) - len(text.lstrip("\n"))
        whole: dict[str, Any] = {"type": "ALL"}
        part = {"type": "FIXED_RANGE", "startIndex": first, "endIndex": start + utf16_length(text)}
        is_part = is_append and first < start + utf16_length(text)
        requests.append(
            {"createParagraphBullets": {**place, "textRange": part if is_part else whole, "bulletPreset": BULLETS}}
        )
    return requests
