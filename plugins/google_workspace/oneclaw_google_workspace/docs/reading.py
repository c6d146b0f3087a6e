"""Reading documents: ``docs_read``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_core import untrusted
from oneclaw_google_workspace.answers import compact, from_outside, google_tool
from oneclaw_google_workspace.comments import (
    INCLUDED,
    THREAD_FIELDS,
    comment_rows,
    is_unknown_to_the_editor,
    threads_by_drive,
)
from oneclaw_google_workspace.connecting import connect
from oneclaw_google_workspace.docs.document import pick_tab, tabs_of, text_between
from oneclaw_google_workspace.docs.rendering import DELETED, INSERTED, render
from oneclaw_google_workspace.editors import is_office_file
from oneclaw_google_workspace.links import file_id
from oneclaw_google_workspace.problems import GoogleError, invalid
from oneclaw_google_workspace.shown_size import beginning_within, room_beside
from oneclaw_google_workspace.wording import excerpt

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient
    from oneclaw_google_workspace.docs.document import DocumentTab

_VIEWS = {
    "default": "DEFAULT_FOR_CURRENT_ACCESS",
    "inline": "SUGGESTIONS_INLINE",
    "accepted": "PREVIEW_SUGGESTIONS_ACCEPTED",
    "rejected": "PREVIEW_WITHOUT_SUGGESTIONS",
}
_SUGGESTED = "suggestedInsertionIds,suggestedDeletionIds"
_PARAGRAPH = (
    "paragraph(paragraphStyle/namedStyleType,bullet(listId,nestingLevel),positionedObjectIds,elements(startIndex,"
    f"endIndex,textRun(content,textStyle(bold,italic,strikethrough,link),{_SUGGESTED}),"
    f"richLink(richLinkProperties(title,uri),{_SUGGESTED}),person(personProperties,{_SUGGESTED}),"
    f"inlineObjectElement(inlineObjectId,{_SUGGESTED}),footnoteReference(footnoteId,footnoteNumber,{_SUGGESTED}),"
    f"dateElement(dateElementProperties/displayText,{_SUGGESTED}),dropdown(dropdownProperties/displayValue,"
    f"{_SUGGESTED}),horizontalRule,pageBreak,columnBreak,equation,autoText))"
)
_TAB = (
    "tabProperties(tabId,title,parentTabId),childTabs,documentTab(lists,inlineObjects,footnotes,"
    "documentStyle(defaultHeaderId,defaultFooterId),headers,footers,body/content"
    f"(startIndex,endIndex,{_PARAGRAPH},tableOfContents/content/startIndex,"
    f"table/tableRows/tableCells/content(startIndex,endIndex,{_PARAGRAPH},table)))"
)
_FIELDS = f"documentId,title,revisionId,tabs({_TAB})"
_FRAME_CHARACTERS = 500
_CHECKBOXES = "Google does not tell which checkboxes are ticked."
_SUGGESTIONS = "{++text++} is suggested to be inserted, {--text--} to be deleted."


@google_tool
async def docs_read(
    document_id: str,
    format: str = "markdown",  # noqa: A002  # the name that the manifest gives it
    tab_id: str | None = None,
    include_indexes: bool = False,
    include_comments: bool = False,
    suggestions: str = "default",
    offset: int = 0,
    max_chars: int = 50_000,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Read a document."""
    google = connect(context)
    wanted = file_id(document_id, "document_id")
    if (include_indexes or include_comments) and suggestions in ("accepted", "rejected"):
        raise invalid("Indexes and comments belong to the text with suggestions inline: leave suggestions out.")
    if include_indexes or include_comments:
        suggestions = "inline"
    document = await _document(google, wanted, _VIEWS[suggestions], include_comments=include_comments)
    tabs = tabs_of(document)
    shown = [pick_tab(tabs, tab_id)] if tab_id is not None else tabs
    title = str(document.get("title", ""))
    answer = {
        "document_id": document.get("documentId"),
        "title": title,
        "revision_id": document.get("revisionId"),
        "tabs": [_tab_row(tab) for tab in tabs],
    }
    if include_comments:
        room = room_beside(from_outside(answer, "documents"), context)
        # The text has as much room as the comments.
        answer |= comment_rows(document.get("comments", []), None if room is None else room // 2)
    text, has_checkboxes = _whole_text(shown, format, include_indexes)
    answer |= _part(text, title, offset, max_chars, answer, context, has_checkboxes=has_checkboxes)
    return from_outside({key: value for key, value in answer.items() if value is not None}, "documents")


def _tab_row(tab: DocumentTab) -> dict[str, Any]:
    frames = {}
    for part in ("header", "footer"):
        _, content = tab.frame(part)
        end = int(content[-1].get("endIndex", 1)) if content else 0
        frames[part] = excerpt(text_between(content, 0, end), _FRAME_CHARACTERS)
    return compact({"tab_id": tab.id, "title": tab.title, "parent_tab_id": tab.parent_id, **frames})


async def _document(google: GoogleClient, document_id: str, view: str, *, include_comments: bool) -> dict[str, Any]:
    """Ask for a document; its comments come by way of Drive where this API does not have them."""
    try:
        return await google.call(
            "docs.documents.get",
            documentId=document_id,
            includeTabsContent=True,
            suggestionsViewMode=view,
            commentsViewMode=INCLUDED if include_comments else None,
            fields=f"{_FIELDS},{THREAD_FIELDS}" if include_comments else _FIELDS,
        )
    except GoogleError as error:
        if is_office_file(error):
            raise invalid("This is no Google Doc but such as a file of Word: use drive_download_file.") from None
        if not (include_comments and is_unknown_to_the_editor(error)):
            raise
    document = await _document(google, document_id, view, include_comments=False)
    return {**document, "comments": await threads_by_drive(google, document_id)}


def _whole_text(tabs: Sequence[DocumentTab], form: str, with_indexes: bool) -> tuple[str, bool]:
    """Write the tabs as one text, and say whether it has checkboxes."""
    pieces: list[str] = []
    outline: list[str] = []
    length, has_checkboxes = 0, False
    for tab in tabs:
        opening = f'=== tab {tab.id}: "{" ".join(tab.title.split())}" ===\n\n' if len(tabs) > 1 else ""
        rendered = render(tab, is_markdown=form != "text", with_indexes=with_indexes)
        length += len(opening)
        outline += [opening.rstrip()] if opening else []
        outline += [f"{each.line} (offset {length + each.offset})" for each in rendered.headings]
        pieces.append(f"{opening}{rendered.text}")
        length += len(rendered.text) + 2
        has_checkboxes = has_checkboxes or rendered.has_checkboxes
    if form == "outline":
        return "\n".join(outline), False
    return "\n\n".join(pieces), has_checkboxes


def _part(
    text: str,
    title: str,
    offset: int,
    max_chars: int,
    rest: Mapping[str, Any],
    context: ToolContext,
    *,
    has_checkboxes: bool,
) -> dict[str, Any]:
    """Cut the wanted part out of a text, as far as it is shown beside the rest of the answer."""
    if offset and offset >= len(text):
        raise invalid(f"offset must be below {len(text):,}, the number of characters of the text.")

    def told(part: str, notes: Sequence[str]) -> dict[str, Any]:
        is_truncated = offset + len(part) < len(text)
        return {
            "text": untrusted(part, f"the Google document {title}"),
            "truncated": is_truncated,
            "next_offset": offset + len(part) if is_truncated else None,
            "total_chars": len(text),
            "note": " ".join(notes) or None,
        }

    notes = [_CHECKBOXES] if has_checkboxes else []
    room = room_beside(from_outside({**rest, **told("", [*notes, _SUGGESTIONS])}, "documents"), context)
    part = beginning_within(text[offset : offset + max_chars], room)
    if INSERTED[0] in part or DELETED[0] in part:
        notes.append(_SUGGESTIONS)
    return told(part, notes)
