"""Making presentations, and adding, deleting, duplicating, moving and hiding slides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, counted, file_id, google_tool, listing, passage, table_said
from oneclaw_google_workspace.client import connect
from oneclaw_google_workspace.editors import find_folder, in_folder, insertable, move_into
from oneclaw_google_workspace.failures import GoogleError, invalid
from oneclaw_google_workspace.slides.deck import (
    OUTLINE_FIELDS,
    TITLE_TYPES,
    deck_link,
    edit,
    elements_of,
    new_id,
    open_deck,
    page_size,
    title_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient
    from oneclaw_google_workspace.slides.deck import Deck

LAYOUT_FIELDS = "layouts(objectId,layoutProperties(name,displayName),pageElements/shape/placeholder(type,index))"
BULLETS = "BULLET_DISC_CIRCLE_SQUARE"
# Other placeholders, such as slide numbers, are not put onto new slides.
_TEXT_TYPES = (*TITLE_TYPES, "SUBTITLE", "BODY")
_MADE_FIELDS = (
    "presentationId,title,revisionId,pageSize,slides(objectId,pageElements(objectId,shape/placeholder(type,index))),"
    f"{LAYOUT_FIELDS}"
)
_IN_BOXES = "The theme has no such layout: texts are in text boxes."


@dataclass(frozen=True, slots=True)
class Wish:
    """The wanted properties of a slide.

    Attributes:
        layout: one of Google's predefined ones.
        layout_id: one of the presentation's own instead.
        title: its title.
        body: its text, one paragraph a line.
        bullets: whether the text is a list.
        notes: for the speaker.
    """

    layout: str = "TITLE_AND_BODY"
    layout_id: str | None = None
    title: str = ""
    body: str = ""
    bullets: bool = False
    notes: str = ""

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Wish:
        """Read what a model gave."""
        return cls(
            values.get("layout") or "TITLE_AND_BODY",
            values.get("layout_id"),
            insertable(values.get("title") or ""),
            insertable(values.get("body") or ""),
            bool(values.get("bullets")),
            insertable(values.get("notes") or ""),
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """The properties of a new slide.

    Attributes:
        slide_id: an id of our own.
        requests: that make it and fill it.
        placeholders: ids and types of what can be filled.
        lacks_layout: whether the theme has no layout of that name, so that texts are in boxes.
    """

    slide_id: str
    requests: list[dict[str, Any]]
    placeholders: list[dict[str, str]]
    lacks_layout: bool


def plan_slide(wish: Wish, deck: Mapping[str, Any], index: int | None = None) -> Plan:
    """Plan a slide.

    Args:
        wish: what it is to be like.
        deck: Google's presentation with ``pageSize`` and :data:`LAYOUT_FIELDS`.
        index: from 0; the end by default.

    Raises:
        GoogleError: the presentation has no layout of that id.
    """
    slide_id = new_id()
    layout = _find_layout(wish, deck.get("layouts", []))
    placeholders = [(new_id(), each) for each in _placeholders(layout)]
    mappings = [
        {"layoutPlaceholder": {"type": each["type"], "index": int(each.get("index", 0))}, "objectId": object_id}
        for object_id, each in placeholders
    ]
    create: dict[str, Any] = {"objectId": slide_id, "insertionIndex": index}
    if layout:
        create |= {"slideLayoutReference": {"layoutId": layout["objectId"]}}
        create |= compact({"placeholderIdMappings": mappings})
    requests: list[dict[str, Any]] = [
        {"createSlide": {key: value for key, value in create.items() if value is not None}}
    ]
    title_id = _first(placeholders, TITLE_TYPES)
    body_id = _first(placeholders, ("BODY",)) or _first(placeholders, ("SUBTITLE",))
    if wish.title:
        title_id, boxes = text_place(title_id, slide_id, deck, 0.08, 0.16)
        requests += [*boxes, *fill(title_id, wish.title)]
    if wish.body:
        body_id, boxes = text_place(body_id, slide_id, deck, 0.28, 0.62)
        requests += [*boxes, *fill(body_id, wish.body, bullets=wish.bullets)]
    return Plan(
        slide_id,
        requests,
        [{"object_id": object_id, "type": str(each["type"])} for object_id, each in placeholders],
        not layout,
    )


def fill(
    object_id: str, text: str, *, bullets: bool = False, cell: Mapping[str, int] | None = None
) -> list[dict[str, Any]]:
    """Write text into something empty.

    Args:
        object_id: of a shape or a table.
        text: not empty.
        bullets: whether it is to be a list; leading tabs nest.
        cell: of a table: ``rowIndex`` and ``columnIndex``.
    """
    place = {"objectId": object_id, **compact({"cellLocation": cell})}
    found: list[dict[str, Any]] = [{"insertText": {**place, "text": text, "insertionIndex": 0}}]
    if bullets:
        found.append({"createParagraphBullets": {**place, "textRange": {"type": "ALL"}, "bulletPreset": BULLETS}})
    return found


def place_on(slide_id: str, x: float, y: float, width: float, height: float) -> dict[str, Any]:
    """Write where an element goes and how large it is, in points."""
    return {
        "pageObjectId": slide_id,
        "size": {
            "width": {"magnitude": round(width, 2), "unit": "PT"},
            "height": {"magnitude": round(height, 2), "unit": "PT"},
        },
        "transform": {"scaleX": 1, "scaleY": 1, "translateX": round(x, 2), "translateY": round(y, 2), "unit": "PT"},
    }


def _find_layout(wish: Wish, layouts: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    if wish.layout_id is not None:
        for layout in layouts:
            if layout["objectId"] == wish.layout_id:
                return layout
        raise GoogleError("not_found", "There is no layout of that layout_id: see slides_read with include_layouts.")
    for layout in layouts:
        if layout.get("layoutProperties", {}).get("name") == wish.layout:
            return layout
    return {}


def _placeholders(layout: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = [each.get("shape", {}).get("placeholder", {}) for each in layout.get("pageElements", [])]
    return [each for each in found if each.get("type") in _TEXT_TYPES]


def _first(placeholders: Sequence[tuple[str, Mapping[str, Any]]], types: Sequence[str]) -> str | None:
    return next((object_id for object_id, each in placeholders if each["type"] in types), None)


def text_place(
    object_id: str | None, slide_id: str, deck: Mapping[str, Any], top: float, share: float
) -> tuple[str, list[dict[str, Any]]]:
    """The placeholder for a text, or else a separate box with the request that makes it.

    Args:
        object_id: the placeholder, if the layout has one.
        slide_id: the slide.
        deck: for its size.
        top: where the box begins, as a part of the slide's height.
        share: how high it is, the same.
    """
    if object_id is not None:
        return object_id, []
    width, height = page_size(deck)
    box_id = new_id()
    where = place_on(slide_id, width * 0.05, height * top, width * 0.9, height * share)
    shape = {"objectId": box_id, "shapeType": "TEXT_BOX", "elementProperties": where}
    return box_id, [{"createShape": shape}]


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


@google_tool
async def slides_create(
    title: str,
    subtitle: str | None = None,
    slides: list[dict[str, Any]] | None = None,
    folder_id: str | None = None,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Create a presentation."""
    google = connect(context)
    if not title.strip():
        raise invalid("A presentation needs a title.")
    wishes = [Wish.of(each) for each in slides or ()]
    folder = await find_folder(google, folder_id) if folder_id is not None else None
    more = f" with {counted(len(wishes) + 1, 'slide')}" if wishes else ""
    more += f", subtitle {passage(subtitle)}" if subtitle else ""
    texts = [[each for each in (wish.title, wish.body, wish.notes) if each] for wish in wishes]
    said = table_said(filter(None, texts))
    await google.ask(f"create the presentation {passage(title)}{in_folder(folder)}{more}{said}")
    made = await google.call(
        "slides.presentations.create",
        body={"title": title},
        fields=_MADE_FIELDS,
        unclear_hint="Look for it by its title with drive_search_files",
    )
    presentation_id = str(made["presentationId"])
    plans = [plan_slide(wish, made) for wish in wishes]
    requests = _first_slide(made, insertable(title), insertable(subtitle or ""))
    requests += [each for plan in plans for each in plan.requests]
    try:
        if requests:
            own_id = plans[0].slide_id if plans else None
            await edit(google, presentation_id, requests, revision_id=made.get("revisionId"), own_id=own_id)
    except GoogleError as error:
        raise GoogleError(
            error.error_type,
            f"The presentation {presentation_id} was created, but its slides could not be filled. {error}",
        ) from None
    failed = await _write_notes(google, presentation_id, plans, wishes)
    if folder is not None:
        try:
            await move_into(google, presentation_id, folder)
        except GoogleError as error:
            failed.append({"what": "moving it into the folder", "reason": str(error)})
    first = [str(slide["objectId"]) for slide in made.get("slides", [])]
    titles = [title] * len(first) + [wish.title for wish in wishes]
    ids = [*first, *(plan.slide_id for plan in plans)]
    rows = [
        compact({"slide_id": slide_id, "index": index, "title": " ".join(each.split())})
        for index, (slide_id, each) in enumerate(zip(ids, titles, strict=True))
    ]
    answer = {
        "presentation_id": presentation_id,
        "title": made.get("title", title),
        "link": deck_link(presentation_id),
        "slides": rows,
        "folder_id": folder.id if folder and not any("folder" in each["what"] for each in failed) else None,
        "failed": failed,
        "note": _IN_BOXES if any(plan.lacks_layout for plan in plans) else None,
    }
    return compact(answer)


@google_tool
async def slides_add_slide(
    presentation_id: str,
    layout: str = "TITLE_AND_BODY",
    title: str | None = None,
    body: str | None = None,
    bullets: bool = False,
    notes: str | None = None,
    layout_id: str | None = None,
    index: int | None = None,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Add a slide."""
    google = connect(context)
    wanted = file_id(presentation_id, "presentation_id")
    values = {"layout": layout, "layout_id": layout_id, "title": title, "body": body}
    wish = Wish.of({**values, "bullets": bullets, "notes": notes})
    deck = await open_deck(google, wanted, f"pageSize,slides/objectId,{LAYOUT_FIELDS}")
    count = len(deck.slides)
    if index is not None and index > count:
        raise invalid(f"index must be at most {count}, the number of slides.")
    plan = plan_slide(wish, deck.raw, index)
    named = f" {passage(wish.title)}" if wish.title else ""
    texts = {"body": wish.body, "notes": wish.notes}
    said = "".join(f", {name} {passage(text)}" for name, text in texts.items() if text)
    await google.ask(f"add a slide{named} to {deck.named}{said}")
    await edit(google, wanted, plan.requests, own_id=plan.slide_id)
    failed = await _write_notes(google, wanted, [plan], [wish])
    return {
        "slide_id": plan.slide_id,
        "index": count if index is None else index,
        "placeholders": plan.placeholders,
        "notes_set": bool(wish.notes) and not failed,
        "link": deck_link(wanted, plan.slide_id),
        **compact({"failed": failed, "note": _IN_BOXES if plan.lacks_layout and (title or body) else None}),
    }


def _first_slide(made: Mapping[str, Any], title: str, subtitle: str) -> list[dict[str, Any]]:
    """Fill the title slide that every new presentation has."""
    slide = next(iter(made.get("slides", [])), None)
    if slide is None:
        return []
    requests: list[dict[str, Any]] = []
    for text, types, top in ((title, TITLE_TYPES, 0.2), (subtitle, ("SUBTITLE",), 0.6)):
        if text:
            found = next((each.id for each in elements_of(slide) if each.placeholder in types), None)
            object_id, boxes = text_place(found, str(slide["objectId"]), made, top, 0.3)
            requests += [*boxes, *fill(object_id, text)]
    return requests


async def _write_notes(
    google: GoogleClient, presentation_id: str, plans: Sequence[Plan], wishes: Sequence[Wish]
) -> list[dict[str, Any]]:
    """Write the notes of new slides; say what failed, as the slides are there all the same."""
    notes = {plan.slide_id: wish.notes for plan, wish in zip(plans, wishes, strict=True) if wish.notes}
    if not notes:
        return []
    try:
        await write_notes(google, presentation_id, notes)
    except GoogleError as error:
        return [{"what": "speaker notes", "reason": str(error)}]
    return []


@google_tool
async def slides_manage_slides(
    presentation_id: str,
    action: str,
    object_ids: list[str],
    to_index: int | None = None,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Delete, duplicate, move, hide or show slides."""
    google = connect(context)
    wanted = file_id(presentation_id, "presentation_id")
    if (action == "move") != (to_index is not None):
        raise invalid("to_index goes with action move, and that needs it.")
    deck = await open_deck(google, wanted, OUTLINE_FIELDS)
    named = _names(deck)
    ids = [object_id for object_id in dict.fromkeys(object_ids) if _is_known(object_id, named, deck, action)]
    if to_index is not None and to_index > len(deck.slides):
        raise invalid(f"to_index must be at most {len(deck.slides)}, the number of slides.")
    order = deck.slide_ids
    new_ids: dict[str, str] = {}
    requests: list[dict[str, Any]]
    if action == "delete":
        ids = _without_parts(ids, deck)
        requests = [{"deleteObject": {"objectId": object_id}} for object_id in ids]
        after = [slide_id for slide_id in order if slide_id not in ids]
    elif action == "duplicate":
        new_ids = {object_id: new_id() for object_id in ids}
        requests = [{"duplicateObject": {"objectId": old, "objectIds": {old: new}}} for old, new in new_ids.items()]
        after = [each for slide_id in order for each in (slide_id, new_ids.get(slide_id)) if each]
    elif action == "move":
        ids = [slide_id for slide_id in order if slide_id in ids]
        requests = [{"updateSlidesPosition": {"slideObjectIds": ids, "insertionIndex": to_index}}]
        after = moved(order, ids, to_index or 0)
    else:
        hidden: dict[str, Any] = {"slideProperties": {"isSkipped": action == "skip"}, "fields": "isSkipped"}
        requests = [{"updateSlideProperties": {"objectId": object_id, **hidden}} for object_id in ids]
        after = order
    await google.ask(_described(action, ids, named, deck, to_index))
    done = await edit(google, wanted, requests, revision_id=deck.revision_id)
    return {
        "action": action,
        "object_ids": ids,
        **compact({"new_ids": new_ids}),
        "order": after,
        "revision_id": done.revision_id,
    }


def moved(order: Sequence[str], ids: Sequence[str], to_index: int) -> list[str]:
    """The order of slides after some were moved.

    Args:
        order: of all before.
        ids: those that are moved, in that order.
        to_index: where to, counted before the move.
    """
    before = [slide_id for slide_id in order[:to_index] if slide_id not in ids]
    return [*before, *ids, *(slide_id for slide_id in order[to_index:] if slide_id not in ids)]


def _names(deck: Deck) -> dict[str, str]:
    """Return the names of all slides and elements in a question, by id."""
    found: dict[str, str] = {}
    for number, slide in enumerate(deck.slides, 1):
        title = title_of(slide)
        found[str(slide["objectId"])] = f"slide {number}: {title}" if title else f"slide {number}"
        for element in elements_of(slide):
            text = " ".join(element.text.split())[:40]
            found[element.id] = f"{element.kind} on slide {number}" + (f": {text}" if text else "")
    return found


def _is_known(object_id: str, named: dict[str, str], deck: Deck, action: str) -> bool:
    """Go on with an id.

    Raises:
        GoogleError: there is nothing of that id, or no slide for an action that is for slides.
    """
    if object_id not in named:
        raise GoogleError("not_found", f"The presentation has nothing of the id {object_id[:60]!r}: see slides_read.")
    if action not in ("delete", "duplicate") and object_id not in deck.slide_ids:
        raise invalid(f"{object_id} is not a slide; only slides can be moved, hidden and shown.")
    return True


def _without_parts(ids: Sequence[str], deck: Deck) -> list[str]:
    """Leave out what goes with a slide or a group that is deleted anyway."""
    gone = set(ids)
    parts: set[str] = set()
    for slide in deck.slides:
        for element in elements_of(slide):  # each group before what is in it
            if slide["objectId"] in gone or element.group_id in gone | parts:
                parts.add(element.id)
    return [object_id for object_id in ids if object_id not in parts]


def _described(action: str, ids: Sequence[str], named: dict[str, str], deck: Deck, to_index: int | None) -> str:
    """Say what is about to be done, for the question to the user."""
    slides = [object_id for object_id in ids if object_id in deck.slide_ids]
    verb = {"skip": "hide", "unskip": "show"}.get(action, action)
    how = " permanently" if action == "delete" else ""
    if to_index is not None:
        how = f" before slide {to_index + 1}" if to_index < len(deck.slides) else " to the end"
    warning = "; these are all of its slides" if action == "delete" and set(slides) == set(deck.slide_ids) else ""
    count = counted(len(ids), "slide" if len(slides) == len(ids) else "object")
    return f"{verb} {count} of {deck.named}{how}: {listing(named[object_id] for object_id in ids)}{warning}"
