"""Creating documents and writing text into them: ``docs_create``, ``docs_insert_text`` and ``docs_replace_text``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, from_outside, google_tool
from oneclaw_google_workspace.api_request import api_request
from oneclaw_google_workspace.connecting import connect
from oneclaw_google_workspace.docs.document import Place, open_document, text_between, update
from oneclaw_google_workspace.editors import Replacements, insertable, utf16_length
from oneclaw_google_workspace.folders import find_folder, in_folder
from oneclaw_google_workspace.links import file_id
from oneclaw_google_workspace.problems import GoogleError, invalid
from oneclaw_google_workspace.wording import excerpt, listing, passage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient
    from oneclaw_google_workspace.folders import Folder

DOCUMENT_TYPE = "application/vnd.google-apps.document"
_MEDIA_TYPES = {"text": "text/plain", "markdown": "text/markdown", "html": "text/html"}
_UNCLEAR = "Look for it by its title with drive_search_files"


@google_tool
async def docs_create(
    title: str,
    content: str = "",
    content_format: str = "text",
    folder_id: str | None = None,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Create a document, empty or with content."""
    google = connect(context)
    if not title.strip():
        raise invalid("A document needs a title.")
    text = insertable(content)
    folder = await find_folder(google, folder_id) if folder_id is not None else None
    kind = {"markdown": "Markdown ", "html": "HTML "}.get(content_format, "")
    filled = f" with the {kind}text {passage(text)}" if text else ""
    await google.ask(f"create the document {listing([title])}{in_folder(folder)}{filled}")
    if folder is not None or (text and content_format != "text"):
        made = await _import(google, title, text, content_format, folder)
    else:
        made = await _create(google, title, text)
    return compact(made)


async def _import(
    google: GoogleClient, title: str, text: str, content_format: str, folder: Folder | None
) -> dict[str, Any]:
    """Have Drive make it: it knows folders, and turns Markdown and HTML into headings, lists, tables and links."""
    request = api_request(
        "drive.files.create",
        body=compact({"name": title, "mimeType": DOCUMENT_TYPE, "parents": [folder.id] if folder else None}),
        fields="id,name,webViewLink",
        unclear_hint=_UNCLEAR,
    )
    if text:
        made = await google.upload(request, text.encode(), _MEDIA_TYPES[content_format])
    else:
        made = await google.send(request)
    return {
        "document_id": made["id"],
        "title": made.get("name", title),
        "link": made.get("webViewLink") or document_link(str(made["id"])),
        "folder_id": folder.id if folder else None,
    }


async def _create(google: GoogleClient, title: str, text: str) -> dict[str, Any]:
    made = await google.call(
        "docs.documents.create",
        body={"title": title},
        fields="documentId,title,revisionId",
        unclear_hint=_UNCLEAR,
    )
    document_id = str(made["documentId"])
    if text:
        request = {"insertText": {"location": {"index": 1}, "text": text}}
        try:
            await update(google, document_id, [request], revision_id=made.get("revisionId"))
        except GoogleError as error:
            raise GoogleError(
                error.error_type, f"The document {document_id} was created, but its text could not be put in. {error}"
            ) from None
    return {
        "document_id": document_id,
        "title": made.get("title", title),
        "link": document_link(document_id),
        "end_index": 1 + utf16_length(text),
    }


def document_link(document_id: str) -> str:
    """Return the address of a document."""
    return f"https://docs.google.com/document/d/{document_id}/edit"


INDEX_HINT = "The index must lie within a paragraph, not where a table begins: see docs_read with include_indexes."
_RANGE_HINT = (
    "A range may not take in the last newline of the document or of a table cell, half of a character, or only a part "
    "of a table: see docs_read with include_indexes."
)


@google_tool
async def docs_insert_text(
    document_id: str,
    text: str,
    position: str = "end",
    index: int | None = None,
    anchor_text: str | None = None,
    occurrence: int = 1,
    tab_id: str | None = None,
    paragraph_style: str | None = None,
    suggest: bool = False,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Insert text into a document."""
    google = connect(context)
    place = Place(position, index, anchor_text, occurrence, tab_id)
    wanted = file_id(document_id, "document_id")
    text = insertable(text)
    if not text:
        raise invalid("Give the text to insert.")
    # At the very end, others may write meanwhile without any harm; a style needs to know the index.
    is_append = position == "end" and paragraph_style is None
    document = await open_document(google, wanted, with_text=not is_append)
    start = None if is_append else place.find(document)
    verb = "suggest inserting" if suggest else "insert"
    styled = f" as {paragraph_style}" if paragraph_style else ""
    await google.ask(f"{verb} {passage(text)}{styled} {place.described} {document.named}")
    if start is None:
        where: dict[str, Any] = {"endOfSegmentLocation": compact({"tabId": tab_id})}
    else:
        where = place.location(start)
    requests: list[dict[str, Any]] = [{"insertText": {"text": text, **where}}]
    if start is not None and paragraph_style is not None:
        requests.append(_style_request(start, text, paragraph_style, tab_id))
    done = await update(
        google,
        wanted,
        requests,
        revision_id=None if is_append else document.revision_id,
        is_suggestion=suggest,
        hint=INDEX_HINT,
    )
    found = {"document_id": wanted, "inserted_at": start, "length": utf16_length(text)}
    return {**compact(found), **done.state}


@google_tool
async def docs_replace_text(
    document_id: str,
    replacements: list[dict[str, Any]] | None = None,
    start_index: int | None = None,
    end_index: int | None = None,
    text: str | None = None,
    tab_ids: list[str] | None = None,
    suggest: bool = False,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Find and replace, or replace a range."""
    google = connect(context)
    wanted = file_id(document_id, "document_id")
    has_range = start_index is not None or end_index is not None or text is not None
    if bool(replacements) == has_range:
        raise invalid("Give either replacements, or start_index, end_index and text (empty to delete the range).")
    if replacements:
        return await _replace_all(google, wanted, Replacements.of(replacements), tab_ids, suggest)
    if start_index is None or end_index is None or text is None:
        raise invalid("A range needs start_index, end_index and text; an empty text deletes it.")
    if start_index >= end_index:
        raise invalid("end_index must be above start_index.")
    if tab_ids and len(tab_ids) > 1:
        raise invalid("A range lies in one tab: give one of tab_ids, or none for the first.")
    return await _replace_range(google, wanted, start_index, end_index, text, tab_ids[0] if tab_ids else None, suggest)


async def _replace_all(
    google: GoogleClient,
    document_id: str,
    pairs: Replacements,
    tab_ids: Sequence[str] | None,
    is_suggestion: bool,
) -> dict[str, Any]:
    document = await open_document(google, document_id, with_text=False)
    verb = "suggest replacing" if is_suggestion else "replace"
    await google.ask(f"{verb} {pairs.described} throughout {document.named}")
    criteria = compact({"tabsCriteria": compact({"tabIds": tab_ids})})
    done = await update(
        google,
        document_id,
        [{"replaceAllText": {**each, **criteria}} for each in pairs.requests],
        is_suggestion=is_suggestion,
    )
    return {"document_id": document_id, "replaced": pairs.counts(done.replies), **done.state}


async def _replace_range(
    google: GoogleClient,
    document_id: str,
    start: int,
    end: int,
    text: str,
    tab_id: str | None,
    is_suggestion: bool,
) -> dict[str, Any]:
    document = await open_document(google, document_id, with_text=True)
    tab = document.tab(tab_id)
    if end > tab.end:
        raise invalid(f"end_index must be at most {tab.end}: the last newline of a document stays.")
    text = insertable(text)
    old = text_between(tab.body, start, end)
    verb = "suggest replacing" if is_suggestion else "replace"
    change = f"{verb} {passage(old)} by {passage(text)}"
    if not text:
        change = f"{'suggest deleting' if is_suggestion else 'delete'} {passage(old)}"
    await google.ask(f"{change} in {document.named}")
    where = compact({"startIndex": start, "endIndex": end, "tabId": tab_id})
    requests: list[dict[str, Any]] = [{"deleteContentRange": {"range": where}}]
    if text:
        requests.append({"insertText": {"text": text, "location": compact({"index": start, "tabId": tab_id})}})
    done = await update(
        google,
        document_id,
        requests,
        revision_id=document.revision_id,
        is_suggestion=is_suggestion,
        hint=_RANGE_HINT,
    )
    answer = {
        "document_id": document_id,
        "range": {"start": start, "end": start + utf16_length(text)},
        "removed_text": excerpt(old, 200),
        **done.state,
    }
    return from_outside(answer, "documents")


def _style_request(start: int, text: str, style: str, tab_id: str | None) -> dict[str, Any]:
    """Style the paragraphs that are inserted, and not the one that they are inserted behind."""
    lead = len(text) - len(text.lstrip("\n"))
    end = start + utf16_length(text)
    first = start + lead
    if first == end:  # newlines only: the paragraph that begins behind them
        end += 1
    where = compact({"startIndex": first, "endIndex": end, "tabId": tab_id})
    return {
        "updateParagraphStyle": {
            "range": where,
            "paragraphStyle": {"namedStyleType": style},
            "fields": "namedStyleType",
        }
    }
