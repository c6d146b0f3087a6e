"""Reading documents, a tab as Markdown, plain text or an outline, and commenting on them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from oneclaw_core import untrusted
from oneclaw_google_workspace.answers import (
    beginning_within,
    compact,
    excerpt,
    file_id,
    from_outside,
    google_tool,
    quoted,
    room_beside,
)
from oneclaw_google_workspace.client import connect
from oneclaw_google_workspace.docs.document import (
    NO_TEXT,
    match,
    open_document,
    pick_tab,
    tabs_of,
    text_between,
    update,
)
from oneclaw_google_workspace.editors import (
    INCLUDED,
    THREAD_FIELDS,
    Remark,
    add_by_drive,
    added,
    answer_by_drive,
    check_place,
    comment_rows,
    is_office_file,
    is_unknown_to_the_editor,
    made_id,
    threads_by_drive,
)
from oneclaw_google_workspace.failures import GoogleError, invalid

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient
    from oneclaw_google_workspace.docs.document import DocumentTab

INSERTED = ("{++", "++}")
DELETED = ("{--", "--}")
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
_UNPLACED = "Google does not place comments for this sign-in, so it stands beside the document, with what it quotes."


@dataclass(frozen=True, slots=True)
class _Style:
    """The properties that separate one run of text from the next."""

    is_bold: bool = False
    is_italic: bool = False
    is_struck: bool = False
    link: str = ""
    is_inserted: bool = False
    is_deleted: bool = False


def inline_text(
    paragraph: Mapping[str, Any], images: Mapping[str, Any], *, is_markdown: bool, is_heading: bool = False
) -> str:
    """Write the text of a paragraph, without its newline.

    Args:
        paragraph: as Google answers it.
        images: Google's ``inlineObjects``, for what images show.
        is_markdown: whether styles and links are shown; suggested changes always are.
        is_heading: whether it is bold all over anyway.
    """
    pieces = [_piece(element, images, is_markdown) for element in paragraph.get("elements", [])]
    pieces += [
        (_Style(), f"![](image:{object_id})" if is_markdown else "[image]")
        for object_id in paragraph.get("positionedObjectIds", [])
    ]
    if pieces and pieces[-1][1].endswith("\n"):
        pieces[-1] = (pieces[-1][0], pieces[-1][1][:-1])
    lines = [
        _marked(style, "".join(text for _, text in group), is_markdown=is_markdown, is_heading=is_heading)
        for style, group in groupby(pieces, key=lambda piece: piece[0])
    ]
    return "".join(lines).replace(NO_TEXT, "").replace("\v", " " if is_heading else "\n")


def _piece(element: Mapping[str, Any], images: Mapping[str, Any], is_markdown: bool) -> tuple[_Style, str]:
    for kind, write in _WRITERS.items():
        if kind in element:
            raw = element[kind]
            text, link = write(raw, images)
            style = raw.get("textStyle", {}) if kind == "textRun" else {}
            is_image = kind == "inlineObjectElement"
            return (
                _Style(
                    bool(style.get("bold")),
                    bool(style.get("italic")),
                    bool(style.get("strikethrough")),
                    "" if is_image else link or _target(style.get("link", {})),
                    bool(raw.get("suggestedInsertionIds")),
                    bool(raw.get("suggestedDeletionIds")),
                ),
                f"![{text}](image:{link})" if is_image and is_markdown else f"[image {text}]" if is_image else text,
            )
    return _Style(), next((sign for kind, sign in _SIGNS.items() if kind in element), "")


def _run(raw: Mapping[str, Any], _: Mapping[str, Any]) -> tuple[str, str]:
    return str(raw.get("content", "")), ""


def _rich_link(raw: Mapping[str, Any], _: Mapping[str, Any]) -> tuple[str, str]:
    about = raw.get("richLinkProperties", {})
    return str(about.get("title") or about.get("uri", "")), str(about.get("uri", ""))


def _person(raw: Mapping[str, Any], _: Mapping[str, Any]) -> tuple[str, str]:
    about = raw.get("personProperties", {})
    email = str(about.get("email", ""))
    return str(about.get("name") or email), f"mailto:{email}"


def _image(raw: Mapping[str, Any], images: Mapping[str, Any]) -> tuple[str, str]:
    object_id = str(raw.get("inlineObjectId", ""))
    about = images.get(object_id, {}).get("inlineObjectProperties", {}).get("embeddedObject", {})
    words = " ".join(f"{about.get('title', '')} {about.get('description', '')}".split())
    return words.replace("]", ")"), object_id


def _footnote(raw: Mapping[str, Any], _: Mapping[str, Any]) -> tuple[str, str]:
    return f"[^{raw.get('footnoteNumber', '?')}]", ""


def _date(raw: Mapping[str, Any], _: Mapping[str, Any]) -> tuple[str, str]:
    return str(raw.get("dateElementProperties", {}).get("displayText", "")), ""


def _dropdown(raw: Mapping[str, Any], _: Mapping[str, Any]) -> tuple[str, str]:
    return str(raw.get("dropdownProperties", {}).get("displayValue", "")), ""


_WRITERS = {
    "textRun": _run,
    "richLink": _rich_link,
    "person": _person,
    "inlineObjectElement": _image,
    "footnoteReference": _footnote,
    "dateElement": _date,
    "dropdown": _dropdown,
}
# What has no text.
_SIGNS = {
    "horizontalRule": "---",
    "pageBreak": "[page break]",
    "columnBreak": "[column break]",
    "equation": "[equation]",
    "autoText": "[page number]",
}


def _target(link: Mapping[str, Any]) -> str:
    """Return the target of a link; for a heading or bookmark of the document, with its id."""
    if link.get("url"):
        return str(link["url"])
    for kind in ("heading", "bookmark"):
        inner = link.get(kind, {}).get("id") or link.get(f"{kind}Id")
        if inner:
            return f"#{kind}={inner}"
    return f"#tab={link['tabId']}" if link.get("tabId") else ""


def _marked(style: _Style, text: str, *, is_markdown: bool, is_heading: bool) -> str:
    core = text.strip()
    if not core:
        return text
    before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    if is_markdown:
        if style.is_bold and not is_heading:
            core = f"**{core}**"
        if style.is_italic:
            core = f"*{core}*"
        if style.is_struck:
            core = f"~~{core}~~"
        if style.link and style.link not in (core, f"mailto:{core}"):
            target = f"<{style.link}>" if set(" ()") & set(style.link) else style.link
            core = f"[{core}]({target})"
    for is_suggested, (opening, closing) in ((style.is_inserted, INSERTED), (style.is_deleted, DELETED)):
        if is_suggested:
            core = f"{opening}{core}{closing}"
    return f"{before}{core}{after}"


HEADING_LEVELS = {"TITLE": 1, **{f"HEADING_{level}": level for level in range(1, 7)}}
_INDENT = "    "
_CHECKBOX = "- [ ]"


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading.

    Attributes:
        offset: where it stands in the rendered text, in characters.
        line: as it is written in an outline.
    """

    offset: int
    line: str


@dataclass(frozen=True, slots=True)
class Rendered:
    """A tab as text.

    Attributes:
        text: all of it.
        headings: of the text, in order.
        has_checkboxes: whether there are some; Google does not tell which are ticked.
    """

    text: str
    headings: list[Heading]
    has_checkboxes: bool


@dataclass(frozen=True, slots=True)
class _Block:
    text: str
    is_item: bool = False
    heading: str = ""


def render(tab: DocumentTab, *, is_markdown: bool, with_indexes: bool) -> Rendered:
    """Write a tab as text.

    Args:
        tab: to be written.
        is_markdown: or plain text.
        with_indexes: whether ``[start-end]`` stands before each paragraph, in UTF-16 code units.
    """
    writer = _Writer(tab.content, is_markdown, with_indexes)
    blocks = [*writer.blocks(tab.body), *writer.footnotes()]
    pieces: list[str] = []
    headings: list[Heading] = []
    length = 0
    for number, block in enumerate(blocks):
        if number:
            is_close = with_indexes or not is_markdown or (block.is_item and blocks[number - 1].is_item)
            pieces.append("\n" if is_close else "\n\n")
            length += len(pieces[-1])
        if block.heading:
            headings.append(Heading(length, block.heading))
        pieces.append(block.text)
        length += len(block.text)
    return Rendered("".join(pieces), headings, writer.has_checkboxes)


class _Writer:
    """Writes the structural elements of one tab.

    Attributes:
        has_checkboxes: whether one was written.
    """

    def __init__(self, content: Mapping[str, Any], is_markdown: bool, with_indexes: bool) -> None:
        self.has_checkboxes = False
        self._images = content.get("inlineObjects", {})
        self._lists = content.get("lists", {})
        self._notes = content.get("footnotes", {})
        self._is_markdown = is_markdown
        self._with_indexes = with_indexes
        self._next_numbers: dict[str, dict[int, int]] = {}
        self._seen_notes: dict[str, str] = {}

    def blocks(self, content: Iterable[Mapping[str, Any]]) -> list[_Block]:
        found: list[_Block] = []
        for element in content:
            if "paragraph" in element:
                found += self._paragraph(element)
            elif "table" in element:
                found.append(self._table(element))
            elif "tableOfContents" in element:
                found.append(_Block(f"{self._place(element)}[table of contents]"))
        return found

    def footnotes(self) -> list[_Block]:
        """The footnotes that the text refers to; their own indexes begin at 0 and are of no use for editing."""
        found = []
        self._with_indexes = False
        for note_id, number in list(self._seen_notes.items()):
            inner = self.blocks(self._notes.get(note_id, {}).get("content", []))
            found.append(_Block(f"[^{number}]: {' '.join(block.text.strip() for block in inner)}", is_item=True))
        return found

    def _paragraph(self, element: Mapping[str, Any]) -> list[_Block]:
        paragraph = element["paragraph"]
        for each in paragraph.get("elements", []):
            if "footnoteReference" in each:
                note = each["footnoteReference"]
                self._seen_notes[str(note.get("footnoteId", ""))] = str(note.get("footnoteNumber", "?"))
        style = paragraph.get("paragraphStyle", {}).get("namedStyleType", "NORMAL_TEXT")
        level = HEADING_LEVELS.get(style, 0)
        text = inline_text(paragraph, self._images, is_markdown=self._is_markdown, is_heading=level > 0)
        place = self._place(element)
        if "bullet" in paragraph:
            return [_Block(f"{place}{self._item_mark(paragraph['bullet'])} {text}", is_item=True)]
        if not text.strip():
            return [] if self._is_markdown and not self._with_indexes else [_Block(place.rstrip())]
        if level:
            line = f"{place}{'#' * level} {text.strip()}"
            return [_Block(line if self._is_markdown else f"{place}{text}", heading=line)]
        if style == "SUBTITLE" and self._is_markdown and not set("*\n") & set(text):
            text = f"*{text.strip()}*"
        return [_Block(f"{place}{text}")]

    def _item_mark(self, bullet: Mapping[str, Any]) -> str:
        list_id, level = str(bullet.get("listId", "")), int(bullet.get("nestingLevel", 0))
        levels = self._lists.get(list_id, {}).get("listProperties", {}).get("nestingLevels", [])
        about = levels[level] if level < len(levels) else {}
        numbers = self._next_numbers.setdefault(list_id, {})
        for deeper in [each for each in numbers if each > level]:
            del numbers[deeper]
        kind = about.get("glyphType", "GLYPH_TYPE_UNSPECIFIED")
        if about.get("glyphSymbol") or kind == "NONE" or not about:
            mark = "-"
        elif kind == "GLYPH_TYPE_UNSPECIFIED":
            mark = _CHECKBOX
            self.has_checkboxes = True
        else:
            number = numbers.get(level, max(int(about.get("startNumber", 1)), 1))
            numbers[level] = number + 1
            mark = f"{number}."
        return f"{_INDENT * level}{mark}"

    def _table(self, element: Mapping[str, Any]) -> _Block:
        rows = [
            [self._cell(cell) for cell in row.get("tableCells", [])] for row in element["table"].get("tableRows", [])
        ]
        width = max((len(row) for row in rows), default=0)
        if not self._is_markdown:
            lines = ["\t".join(row) for row in rows]
        else:
            lines = [f"| {' | '.join(row + [''] * (width - len(row)))} |" for row in rows]
            lines[1:1] = [f"|{' --- |' * width}"]
        if self._with_indexes:
            lines.insert(0, f"{self._place(element)}table, {len(rows)} x {width}")
        return _Block("\n".join(lines))

    def _cell(self, cell: Mapping[str, Any]) -> str:
        blocks = self.blocks(cell.get("content", []))
        if not self._is_markdown:
            return " ".join(" ".join(block.text.split()) for block in blocks)
        return "<br>".join(block.text for block in blocks).replace("|", "\\|").replace("\n", "<br>")

    def _place(self, element: Mapping[str, Any]) -> str:
        if not self._with_indexes:
            return ""
        return f"[{element.get('startIndex', 0)}-{element.get('endIndex', 0)}] "


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
            raise invalid(
                "This is not a Google Doc but another file, such as one of Word: use drive_download_file."
            ) from None
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
    check_place(remark, anchor_text=anchor_text, tab_id=tab_id)
    if action != "add":
        return await answer_by_drive(google, wanted, remark, "document")
    document = await open_document(google, wanted, with_text=anchor_text is not None)
    if anchor_text is None:
        return added(await add_by_drive(google, wanted, remark, document.named))
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
        return {**added(made), "quote": anchor_text, "note": _UNPLACED}
    return from_outside({**added(made_id(done.replies)), "quote": anchor_text}, "comments")
