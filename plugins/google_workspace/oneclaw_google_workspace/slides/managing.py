"""Deleting, duplicating, moving and hiding slides: ``slides_manage_slides``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, google_tool
from oneclaw_google_workspace.connecting import connect
from oneclaw_google_workspace.links import file_id
from oneclaw_google_workspace.problems import GoogleError, invalid
from oneclaw_google_workspace.slides.decks import edit, new_id, open_deck
from oneclaw_google_workspace.slides.elements import elements_of, title_of
from oneclaw_google_workspace.slides.text import TEXT_FIELDS
from oneclaw_google_workspace.wording import counted, listing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.slides.decks import Deck

_FIELDS = f"slides(objectId,pageElements(objectId,shape(shapeType,placeholder/type,{TEXT_FIELDS}),elementGroup))"


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
    deck = await open_deck(google, wanted, _FIELDS)
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
        raise invalid(f"{object_id} is no slide; only slides can be moved, hidden and shown.")
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
