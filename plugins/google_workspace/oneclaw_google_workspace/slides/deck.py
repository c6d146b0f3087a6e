"""Presentations: their elements with texts and places, reading them, and sending edits."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from oneclaw_core import Attachment, ToolResult
from oneclaw_google_workspace.answers import (
    beginning_within,
    compact,
    file_id,
    from_outside,
    google_tool,
    json_length,
    listing,
    room_beside,
)
from oneclaw_google_workspace.client import connect
from oneclaw_google_workspace.editors import (
    INCLUDED,
    THREAD_FIELDS,
    comment_rows,
    is_office_file,
    is_unknown_to_the_editor,
    send_edits,
    threads_by_drive,
)
from oneclaw_google_workspace.failures import GoogleError, invalid
from oneclaw_google_workspace.methods import api_request

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient

TEXT_FIELDS = "text/textElements(endIndex,paragraphMarker/bullet(nestingLevel,glyph),textRun/content,autoText/content)"
OUTLINE_FIELDS = f"slides(objectId,pageElements(objectId,shape(shapeType,placeholder/type,{TEXT_FIELDS}),elementGroup))"
_NUMBERED = re.compile(r"\w+[.)]")
_LOOK = "slides_read"
MAX_CHARACTERS = 100_000
_HEAD = ("slide_id", "index", "layout", "title")
_TOO_MANY = "Slides without text are too many for one answer: read them by slide_ids."
_TOO_LONG = "The first slide is too long for one answer: drive_download_file gives all texts in parts."
_MAX_PICTURE_BYTES = 20_000_000
_NOTES_FIELDS = (
    f"notesPage(notesProperties/speakerNotesObjectId,pageElements(objectId,shape(placeholder/type,{TEXT_FIELDS})))"
)


def shown_text(text: Mapping[str, Any]) -> str:
    """Write a text with its bullets.

    Args:
        text: Google's ``TextContent``.
    """
    lines = [""]
    mark = ""
    for element in text.get("textElements", []):
        if "paragraphMarker" in element:
            mark = _mark(element["paragraphMarker"].get("bullet"))
        for kind in ("textRun", "autoText"):
            for number, piece in enumerate(str(element.get(kind, {}).get("content", "")).split("\n")):
                if number:
                    lines.append("")
                    mark = ""
                if piece:
                    lines[-1] += f"{mark}{piece}"
                    mark = ""
    return "\n".join(lines).replace("\v", "\n").rstrip("\n")


def text_end(text: Mapping[str, Any]) -> int:
    """The index at the end of a text, before its last newline, in UTF-16 code units; 0 if there is none."""
    return max([int(element.get("endIndex", 0)) for element in text.get("textElements", [])], default=1) - 1


def _mark(bullet: Mapping[str, Any] | None) -> str:
    if bullet is None:
        return ""
    glyph = str(bullet.get("glyph", ""))
    return f"{'  ' * int(bullet.get('nestingLevel', 0))}{glyph if _NUMBERED.fullmatch(glyph) else '-'} "


EMU_PER_POINT = 12_700
_DEFAULT_SIZE = (720.0, 405.0)
TITLE_TYPES = ("TITLE", "CENTERED_TITLE")
# Groups hold others and are asked for whole; of images only whether they are some is of interest.
ELEMENT_FIELDS = (
    f"objectId,title,description,shape(shapeType,placeholder(type,index),{TEXT_FIELDS}),"
    f"table(rows,columns,tableRows/tableCells(location,{TEXT_FIELDS})),elementGroup,image/contentUrl,video/url,"
    "line/lineType,wordArt/renderedText,sheetsChart(spreadsheetId,chartId)"
)
_KINDS = {
    "table": "table",
    "elementGroup": "group",
    "image": "image",
    "video": "video",
    "line": "line",
    "wordArt": "word_art",
    "sheetsChart": "chart",
}


@dataclass(frozen=True, slots=True)
class Transform:
    """The position of a point of the element on the page, in EMU."""

    scale_x: float = 1
    shear_x: float = 0
    translate_x: float = 0
    shear_y: float = 0
    scale_y: float = 1
    translate_y: float = 0

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> Transform:
        """Read Google's ``AffineTransform``, which leaves zeros out; an empty one changes nothing."""
        if not raw:
            return cls()
        unit = EMU_PER_POINT if raw.get("unit") == "PT" else 1
        return cls(
            float(raw.get("scaleX", 0)),
            float(raw.get("shearX", 0)),
            float(raw.get("translateX", 0)) * unit,
            float(raw.get("shearY", 0)),
            float(raw.get("scaleY", 0)),
            float(raw.get("translateY", 0)) * unit,
        )

    def within(self, outer: Transform) -> Transform:
        """This one as it is within a group."""
        x, y = outer.point(self.translate_x, self.translate_y)
        return Transform(
            outer.scale_x * self.scale_x + outer.shear_x * self.shear_y,
            outer.scale_x * self.shear_x + outer.shear_x * self.scale_y,
            x,
            outer.shear_y * self.scale_x + outer.scale_y * self.shear_y,
            outer.shear_y * self.shear_x + outer.scale_y * self.scale_y,
            y,
        )

    def point(self, x: float, y: float) -> tuple[float, float]:
        """Return the position of a point of the element."""
        return (
            self.scale_x * x + self.shear_x * y + self.translate_x,
            self.shear_y * x + self.scale_y * y + self.translate_y,
        )


@dataclass(frozen=True, slots=True)
class Element:
    """An element of a page.

    Attributes:
        raw: as Google answers it.
        transform: with those of the groups that it is in.
        group_id: of the group that it is in; empty for none.
    """

    raw: Mapping[str, Any]
    transform: Transform
    group_id: str = ""

    @property
    def id(self) -> str:
        """Its object id."""
        return str(self.raw.get("objectId", ""))

    @property
    def kind(self) -> str:
        """The kind of element, such as ``text_box``, ``table`` or the form of a shape."""
        if "shape" in self.raw:
            form = str(self.raw["shape"].get("shapeType", "shape")).lower()
            return "text_box" if form == "text_box" else f"shape {form}"
        return next((kind for name, kind in _KINDS.items() if name in self.raw), "other")

    @property
    def placeholder(self) -> str:
        """The placeholder of the layout; empty for none."""
        return str(self.raw.get("shape", {}).get("placeholder", {}).get("type", ""))

    @property
    def cells(self) -> list[list[str]]:
        """The texts of a table by row."""
        return [
            [shown_text(cell.get("text", {})) for cell in row.get("tableCells", [])]
            for row in self.raw.get("table", {}).get("tableRows", [])
        ]

    @property
    def alt_text(self) -> str:
        """The alternative text of the element."""
        return " ".join(f"{self.raw.get('title', '')} {self.raw.get('description', '')}".split())

    @property
    def text(self) -> str:
        """The text of the slide."""
        if "table" in self.raw:
            return "\n".join(" | ".join(cell.replace("\n", " ") for cell in row) for row in self.cells)
        if "wordArt" in self.raw:
            return str(self.raw["wordArt"].get("renderedText", ""))
        return shown_text(self.raw.get("shape", {}).get("text", {}))

    @property
    def line(self) -> str:
        """The text of a slide element; for an image, its description."""
        if self.kind in ("image", "chart", "video") and self.alt_text:
            return f"[{self.kind}: {self.alt_text}]"
        return self.text

    def row(self) -> dict[str, Any]:
        """Make its row, with place and size in points."""
        box = _box(self.raw.get("size", {}), self.transform) if "size" in self.raw else {}
        table = self.raw.get("table", {})
        return {
            **compact({"id": self.id, "kind": self.kind, "placeholder": self.placeholder, "text": self.text}),
            **compact({"alt_text": self.alt_text, "group_id": self.group_id}),
            **compact({"rows": table.get("rows"), "columns": table.get("columns")}),
            **box,
        }


def elements_of(page: Mapping[str, Any]) -> list[Element]:
    """List the elements of a page, each group before what is in it."""
    return list(_walk(page.get("pageElements", []), Transform(), ""))


def title_of(page: Mapping[str, Any]) -> str:
    """The title of a slide; empty if it has none."""
    found = [element.text for element in elements_of(page) if element.placeholder in TITLE_TYPES]
    return next((" ".join(text.split()) for text in found if text), "")


def points(dimension: Mapping[str, Any]) -> float:
    """A length in points."""
    magnitude = float(dimension.get("magnitude", 0))
    return magnitude if dimension.get("unit") == "PT" else magnitude / EMU_PER_POINT


def page_size(deck: Mapping[str, Any]) -> tuple[float, float]:
    """Width and height of the slides in points."""
    size = deck.get("pageSize", {})
    found = points(size.get("width", {})), points(size.get("height", {}))
    return found if all(found) else _DEFAULT_SIZE


def _walk(raw_elements: Iterable[Mapping[str, Any]], outer: Transform, group_id: str) -> Iterator[Element]:
    for raw in raw_elements:
        transform = Transform.of(raw.get("transform", {})).within(outer)
        yield Element(raw, transform, group_id)
        children = raw.get("elementGroup", {}).get("children", [])
        yield from _walk(children, transform, str(raw.get("objectId", "")))


def _box(size: Mapping[str, Any], transform: Transform) -> dict[str, float]:
    """The rectangle that an element takes up, turned or not."""
    width, height = (points(size.get(side, {})) * EMU_PER_POINT for side in ("width", "height"))
    corners = [transform.point(x, y) for x in (0, width) for y in (0, height)]
    across, down = [x for x, _ in corners], [y for _, y in corners]
    found = {"x": min(across), "y": min(down), "w": max(across) - min(across), "h": max(down) - min(down)}
    return {name: round(value / EMU_PER_POINT, 1) for name, value in found.items()}


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
                "This is not a Google Slides presentation but another file, such as one of PowerPoint: "
                "use drive_download_file."
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


@google_tool
async def slides_read(
    presentation_id: str,
    slide_ids: list[str] | None = None,
    include_notes: bool = True,
    include_elements: bool = False,
    include_layouts: bool = False,
    include_comments: bool = False,
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
    if include_comments:
        room = room_beside(from_outside(answer, "slides"), context)
        # The slides have as much room as the comments.
        answer |= await _comments(google, deck, None if room is None else room // 2)
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


async def _comments(google: GoogleClient, deck: Deck, room: int | None) -> dict[str, Any]:
    try:
        found = await google.call(
            "slides.presentations.get",
            presentationId=deck.id,
            commentsViewMode=INCLUDED,
            fields=f"{THREAD_FIELDS},slides(objectId,commentAnchors(anchorId,objectAnchors/objectId))",
        )
    except GoogleError as error:
        if not is_unknown_to_the_editor(error):
            raise
        found = {"comments": await threads_by_drive(google, deck.id)}
    places = {}
    for index, slide in enumerate(found.get("slides", [])):
        for anchor in slide.get("commentAnchors", []):
            objects = [each.get("objectId") for each in anchor.get("objectAnchors", [])]
            places[str(anchor.get("anchorId", ""))] = compact({"slide_index": index, "object_ids": objects})
    return comment_rows(found.get("comments", []), room, places)


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
