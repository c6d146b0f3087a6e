"""Making presentations and slides: ``slides_create`` and ``slides_add_slide``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, google_tool
from oneclaw_google_workspace.connecting import connect
from oneclaw_google_workspace.editors import insertable
from oneclaw_google_workspace.folders import find_folder, in_folder, move_into
from oneclaw_google_workspace.links import file_id
from oneclaw_google_workspace.problems import GoogleError, invalid
from oneclaw_google_workspace.slides.decks import deck_link, edit, open_deck
from oneclaw_google_workspace.slides.elements import TITLE_TYPES, elements_of
from oneclaw_google_workspace.slides.new_slides import (
    LAYOUT_FIELDS,
    Plan,
    Wish,
    fill,
    plan_slide,
    text_place,
    write_notes,
)
from oneclaw_google_workspace.wording import counted, passage, table_said

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient

_MADE_FIELDS = (
    "presentationId,title,revisionId,pageSize,slides(objectId,pageElements(objectId,shape/placeholder(type,index))),"
    f"{LAYOUT_FIELDS}"
)
_IN_BOXES = "The theme has no such layout: texts are in text boxes."


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
