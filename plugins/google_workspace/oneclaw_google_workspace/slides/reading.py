"""Reading presentations: ``slides_read``."""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from oneclaw_core import Attachment, ToolResult
from oneclaw_google_workspace.answers import compact, from_outside, google_tool
from oneclaw_google_workspace.api_request import api_request
from oneclaw_google_workspace.connecting import connect
from oneclaw_google_workspace.links import file_id
from oneclaw_google_workspace.problems import GoogleError, invalid
from oneclaw_google_workspace.shown_size import beginning_within, json_length, room_beside
from oneclaw_google_workspace.slides.decks import open_deck
from oneclaw_google_workspace.slides.elements import ELEMENT_FIELDS, elements_of, title_of
from oneclaw_google_workspace.slides.new_slides import page_size
from oneclaw_google_workspace.slides.text import TEXT_FIELDS, shown_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient
    from oneclaw_google_workspace.slides.decks import Deck

MAX_CHARACTERS = 100_000
_HEAD = ("slide_id", "index", "layout", "title")
_TOO_MANY = "Slides without text are too many for one answer: read them by slide_ids."
_TOO_LONG = "The first slide is too long for one answer: drive_download_file gives all texts in parts."
_MAX_PICTURE_BYTES = 20_000_000
_NOTES_FIELDS = (
    f"notesPage(notesProperties/speakerNotesObjectId,pageElements(objectId,shape(placeholder/type,{TEXT_FIELDS})))"
)


@google_tool
async def slides_read(
    presentation_id: str,
    slide_ids: list[str] | None = None,
    include_notes: bool = True,
    include_elements: bool = False,
    include_layouts: bool = False,
    thumbnail_slide_id: str | None = None,
    thumbnail_size: str = "MEDIUM",
    save_thumbnail_to: str | None = None,
    *,
    context: ToolContext,
) -> ToolResult:
    """Read a presentation."""
    google = connect(context)
    wanted = file_id(presentation_id, "presentation_id")
    if save_thumbnail_to is not None and thumbnail_slide_id is None:
        raise invalid("save_thumbnail_to goes with thumbnail_slide_id.")
    target = await context.writable(save_thumbnail_to) if save_thumbnail_to is not None else None
    deck = await open_deck(google, wanted, _fields(include_notes, include_elements))
    deck.check_slides([*(slide_ids or ()), *([thumbnail_slide_id] if thumbnail_slide_id else ())])
    width, height = page_size(deck.raw)
    answer: dict[str, Any] = {
        "presentation_id": wanted,
        "title": deck.title,
        **compact({"revision_id": deck.revision_id}),
        "page_size_pt": {"width": round(width, 1), "height": round(height, 1)},
        "slide_count": len(deck.slides),
    }
    if include_layouts:
        answer["layouts"] = [_layout_row(layout) for layout in deck.raw.get("layouts", [])]
    room = room_beside(from_outside({**answer, "truncated": True, "note": _TOO_MANY + _TOO_LONG}, "slides"), context)
    rows = _rows(deck, slide_ids, include_notes, include_elements)
    answer |= _fitted(rows, MAX_CHARACTERS if room is None else min(room, MAX_CHARACTERS))
    attachments: tuple[Attachment, ...] = ()
    if thumbnail_slide_id is not None:
        picture, size = await _thumbnail(google, wanted, thumbnail_slide_id, thumbnail_size, target)
        answer["image"] = {"slide_id": thumbnail_slide_id, **size}
        if target is not None:
            answer["image"]["path"] = str(target)
        else:
            attachments = (Attachment(f"{thumbnail_slide_id}.png", "image/png", picture),)
    return ToolResult.success(from_outside(answer, "slides"), attachments)


def _fields(include_notes: bool, include_elements: bool) -> str:
    elements = f"{ELEMENT_FIELDS},size,transform" if include_elements else ELEMENT_FIELDS
    notes = f",{_NOTES_FIELDS}" if include_notes else ""
    layouts = "layouts(objectId,layoutProperties(name,displayName),pageElements/shape/placeholder/type)"
    properties = f"slideProperties(isSkipped,layoutObjectId{notes})"
    return f"pageSize,slides(objectId,pageElements({elements}),{properties}),{layouts}"


def _rows(deck: Deck, slide_ids: list[str] | None, include_notes: bool, include_elements: bool) -> list[dict[str, Any]]:
    """Make the rows of the wanted slides."""
    layouts = {layout["objectId"]: _layout_name(layout) for layout in deck.raw.get("layouts", [])}
    rows: list[dict[str, Any]] = []
    for index, slide in enumerate(deck.slides):
        if slide_ids is not None and slide["objectId"] not in slide_ids:
            continue
        about = slide.get("slideProperties", {})
        head = {"slide_id": slide["objectId"], "index": index, "layout": layouts.get(about.get("layoutObjectId"))}
        elements = elements_of(slide)
        notes_id, notes = _notes(about.get("notesPage", {})) if include_notes else ("", "")
        row = compact({**head, "title": title_of(slide)})
        row["text"] = [element.line for element in elements if element.line]
        row |= compact({"notes": notes, "skipped": about.get("isSkipped") or None})
        if include_elements:
            row["elements"] = [element.row() for element in elements]
            row |= compact({"notes_object_id": notes_id})
        rows.append(row)
    return rows


def _fitted(rows: list[dict[str, Any]], room: int) -> dict[str, Any]:
    """Show as many slides as there is room for; of the others their titles, or at least their ids."""
    heads = [{key: row[key] for key in _HEAD if key in row} for row in rows]
    if sum(map(_size, heads)) > room // 3:
        heads = [{"slide_id": row["slide_id"]} for row in rows]
    left = room - sum(map(_size, heads))
    shown: list[dict[str, Any]] = []
    for row, head in zip(rows, heads, strict=True):
        left -= _size(row) - _size(head)
        if left < 0:
            break
        shown.append(row)
    if len(shown) == len(rows):
        return {"slides": shown}
    notes = [_TOO_MANY] if len(rows) > 1 else []
    if not shown:
        notes.append(_TOO_LONG)
        shown = [_beginning(rows[0], left + _size(rows[0]))]
    return {"slides": shown + heads[len(shown) :], "truncated": True, "note": " ".join(notes)}


def _beginning(row: Mapping[str, Any], room: int) -> dict[str, Any]:
    """Cut the texts of a slide of which not even one can be shown whole."""
    head = {key: row[key] for key in _HEAD if key in row}
    text = beginning_within("\n".join([*row["text"], row.get("notes", "")]), max(room - _size(head) - 50, 500))
    return {**head, "text": [text], "cut": True}


def _size(value: Any) -> int:
    return json_length(value) + len(", ")


def _notes(page: Mapping[str, Any]) -> tuple[str, str]:
    """The id of a slide's notes, and their text; the shape may have another id."""
    notes_id = str(page.get("notesProperties", {}).get("speakerNotesObjectId", ""))
    shapes = [(each.get("objectId"), each.get("shape", {})) for each in page.get("pageElements", [])]
    for object_id, shape in shapes:
        if object_id == notes_id or shape.get("placeholder", {}).get("type") == "BODY":
            return notes_id, shown_text(shape.get("text", {}))
    return notes_id, ""


def _layout_name(layout: Mapping[str, Any]) -> str:
    about = layout.get("layoutProperties", {})
    return str(about.get("name") or about.get("displayName", ""))


def _layout_row(layout: Mapping[str, Any]) -> dict[str, Any]:
    found = [each.get("shape", {}).get("placeholder", {}).get("type") for each in layout.get("pageElements", [])]
    return compact(
        {
            "layout_id": layout["objectId"],
            "name": _layout_name(layout),
            "display_name": layout.get("layoutProperties", {}).get("displayName"),
            "placeholders": [each for each in found if each],
        }
    )


async def _thumbnail(
    google: GoogleClient, presentation_id: str, slide_id: str, size: str, target: Path | None
) -> tuple[bytes, dict[str, int]]:
    """Have a slide drawn. The link opens it as the user, so it is not shown."""
    drawing: dict[str, Any] = {
        "thumbnailProperties.thumbnailSize": size,
        "thumbnailProperties.mimeType": "PNG",
    }
    request = api_request(
        "slides.presentations.pages.getThumbnail",
        presentationId=presentation_id,
        pageObjectId=slide_id,
        fields="contentUrl,width,height",
        **drawing,
    )
    found = await google.send(request)
    link = found.get("contentUrl")
    if not link:
        raise GoogleError("execution_error", "Google has drawn no picture of the slide. Try again later.")
    about = {"width": int(found.get("width", 0)), "height": int(found.get("height", 0))}
    if target is not None:
        await google.download_link(request, link, target, max_bytes=_MAX_PICTURE_BYTES)
        return b"", about
    with TemporaryDirectory(prefix="oneclaw-") as folder:
        path = Path(folder) / "slide.png"
        await google.download_link(request, link, path, max_bytes=_MAX_PICTURE_BYTES)
        return await asyncio.to_thread(path.read_bytes), about
