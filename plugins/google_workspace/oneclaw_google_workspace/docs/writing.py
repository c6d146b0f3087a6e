"""Creating documents, writing texts and elements into them, and formatting them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import (
    compact,
    counted,
    excerpt,
    file_id,
    from_outside,
    google_tool,
    listing,
    passage,
    quoted,
    table_said,
)
from oneclaw_google_workspace.client import connect
from oneclaw_google_workspace.docs.document import (
    Place,
    Span,
    Updated,
    match,
    matches,
    open_document,
    text_between,
    update,
)
from oneclaw_google_workspace.editors import (
    Look,
    Replacements,
    find_folder,
    image_address,
    in_folder,
    insertable,
    rgb,
    utf16_length,
)
from oneclaw_google_workspace.failures import GoogleError, invalid
from oneclaw_google_workspace.methods import api_request

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient
    from oneclaw_google_workspace.editors import Folder

DOCUMENT_TYPE = "application/vnd.google-apps.document"
_MEDIA_TYPES = {"text": "text/plain", "markdown": "text/markdown", "html": "text/html"}
_UNCLEAR = "Look for it by its title with drive_search_files"
MAX_ROWS, MAX_COLUMNS = 200, 20
_PRESETS = {
    "bullets": "BULLET_DISC_CIRCLE_SQUARE",
    "numbers": "NUMBERED_DECIMAL_ALPHA_ROMAN",
    "checkboxes": "BULLET_CHECKBOX",
}


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


@google_tool
async def docs_insert_element(
    document_id: str,
    element: str,
    position: str = "end",
    index: int | None = None,
    anchor_text: str | None = None,
    occurrence: int = 1,
    tab_id: str | None = None,
    rows: int | None = None,
    columns: int | None = None,
    data: list[list[str]] | None = None,
    bold_header: bool = False,
    image_url: str | None = None,
    width_pt: float | None = None,
    height_pt: float | None = None,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Insert a table, an image or a page break."""
    google = connect(context)
    place = Place(position, index, anchor_text, occurrence, tab_id)
    wanted = file_id(document_id, "document_id")
    _check_element(
        element,
        table={"rows": rows, "columns": columns, "data": data, "bold_header": bold_header or None},
        image={"image_url": image_url, "width_pt": width_pt, "height_pt": height_pt},
    )
    table = _table_cells(rows, columns, data) if element == "table" else []
    content: dict[str, Any]
    if element == "table":
        name, what = "insertTable", f"a table of {len(table)} x {len(table[0])} cells{table_said(table)}"
        content = {"rows": len(table), "columns": len(table[0])}
    elif element == "image":
        url = image_address(image_url)
        name, what = "insertInlineImage", f"the image {excerpt(url, 200)}"
        content = {"uri": url, **compact({"objectSize": _size(width_pt, height_pt)})}
    else:
        name, what, content = "insertPageBreak", "a page break", {}
    document = await open_document(google, wanted, with_text=True)
    start = place.find(document)
    await google.ask(f"insert {what} {place.described} {document.named}")
    done = await update(
        google,
        wanted,
        [{name: {**content, **place.location(start)}}],
        revision_id=document.revision_id,
        hint=INDEX_HINT if element != "page_break" else f"{INDEX_HINT} A page break cannot go into a table.",
    )
    # A table gets a newline before it.
    at_index = start + 1 if element == "table" else start
    if element == "table" and (bold_header or any(map(any, table))):
        done = await _fill_table(google, wanted, place, at_index, table, bold_header)
    reply = done.replies[0].get("insertInlineImage", {}) if done.replies else {}
    answer = {
        "document_id": wanted,
        "element": element,
        "at_index": at_index,
        "rows": len(table),
        "columns": len(table[0]) if table else 0,
        "object_id": reply.get("objectId"),
        "revision_id": done.revision_id,
    }
    return compact({key: value for key, value in answer.items() if value != 0})


def _check_element(element: str, **arguments: Mapping[str, Any]) -> None:
    for kind, values in arguments.items():
        given = [name for name, value in values.items() if value is not None]
        if given and kind != element:
            raise invalid(f"{', '.join(given)} goes with element {kind}, not with {element}.")


def _table_cells(rows: int | None, columns: int | None, data: Sequence[Sequence[str]] | None) -> list[list[str]]:
    """Make the texts of all cells, the missing ones empty."""
    needed_rows, needed_columns = len(data or ()), max(map(len, data or ()), default=0)
    rows, columns = rows or needed_rows, columns or needed_columns
    if not rows or not columns:
        raise invalid("A table needs data, or rows and columns.")
    if rows < needed_rows or columns < needed_columns:
        raise invalid(f"data has {needed_rows} x {needed_columns} cells, more than rows and columns say.")
    if rows > MAX_ROWS or columns > MAX_COLUMNS:
        raise invalid(f"A table can have {MAX_ROWS} rows and {MAX_COLUMNS} columns at most.")
    texts = [[insertable(str(cell)) for cell in row] for row in data or ()]
    texts += [[] for _ in range(rows - needed_rows)]
    return [row + [""] * (columns - len(row)) for row in texts]


def _size(width: float | None, height: float | None) -> dict[str, Any]:
    sides = {"width": width, "height": height}
    return {side: {"magnitude": points, "unit": "PT"} for side, points in sides.items() if points is not None}


async def _fill_table(
    google: GoogleClient, document_id: str, place: Place, start: int, table: list[list[str]], bold_header: bool
) -> Updated:
    """Write into the cells of a table that has just been inserted; where they are is known only now."""
    try:
        document = await open_document(google, document_id, with_text=True)
        starts = _cell_starts(document.tab(place.tab_id).body, start)
        if [len(row) for row in starts] != [len(row) for row in table]:
            raise GoogleError("conflict", "The document was changed by somebody else meanwhile.")
        requests = fill_requests(starts, table, bold_header, place.tab_id)
        return await update(google, document_id, requests, revision_id=document.revision_id)
    except GoogleError as error:
        raise GoogleError(
            error.error_type,
            f"The table was inserted at index {start}, but its cells could not be filled. {error}",
            status=error.status,
            reasons=error.reasons,
        ) from None


def _cell_starts(body: Sequence[Mapping[str, Any]], start: int) -> list[list[int]]:
    """Find the indexes at which the cells of the table at an index begin, those of tables in cells included."""
    for element in body:
        if "table" not in element:
            continue
        rows = element["table"].get("tableRows", [])
        if element.get("startIndex") == start:
            return [[int(cell["content"][0]["startIndex"]) for cell in row["tableCells"]] for row in rows]
        for row in rows:
            for cell in row.get("tableCells", []):
                if inner := _cell_starts(cell.get("content", []), start):
                    return inner
    return []


def fill_requests(
    starts: Sequence[Sequence[int]], table: Sequence[Sequence[str]], bold_header: bool, tab_id: str | None
) -> list[dict[str, Any]]:
    """Write texts into empty cells, from the last to the first, so that none moves another.

    Args:
        starts: the index of each cell's text.
        table: the texts.
        bold_header: whether the first row is bold.
        tab_id: of the tab, ``None`` for the first.
    """
    requests: list[dict[str, Any]] = []
    for number in range(len(table) - 1, -1, -1):
        for start, text in reversed(list(zip(starts[number], table[number], strict=True))):
            if text:
                location = compact({"index": start, "tabId": tab_id})
                requests.append({"insertText": {"text": text, "location": location}})
            if bold_header and number == 0:
                # In an empty cell this is its newline, and so what is written there later.
                where = compact({"startIndex": start, "endIndex": start + max(utf16_length(text), 1), "tabId": tab_id})
                requests.append({"updateTextStyle": {"range": where, "textStyle": {"bold": True}, "fields": "bold"}})
    return requests


@dataclass(frozen=True, slots=True)
class TextLook(Look):
    """The new values; ``None`` for those that stay.

    Raises:
        GoogleError: nothing is, or a value is none.
    """

    bold: bool | None = None
    italic: bool | None = None
    underline: bool | None = None
    strikethrough: bool | None = None
    font_family: str | None = None
    font_size: float | None = None
    text_color: str | None = None
    highlight_color: str | None = None
    link_url: str | None = None
    paragraph_style: str | None = None
    alignment: str | None = None
    line_spacing: float | None = None
    indent_start: float | None = None
    indent_first_line: float | None = None
    space_above: float | None = None
    space_below: float | None = None
    shading_color: str | None = None
    list: str | None = None

    def __post_init__(self) -> None:
        if not self.names:
            raise invalid("Give at least one format, such as bold or paragraph_style.")
        if self.link_url and not re.match(r"https?://|mailto:", self.link_url):
            raise invalid("link_url must begin with https://, http:// or mailto:; empty removes the link.")

    def requests(self, spans: Iterable[Span], tab_id: str | None) -> tuple[dict[str, Any], ...]:
        """Write the requests that set it.

        Args:
            spans: where.
            tab_id: of the tab, ``None`` for the first.

        Raises:
            GoogleError: a colour is none.
        """
        ranges = [
            compact({"startIndex": span.start, "endIndex": span.end, "tabId": tab_id})
            for span in sorted(spans, key=lambda span: -span.start)
        ]
        text, paragraph = self._text_style(), self._paragraph_style()
        found: list[dict[str, Any]] = []
        for where in ranges:
            if text:
                found.append({"updateTextStyle": _styling(where, "textStyle", text)})
            if paragraph:
                found.append({"updateParagraphStyle": _styling(where, "paragraphStyle", paragraph)})
        # Bullets take tabs away and so move what is behind them: last, and from the back forwards.
        for where in ranges:
            if self.list == "none":
                found.append({"deleteParagraphBullets": {"range": where}})
            elif self.list is not None:
                found.append({"createParagraphBullets": {"range": where, "bulletPreset": _PRESETS[self.list]}})
        return tuple(found)

    def _text_style(self) -> dict[str, Any]:
        """By Google's names; a value of ``None`` takes away what is set."""
        names = ("bold", "italic", "underline", "strikethrough")
        found: dict[str, Any] = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        if self.font_family is not None:
            found["weightedFontFamily"] = {"fontFamily": self.font_family}
        if self.font_size is not None:
            found["fontSize"] = {"magnitude": self.font_size, "unit": "PT"}
        if self.text_color is not None:
            found["foregroundColor"] = {"color": {"rgbColor": rgb("text_color", self.text_color)}}
        if self.highlight_color is not None:
            found["backgroundColor"] = _background("highlight_color", self.highlight_color)
        if self.link_url is not None:
            found["link"] = {"url": self.link_url} if self.link_url else None
        return found

    def _paragraph_style(self) -> dict[str, Any]:
        values = {
            "namedStyleType": self.paragraph_style,
            "alignment": self.alignment,
            "lineSpacing": self.line_spacing,
        }
        points = {
            "indentStart": self.indent_start,
            "indentFirstLine": self.indent_first_line,
            "spaceAbove": self.space_above,
            "spaceBelow": self.space_below,
        }
        found: dict[str, Any] = {name: value for name, value in values.items() if value is not None}
        found |= {name: {"magnitude": each, "unit": "PT"} for name, each in points.items() if each is not None}
        if self.shading_color is not None:
            color = _background("shading_color", self.shading_color)
            found["shading"] = None if color is None else {"backgroundColor": color}
        return found


def _background(name: str, color: str) -> dict[str, Any] | None:
    """Write a colour behind text as Google wants it; ``None`` takes it away."""
    return None if color.strip().lower() in ("", "none") else {"color": {"rgbColor": rgb(name, color)}}


def _styling(where: dict[str, Any], key: str, style: dict[str, Any]) -> dict[str, Any]:
    given = {name: value for name, value in style.items() if value is not None}
    return {"range": where, key: given, "fields": ",".join(style)}


MAX_MATCHES = 1000
_SHOWN = 50


@google_tool
async def docs_format(
    document_id: str,
    match_text: str | None = None,
    all_matches: bool = False,
    occurrence: int = 1,
    start_index: int | None = None,
    end_index: int | None = None,
    tab_id: str | None = None,
    bold: bool | None = None,
    italic: bool | None = None,
    underline: bool | None = None,
    strikethrough: bool | None = None,
    font_family: str | None = None,
    font_size: float | None = None,
    text_color: str | None = None,
    highlight_color: str | None = None,
    link_url: str | None = None,
    paragraph_style: str | None = None,
    alignment: str | None = None,
    line_spacing: float | None = None,
    indent_start: float | None = None,
    indent_first_line: float | None = None,
    space_above: float | None = None,
    space_below: float | None = None,
    shading_color: str | None = None,
    list: str | None = None,  # noqa: A002  # the name that the manifest gives it
    suggest: bool = False,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Format text or paragraphs."""
    google = connect(context)
    wanted = file_id(document_id, "document_id")
    look = TextLook(
        *(bold, italic, underline, strikethrough, font_family, font_size, text_color, highlight_color, link_url),
        *(paragraph_style, alignment, line_spacing, indent_start, indent_first_line, space_above, space_below),
        *(shading_color, list),
    )
    look.requests((), None)  # its values are looked at before anything is sent
    has_range = start_index is not None and end_index is not None
    if bool(match_text) == has_range or (start_index is None) != (end_index is None):
        raise invalid("Give match_text, or start_index and end_index.")
    if start_index is not None and end_index is not None and start_index >= end_index:
        raise invalid("end_index must be above start_index.")
    document = await open_document(google, wanted, with_text=True)
    tab = document.tab(tab_id)
    if start_index is not None and end_index is not None:
        spans = [Span(start_index, end_index, text_between(tab.body, start_index, end_index))]
    elif all_matches:
        spans = matches(tab, match_text or "")
    else:
        spans = [match(tab, match_text or "", occurrence)]
    if len(spans) > MAX_MATCHES:
        raise invalid(f"There are {len(spans):,} matches, more than {MAX_MATCHES:,}. Give a longer match_text.")
    verb = "suggest formatting" if suggest else "format"
    where = quoted(spans[0].text, 40) if len(spans) == 1 else counted(len(spans), "place")
    await google.ask(f"{verb} {where} in {document.named} ({look.described})")
    done = await update(
        google,
        wanted,
        look.requests(spans, tab_id),
        revision_id=document.revision_id,
        is_suggestion=suggest,
        hint="The range must lie within the text: see docs_read with include_indexes.",
    )
    answer = {
        "document_id": wanted,
        "ranges": [{"start": span.start, "end": span.end, "text": excerpt(span.text)} for span in spans[:_SHOWN]],
        "range_count": len(spans),
        "applied": [*look.names],
        **done.state,
    }
    return from_outside(answer, "documents")
