"""The stand-in's Google Slides."""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass, field
from typing import Any

from google_service import ApiError, Call, Media, Service, bad_request, handles, not_found
from google_slides_pages import HEIGHT, LAYOUTS, WIDTH, Element, Slide, Text, layout_document

PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)
SIZES = {"SMALL": 200, "MEDIUM": 800, "LARGE": 1600}
_ID = re.compile(r"[a-zA-Z0-9_][a-zA-Z0-9_:\-]{4,49}")


@dataclass
class Presentation:
    """A presentation."""

    title: str
    revision: str
    slides: list[Slide] = field(default_factory=list)
    layouts: list[str] = field(default_factory=lambda: list(LAYOUTS))
    is_office: bool = False


class Slides(Service):
    """Presentations by id."""

    def start(self) -> None:
        self.presentations: dict[str, Presentation] = {}

    # Arranging

    def add(self, title: str, *slides: dict[str, Any]) -> str:
        """Have a presentation; gives its id.

        Args:
            title: of it.
            slides: dicts with ``title``, ``body``, ``notes`` and further ``elements``.
        """
        presentation_id = self.new_id("presentation-")
        deck = Presentation(title, self.new_id("rev"))
        self.presentations[presentation_id] = deck
        for values in slides:
            slide = self._new_slide(self.new_id("slide"), values.get("layout", "TITLE_AND_BODY"))
            for element in slide.elements:
                kind = element.placeholder["type"] if element.placeholder else ""
                key = "body" if kind in ("BODY", "SUBTITLE") else "title"
                element.text = Text(values.get(key, ""))
            if "notes" in values:
                slide.notes = Element(self.new_id("notes"), placeholder={"type": "BODY"}, text=Text(values["notes"]))
                slide.notes_id = slide.notes.id
            slide.elements += values.get("elements", [])
            slide.is_skipped = values.get("is_skipped", False)
            deck.slides.append(slide)
        return presentation_id

    def slide(self, presentation_id: str, index: int) -> Slide:
        return self.presentations[presentation_id].slides[index]

    def texts(self, presentation_id: str) -> list[list[str]]:
        """The texts of all slides."""
        return [
            [text.value for element in slide.elements for text in element.texts() if text.value]
            for slide in self.presentations[presentation_id].slides
        ]

    def element(self, presentation_id: str, object_id: str) -> Element:
        for slide in self.presentations[presentation_id].slides:
            for element in slide.all_elements():
                if element.id == object_id:
                    return element
        raise bad_request(f"The object ({object_id}) could not be found.")

    def touch(self, presentation_id: str) -> None:
        """Somebody else changes something."""
        self.presentations[presentation_id].revision = self.new_id("rev")

    def _new_slide(self, slide_id: str, layout: str, ids: dict[tuple[str, int], str] | None = None) -> Slide:
        elements = [
            Element(
                (ids or {}).get((kind, index)) or self.new_id("element"),
                properties={
                    "size": {"width": _emu(WIDTH // 2), "height": _emu(HEIGHT // 5)},
                    "transform": {"scaleX": 1, "scaleY": 1, "translateX": 127_000, "unit": "EMU"},
                },
                placeholder={"type": kind, **({"index": index} if index else {})},
            )
            for kind, index in LAYOUTS[layout]
            if kind != "SLIDE_NUMBER"
        ]
        return Slide(slide_id, layout, elements, self.new_id("notes"))

    # Methods

    def _deck(self, call: Call) -> Presentation:
        deck = self.presentations.get(call["presentationId"])
        if deck is None:
            raise not_found("Requested entity")
        if deck.is_office:
            raise ApiError(400, "FAILED_PRECONDITION", "This operation is not supported for this document")
        return deck

    def _document(self, presentation_id: str) -> dict[str, Any]:
        deck = self.presentations[presentation_id]
        return {
            "presentationId": presentation_id,
            "title": deck.title,
            "revisionId": deck.revision,
            "pageSize": {"width": _emu(WIDTH), "height": _emu(HEIGHT)},
            "slides": [slide.document() for slide in deck.slides],
            "layouts": [layout_document(name) for name in deck.layouts],
        }

    @handles("slides.presentations.create")
    def create(self, call: Call) -> dict[str, Any]:
        presentation_id = self.add(call.body.get("title", "Untitled presentation"), {"layout": "TITLE"})
        if "drive" in self.server.services:
            drive: Any = self.server.services["drive"]
            title = self.presentations[presentation_id].title
            drive.add_google_file(title, "presentation", presentation_id, owner=call.user)
        return self._document(presentation_id)

    @handles("slides.presentations.get")
    def get(self, call: Call) -> dict[str, Any]:
        self._deck(call)
        found = self._document(call["presentationId"])
        if call.get("commentsViewMode") == "COMMENTS_VIEW_MODE_INCLUDED":
            drive: Any = self.server.services["drive"]
            found["comments"] = drive.by_editor(call["presentationId"], call.user)
            for slide in found["slides"]:
                slide["commentAnchors"] = [
                    {"anchorId": f"kix.{each.head.id}", "objectAnchors": [{"objectId": each.place["objectId"]}]}
                    for each in drive.threads.get(call["presentationId"], [])
                    if each.place is not None and each.place["slide"] == slide["objectId"]
                ]
        return found

    def _insert_comment(self, call: Call, deck: Presentation, body: dict[str, Any]) -> dict[str, Any]:
        object_id, quote = body["objectId"], ""
        slide = next((slide for slide in deck.slides if slide.id == object_id), None)
        if slide is None:
            element = self._find(deck, object_id)
            slide = next(slide for slide in deck.slides if element in slide.all_elements())
            quote = element.text.value
        drive: Any = self.server.services["drive"]
        place = {"objectId": object_id, "slide": slide.id}
        made = drive.comment(call["presentationId"], body["content"], author=call.user, quote=quote, place=place)
        return {"insertComment": {"commentThread": made.by_editor(call.user)}}

    @handles("slides.presentations.pages.getThumbnail")
    def thumbnail(self, call: Call) -> dict[str, Any]:
        if call["pageObjectId"] not in [slide.id for slide in self._deck(call).slides]:
            raise not_found("Page")
        path = f"lh3.googleusercontent.com/secret-thumbnail-{call['pageObjectId']}"
        self.server.links[path] = Media(PNG, "image/png")
        width = SIZES[call.get("thumbnailProperties.thumbnailSize", "LARGE")]
        return {"contentUrl": f"https://{path}", "width": width, "height": width * 9 // 16}

    @handles("slides.presentations.batchUpdate")
    def batch_update(self, call: Call) -> dict[str, Any]:
        deck = self._deck(call)
        required = call.body.get("writeControl", {}).get("requiredRevisionId", deck.revision)
        if required != deck.revision:
            raise bad_request(f"The required revision ID '{required}' does not match the latest revision.")
        before = copy.deepcopy(deck.slides)
        replies = []
        try:
            for number, request in enumerate(call.body["requests"]):
                ((name, body),) = request.items()
                if name == "insertComment":
                    replies.append(self._insert_comment(call, deck, body))
                    continue
                handler = getattr(self, re.sub("([A-Z])", r"_\1", f"_{name}").lower())
                try:
                    replies.append(handler(deck, body) or {})
                except ApiError as error:
                    raise bad_request(f"Invalid requests[{number}].{name}: {error.message}") from None
        except ApiError:
            deck.slides = before
            raise
        deck.revision = self.new_id("rev")
        return {
            "presentationId": call["presentationId"],
            "replies": replies,
            "writeControl": {"requiredRevisionId": deck.revision},
        }

    # Finding

    @staticmethod
    def _page(deck: Presentation, slide_id: str) -> Slide:
        for slide in deck.slides:
            if slide.id == slide_id:
                return slide
        raise bad_request(f"The object ({slide_id}) could not be found.")

    def _find(self, deck: Presentation, object_id: str) -> Element:
        for slide in deck.slides:
            for element in slide.all_elements():
                if element.id == object_id:
                    return element
            if slide.notes_id == object_id:
                slide.notes = Element(object_id, placeholder={"type": "BODY"})
                return slide.notes
        raise bad_request(f"The object ({object_id}) could not be found.")

    def _text(self, deck: Presentation, body: dict[str, Any]) -> Text:
        element = self._find(deck, body["objectId"])
        if element.kind == "table":
            where = body.get("cellLocation")
            if where is None:
                raise bad_request("The cell location must be set for a table.")
            try:
                return element.cells[where["rowIndex"]][where["columnIndex"]]
            except IndexError:
                raise bad_request("The cell location is out of bounds.") from None
        if element.kind != "shape" or "cellLocation" in body:
            raise bad_request(f"The object ({element.id}) does not allow text editing.")
        return element.text

    def _claim(self, deck: Presentation, object_id: str | None) -> str:
        """An id for something new, which nothing else may have."""
        if object_id is None:
            return self.new_id("made_")
        taken = {slide.id for slide in deck.slides}
        taken |= {element.id for slide in deck.slides for element in slide.all_elements()}
        if not _ID.fullmatch(object_id) or object_id in taken:
            raise bad_request(f"The object ID ({object_id}) should be unique among all pages and page elements.")
        return object_id

    # Requests

    def _create_slide(self, deck: Presentation, body: dict[str, Any]) -> dict[str, Any]:
        reference = body.get("slideLayoutReference", {"predefinedLayout": "BLANK"})
        layout = reference.get("predefinedLayout") or reference["layoutId"].removeprefix("layout-")
        if layout not in deck.layouts:
            raise bad_request(f"The layout ({layout}) is not present in the current master.")
        ids = {}
        for each in body.get("placeholderIdMappings", []):
            key = each["layoutPlaceholder"]["type"], each["layoutPlaceholder"].get("index", 0)
            if key not in LAYOUTS[layout] or key[0] == "SLIDE_NUMBER":
                raise bad_request(f"The layout placeholder {key} could not be found.")
            ids[key] = self._claim(deck, each["objectId"])
        slide = self._new_slide(self._claim(deck, body.get("objectId")), layout, ids)
        index = body.get("insertionIndex", len(deck.slides))
        if index > len(deck.slides):
            raise bad_request("The insertion index is out of bounds.")
        deck.slides.insert(index, slide)
        return {"createSlide": {"objectId": slide.id}}

    def _add_element(self, deck: Presentation, body: dict[str, Any], **values: Any) -> str:
        about = body["elementProperties"]
        object_id = self._claim(deck, body.get("objectId"))
        properties = {key: about[key] for key in ("size", "transform") if key in about}
        self._page(deck, about["pageObjectId"]).elements.append(Element(object_id, properties=properties, **values))
        return object_id

    def _create_shape(self, deck: Presentation, body: dict[str, Any]) -> dict[str, Any]:
        return {"createShape": {"objectId": self._add_element(deck, body, shape_type=body["shapeType"])}}

    def _create_image(self, deck: Presentation, body: dict[str, Any]) -> dict[str, Any]:
        if "private" in body["url"]:
            raise bad_request("There was a problem retrieving the image. It should be publicly accessible.")
        return {"createImage": {"objectId": self._add_element(deck, body, kind="image")}}

    def _create_sheets_chart(self, deck: Presentation, body: dict[str, Any]) -> dict[str, Any]:
        book = self.server.services["sheets"].books.get(body["spreadsheetId"])
        charts = [chart["chartId"] for sheet in book.sheets for chart in sheet.charts] if book else []
        if body["chartId"] not in charts:
            raise bad_request("The chart could not be found.")
        source = {"spreadsheetId": body["spreadsheetId"], "chartId": body["chartId"]}
        return {
            "createSheetsChart": {"objectId": self._add_element(deck, body, kind="chart", about={"source": source})}
        }

    def _create_table(self, deck: Presentation, body: dict[str, Any]) -> dict[str, Any]:
        cells = [[Text() for _ in range(body["columns"])] for _ in range(body["rows"])]
        return {"createTable": {"objectId": self._add_element(deck, body, kind="table", cells=cells)}}

    def _insert_text(self, deck: Presentation, body: dict[str, Any]) -> None:
        self._text(deck, body).insert(body["text"], body.get("insertionIndex", 0))

    def _delete_text(self, deck: Presentation, body: dict[str, Any]) -> None:
        assert body["textRange"] == {"type": "ALL"}
        self._text(deck, body).clear()

    def _create_paragraph_bullets(self, deck: Presentation, body: dict[str, Any]) -> None:
        self._text(deck, body).add_bullets(body["textRange"])

    def _update_text_style(self, deck: Presentation, body: dict[str, Any]) -> None:
        assert body["textRange"] == {"type": "ALL"}
        self._text(deck, body).set_style(body["style"], body["fields"].split(","))

    def _update_paragraph_style(self, deck: Presentation, body: dict[str, Any]) -> None:
        assert (body["textRange"], body["fields"]) == ({"type": "ALL"}, "alignment")
        self._text(deck, body).alignment = body["style"]["alignment"]

    def _update_page_properties(self, deck: Presentation, body: dict[str, Any]) -> None:
        assert body["fields"] == "pageBackgroundFill.solidFill.color"
        self._page(deck, body["objectId"]).background = body["pageProperties"]["pageBackgroundFill"]

    def _update_table_cell_properties(self, deck: Presentation, body: dict[str, Any]) -> None:
        assert body["fields"] == "tableCellBackgroundFill.solidFill.color"
        table = self._find(deck, body["objectId"])
        where = body.get("tableRange", {}).get("location")
        for number, row in enumerate(table.cells):
            for column, cell in enumerate(row):
                if where in (None, {"rowIndex": number, "columnIndex": column}):
                    cell.fill = body["tableCellProperties"]["tableCellBackgroundFill"]

    def _update_page_element_transform(self, deck: Presentation, body: dict[str, Any]) -> None:
        assert body["applyMode"] == "ABSOLUTE"
        self._find(deck, body["objectId"]).properties["transform"] = body["transform"]

    def _replace_all_text(self, deck: Presentation, body: dict[str, Any]) -> dict[str, Any]:
        criteria = body["containsText"]
        text = criteria["text"] if criteria.get("searchByRegex") else re.escape(criteria["text"])
        pattern = re.compile(text, 0 if criteria.get("matchCase") else re.IGNORECASE)
        slides = [self._page(deck, slide_id) for slide_id in body.get("pageObjectIds", [])] or deck.slides
        texts = [text for slide in slides for element in slide.elements for text in element.texts()]
        count = sum(text.replace(pattern, body.get("replaceText", "")) for text in texts)
        return {"replaceAllText": {"occurrencesChanged": count} if count else {}}

    def _update_shape_properties(self, deck: Presentation, body: dict[str, Any]) -> None:
        assert body["fields"] == "shapeBackgroundFill.solidFill.color"
        self._find(deck, body["objectId"]).about["shapeProperties"] = body["shapeProperties"]

    def _update_page_element_alt_text(self, deck: Presentation, body: dict[str, Any]) -> None:
        about = {key: body[key] for key in ("title", "description") if key in body}
        self._find(deck, body["objectId"]).about |= about

    def _delete_object(self, deck: Presentation, body: dict[str, Any]) -> None:
        if body["objectId"] in [slide.id for slide in deck.slides]:
            deck.slides.remove(self._page(deck, body["objectId"]))
            return
        element = self._find(deck, body["objectId"])
        for slide in deck.slides:
            for holder in (slide.elements, *(each.children for each in slide.all_elements())):
                holder[:] = [each for each in holder if each is not element]

    def _duplicate_object(self, deck: Presentation, body: dict[str, Any]) -> dict[str, Any]:
        new_id = self._claim(deck, body.get("objectIds", {}).get(body["objectId"]))
        if body["objectId"] in [slide.id for slide in deck.slides]:
            original = self._page(deck, body["objectId"])
            made = copy.deepcopy(original)
            made.id, made.notes_id, made.notes = new_id, self.new_id("notes"), None
            for element in made.all_elements():
                element.id = self.new_id("element")
            deck.slides.insert(deck.slides.index(original) + 1, made)
        else:
            element = self._find(deck, body["objectId"])
            slide = next(slide for slide in deck.slides if element in slide.all_elements())
            slide.elements.append(copy.deepcopy(element))
            slide.elements[-1].id = new_id
        return {"duplicateObject": {"objectId": new_id}}

    def _update_slides_position(self, deck: Presentation, body: dict[str, Any]) -> None:
        ids, order = body["slideObjectIds"], [slide.id for slide in deck.slides]
        if [slide_id for slide_id in order if slide_id in ids] != ids:
            raise bad_request("The slides should be in existing presentation order without duplicates.")
        if not 0 <= body["insertionIndex"] <= len(order):
            raise bad_request("The insertion index is out of bounds.")
        marker: Any = object()
        slides: list[Any] = list(deck.slides)
        slides.insert(body["insertionIndex"], marker)
        moved = [slide for slide in deck.slides if slide.id in ids]
        slides = [slide for slide in slides if slide not in moved]
        place = slides.index(marker)
        slides[place : place + 1] = moved
        deck.slides = slides

    def _update_slide_properties(self, deck: Presentation, body: dict[str, Any]) -> None:
        assert body["fields"] == "isSkipped"
        self._page(deck, body["objectId"]).is_skipped = body["slideProperties"].get("isSkipped", False)


def _emu(magnitude: int) -> dict[str, Any]:
    return {"magnitude": magnitude, "unit": "EMU"}


SERVICE = Slides
