"""Commenting on documents, spreadsheets and presentations: ``docs_comment``, ``sheets_comment``, ``slides_comment``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, from_outside, google_tool
from oneclaw_google_workspace.comments import Remark, add_by_drive, answer_by_drive, is_unknown_to_the_editor
from oneclaw_google_workspace.connecting import connect
from oneclaw_google_workspace.docs.document import match, open_document, update
from oneclaw_google_workspace.links import file_id
from oneclaw_google_workspace.problems import GoogleError, invalid
from oneclaw_google_workspace.sheets.book import read_book
from oneclaw_google_workspace.slides.decks import edit, open_deck
from oneclaw_google_workspace.slides.elements import TEXT_FIELDS, elements_of, title_of
from oneclaw_google_workspace.wording import listing, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.slides.decks import Deck

_UNPLACED = "Google does not place comments for this sign-in, so it stands beside the document, with what it quotes."
_DECK_FIELDS = f"slides(objectId,pageElements(objectId,shape(shapeType,placeholder/type,{TEXT_FIELDS}),elementGroup))"


@google_tool
async def docs_comment(
    document_id: str,
    action: str,
    text: str | None = None,
    comment_id: str | None = None,
    reply_id: str | None = None,
    anchor_text: str | None = None,
    occurrence: int = 1,
    tab_id: str | None = None,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Comment on a document, or answer a comment."""
    google = connect(context)
    wanted = file_id(document_id, "document_id")
    remark = Remark(action, text, comment_id, reply_id, "docs_read and include_comments")
    _check_place(remark, anchor_text=anchor_text, tab_id=tab_id)
    if action != "add":
        return await answer_by_drive(google, wanted, remark, "document")
    document = await open_document(google, wanted, with_text=anchor_text is not None)
    if anchor_text is None:
        return _added(await add_by_drive(google, wanted, remark, document.named))
    span = match(document.tab(tab_id), anchor_text, occurrence)
    await google.ask(f"comment on {quoted(anchor_text, 60)} in {document.named}: {remark.said}")
    where = compact({"startIndex": span.start, "endIndex": span.end, "tabId": tab_id})
    request = {"insertComment": {"content": remark.text, "range": where}}
    try:
        done = await update(google, wanted, [request], revision_id=document.revision_id)
    except GoogleError as error:
        # Writing comments by this API is open to some projects only; by Drive's it is to all, without a place.
        if not is_unknown_to_the_editor(error):
            raise
        made = await add_by_drive(google, wanted, remark, "", quote=anchor_text)
        return {**_added(made), "quote": anchor_text, "note": _UNPLACED}
    return from_outside({**_added(_made_id(done.replies)), "quote": anchor_text}, "comments")


@google_tool
async def sheets_comment(
    spreadsheet_id: str,
    action: str,
    text: str | None = None,
    comment_id: str | None = None,
    reply_id: str | None = None,
    cell: str | None = None,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Comment on a cell or a spreadsheet, or answer a comment."""
    google = connect(context)
    wanted = file_id(spreadsheet_id, "spreadsheet_id")
    remark = Remark(action, text, comment_id, reply_id, "sheets_get_info and include comments")
    _check_place(remark, cell=cell)
    if action != "add":
        return await answer_by_drive(google, wanted, remark, "spreadsheet")
    book = await read_book(google, wanted)
    named = f"the spreadsheet {listing([book.title])}"
    if cell is None:
        return _added(await add_by_drive(google, book.id, remark, named))
    place = book.place(cell)
    area = place.inside
    if not area.is_cell:
        raise invalid(f"A comment is on one cell, such as Sheet1!B2, not on {place.text}.")
    await google.ask(f"comment on {place.text} in {named}: {remark.said}")
    where = {"sheetId": place.tab.sheet_id, "rowIndex": area.start_row, "columnIndex": area.start_column}
    answer = await google.call(
        "sheets.spreadsheets.batchUpdate",
        spreadsheetId=book.id,
        body={"requests": [{"insertComment": {"content": remark.text, "coordinate": where}}]},
        fields="replies",
        unclear_hint=remark.unclear_hint,
    )
    return {**_added(_made_id(answer.get("replies", []))), "cell": place.text}


@google_tool
async def slides_comment(
    presentation_id: str,
    action: str,
    text: str | None = None,
    comment_id: str | None = None,
    reply_id: str | None = None,
    object_id: str | None = None,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Comment on a slide, an element or a presentation, or answer a comment."""
    google = connect(context)
    wanted = file_id(presentation_id, "presentation_id")
    remark = Remark(action, text, comment_id, reply_id, "slides_read and include_comments")
    _check_place(remark, object_id=object_id)
    if action != "add":
        return await answer_by_drive(google, wanted, remark, "presentation")
    deck = await open_deck(google, wanted, _DECK_FIELDS)
    if object_id is None:
        return _added(await add_by_drive(google, wanted, remark, deck.named))
    await google.ask(f"comment on {_place_on_slides(deck, object_id)} of {deck.named}: {remark.said}")
    request = {"insertComment": {"content": remark.text, "objectId": object_id}}
    done = await edit(google, wanted, [request])
    return {**_added(_made_id(done.replies)), "object_id": object_id}


def _check_place(remark: Remark, **place: str | None) -> None:
    given = [name for name, value in place.items() if value is not None]
    if given and remark.action != "add":
        raise invalid(f"{', '.join(given)} goes with action add.")
    if given == ["tab_id"]:
        raise invalid("tab_id goes with anchor_text.")


def _added(comment_id: str) -> dict[str, Any]:
    return compact({"action": "add", "comment_id": comment_id})


def _made_id(replies: Sequence[Mapping[str, Any]]) -> str:
    made = replies[0].get("insertComment", {}) if replies else {}
    return str(made.get("commentThread", {}).get("commentId", ""))


def _place_on_slides(deck: Deck, object_id: str) -> str:
    for number, slide in enumerate(deck.slides, 1):
        title = title_of(slide)
        named = f"slide {number}{f' ({quoted(title, 40)})' if title else ''}"
        if slide.get("objectId") == object_id:
            return named
        for element in elements_of(slide):
            if element.id == object_id:
                return f"the {element.kind.replace('_', ' ')} on {named}"
    raise GoogleError("not_found", f"The presentation has nothing of the id {object_id[:60]!r}: see slides_read.")
