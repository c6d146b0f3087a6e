"""A document: its tabs and texts, finding places in it, sending changes; tools for its tabs, headers and footers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, counted, excerpt, file_id, google_tool, listing, passage, quoted
from oneclaw_google_workspace.client import connect
from oneclaw_google_workspace.editors import (
    insertable,
    is_office_file,
    is_outdated,
    send_edits,
    utf16_length,
    utf16_slice,
)
from oneclaw_google_workspace.failures import GoogleError, invalid

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient

# What Google itself puts into a text for an image, a person or the like.
NO_TEXT = "\ue907"
_RUNS = "startIndex,endIndex,paragraph/elements(startIndex,endIndex,textRun/content)"
# Tabs and tables within others are asked for whole: a mask has no way to say "and so on".
_BODY = f"body/content({_RUNS},table/tableRows/tableCells(startIndex,content({_RUNS},table)))"
PLACE_FIELDS = (
    f"title,revisionId,tabs(tabProperties(tabId,title,parentTabId),childTabs,documentTab({_BODY},"
    "documentStyle(defaultHeaderId,defaultFooterId),headers,footers))"
)
# What each action needs, and what it can take beside that.
_PARAMETERS: dict[str, tuple[set[str], set[str]]] = {
    "add": ({"title"}, {"text", "parent_tab_id", "index"}),
    "rename": ({"tab_id", "title"}, set()),
    "delete": ({"tab_id"}, set()),
}


@dataclass(frozen=True, slots=True)
class DocumentTab:
    """A tab of a document.

    Attributes:
        id: such as ``t.0``.
        title: as the user sees it.
        parent_id: of the tab that it is below; empty for none.
        content: Google's ``documentTab``.
    """

    id: str
    title: str
    parent_id: str
    content: Mapping[str, Any]

    @property
    def body(self) -> list[Mapping[str, Any]]:
        """The structural elements of its text."""
        return list(self.content.get("body", {}).get("content", []))

    @property
    def end(self) -> int:
        """The index of its last newline, before which text can be put in."""
        body = self.body
        return max(int(body[-1].get("endIndex", 2)) - 1, 1) if body else 1

    def frame(self, part: str) -> tuple[str, list[Mapping[str, Any]]]:
        """Find the header or the footer of its pages: the id, empty for none, and the structural elements.

        Args:
            part: ``header`` or ``footer``.
        """
        frame_id = str(self.content.get("documentStyle", {}).get(f"default{part.title()}Id", ""))
        found = self.content.get(f"{part}s", {}).get(frame_id, {})
        return frame_id, list(found.get("content", []))


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of text, with its indexes in UTF-16 code units."""

    start: int
    end: int
    text: str


def tabs_of(document: Mapping[str, Any]) -> list[DocumentTab]:
    """List the tabs of a document that was read with ``includeTabsContent``, each before those below it."""
    found: list[DocumentTab] = []

    def walk(tabs: Iterable[Mapping[str, Any]]) -> None:
        for tab in tabs:
            about = tab.get("tabProperties", {})
            found.append(
                DocumentTab(
                    str(about.get("tabId", "")),
                    str(about.get("title", "")),
                    str(about.get("parentTabId", "")),
                    tab.get("documentTab", {}),
                )
            )
            walk(tab.get("childTabs", []))

    walk(document.get("tabs", []))
    return found


def pick_tab(tabs: list[DocumentTab], tab_id: str | None) -> DocumentTab:
    """Find a tab, or the first one.

    Raises:
        GoogleError: there is none of that id.
    """
    for tab in tabs:
        if tab_id in (None, tab.id):
            return tab
    known = ", ".join(f"{tab.id} ({tab.title[:40]})" for tab in tabs[:20])
    raise GoogleError("not_found", f"The document has no tab {tab_id!r}. It has: {known or 'none'}.")


def paragraphs(content: Iterable[Mapping[str, Any]]) -> Iterator[Span]:
    """List the paragraphs that can be edited, those in tables included.

    A table of contents repeats headings and is left out. What is not a text counts as so many :data:`NO_TEXT` as it
    takes up indexes.
    """
    for element in content:
        if "paragraph" in element:
            start = int(element.get("startIndex", 0))
            pieces = element["paragraph"].get("elements", [])
            yield Span(start, int(element.get("endIndex", start)), "".join(map(_plain, pieces)))
        for row in element.get("table", {}).get("tableRows", []):
            for cell in row.get("tableCells", []):
                yield from paragraphs(cell.get("content", []))


def find_text(content: Iterable[Mapping[str, Any]], wanted: str) -> list[Span]:
    """Find all places of a text, in the order of the document; each lies within one paragraph."""
    found: list[Span] = []
    length = utf16_length(wanted)
    for paragraph in paragraphs(content):
        index, seen = paragraph.start, 0
        place = paragraph.text.find(wanted)
        while place >= 0:
            index += utf16_length(paragraph.text[seen:place])
            found.append(Span(index, index + length, wanted))
            index, seen = index + length, place + len(wanted)
            place = paragraph.text.find(wanted, seen)
    return found


def text_between(content: Iterable[Mapping[str, Any]], start: int, end: int) -> str:
    """Give the text from one index to before another; what is not a text is left out."""
    pieces = [
        utf16_slice(each.text, max(start - each.start, 0), end - each.start)
        for each in paragraphs(content)
        if each.start < end and each.end > start
    ]
    return "".join(pieces).replace(NO_TEXT, "")


def _plain(element: Mapping[str, Any]) -> str:
    if "textRun" in element:
        return str(element["textRun"].get("content", ""))
    start = int(element.get("startIndex", 0))
    return NO_TEXT * (int(element.get("endIndex", start)) - start)


@dataclass(frozen=True, slots=True)
class OpenDocument:
    """A document as it was before an edit.

    Attributes:
        id: of the document.
        title: as the user knows it.
        revision_id: to be sent along with indexes that were found in it.
        raw: as Google answered it.
    """

    id: str
    title: str
    revision_id: str
    raw: Mapping[str, Any]

    @property
    def named(self) -> str:
        """The name of the item in a question to the user."""
        return f"the document {listing([self.title or self.id])}"

    def tab(self, tab_id: str | None) -> DocumentTab:
        """Find a tab, or the first one.

        Raises:
            GoogleError: there is none of that id.
        """
        return pick_tab(tabs_of(self.raw), tab_id)


@dataclass(frozen=True, slots=True)
class Place:
    """The place in a document, as the model states it.

    Attributes:
        position: ``end``, ``start``, ``index``, ``before_text`` or ``after_text``.
        index: for ``index``, in UTF-16 code units.
        anchor_text: for ``before_text`` and ``after_text``.
        occurrence: which one of the anchor, from 1.
        tab_id: ``None`` for the first tab.

    Raises:
        GoogleError: these do not go together.
    """

    position: str
    index: int | None
    anchor_text: str | None
    occurrence: int
    tab_id: str | None

    def __post_init__(self) -> None:
        is_anchored = self.position in ("before_text", "after_text")
        if is_anchored != bool(self.anchor_text):
            raise invalid("anchor_text goes with position before_text or after_text, and these need it.")
        if (self.position == "index") != (self.index is not None):
            raise invalid("index goes with position index, and that needs it: see docs_read with include_indexes.")

    @property
    def described(self) -> str:
        """The name of the item in a question to the user."""
        if self.position in ("before_text", "after_text"):
            return f"{self.position.removesuffix('_text')} {quoted(self.anchor_text or '', 40)} in"
        return f"at index {self.index} of" if self.position == "index" else f"at the {self.position} of"

    def find(self, document: OpenDocument) -> int:
        """Find the index; ``document`` was read with text.

        Raises:
            GoogleError: the document has no such place.
        """
        tab = document.tab(self.tab_id)
        if self.position == "start":
            return 1
        if self.position == "end":
            return tab.end
        if self.index is not None:
            if self.index > tab.end:
                raise invalid(f"index must be at most {tab.end}, the end of the text.")
            return self.index
        found = match(tab, self.anchor_text or "", self.occurrence)
        return found.start if self.position == "before_text" else found.end

    def location(self, index: int) -> dict[str, Any]:
        """Write an index as Google wants it."""
        return {"location": compact({"index": index, "tabId": self.tab_id})}


def matches(tab: DocumentTab, text: str) -> list[Span]:
    """Find all places of a text.

    Raises:
        GoogleError: there is none.
    """
    # Lines within one paragraph are parted by a vertical tab, and a model has seen them as lines.
    found = find_text(tab.body, text) or find_text(tab.body, text.replace("\n", "\v"))
    if not found:
        hint = "Text is found within one paragraph only, and without the marks of Markdown."
        raise GoogleError("not_found", f"The text {excerpt(text, 60)!r} is not in the document. {hint}")
    return found


def match(tab: DocumentTab, text: str, occurrence: int) -> Span:
    """Find one place of a text, counted from 1.

    Raises:
        GoogleError: there is none.
    """
    found = matches(tab, text)
    if occurrence > len(found):
        raise GoogleError("not_found", f"The text {excerpt(text, 60)!r} is in the document {len(found)} times only.")
    return found[occurrence - 1]


async def open_document(google: GoogleClient, document_id: str, *, with_text: bool) -> OpenDocument:
    """Look at a document before an edit.

    Args:
        google: the client.
        document_id: the id.
        with_text: whether places are to be found in it; otherwise only its title and revision are asked for.

    Raises:
        GoogleError: it did not work out.
    """
    try:
        raw = await google.call(
            "docs.documents.get",
            documentId=document_id,
            includeTabsContent=True if with_text else None,
            # Indexes hold for this view only.
            suggestionsViewMode="SUGGESTIONS_INLINE" if with_text else None,
            fields=PLACE_FIELDS if with_text else "title,revisionId",
        )
    except GoogleError as error:
        if is_office_file(error):
            raise invalid(
                "This is not a Google Doc but another file, such as one of Word: it cannot be edited."
            ) from None
        raise
    return OpenDocument(document_id, str(raw.get("title", "")), str(raw.get("revisionId", "")), raw)


_UPDATED_FIELDS = "documentId,replies,writeControl/requiredRevisionId,suggestionResponses/createdSuggestionIds"


@dataclass(frozen=True, slots=True)
class Updated:
    """A document after a change.

    Attributes:
        replies: one for each request.
        revision_id: of the document now.
        suggestion_ids: what the change became, if it was to be a suggestion.
        is_suggestion: whether it was to be one.
    """

    replies: list[dict[str, Any]]
    revision_id: str
    suggestion_ids: list[str]
    is_suggestion: bool

    @property
    def state(self) -> dict[str, Any]:
        """The closing line of every answer."""
        if not self.is_suggestion:
            return {"revision_id": self.revision_id, "suggested": False}
        note = None if self.suggestion_ids else "Google did not confirm that this became a suggestion: see docs_read."
        return {
            "revision_id": self.revision_id,
            "suggested": bool(self.suggestion_ids),
            **compact({"suggestion_ids": self.suggestion_ids[:20], "note": note}),
        }


async def update(
    google: GoogleClient,
    document_id: str,
    requests: Sequence[dict[str, Any]],
    *,
    revision_id: str | None = None,
    is_suggestion: bool = False,
    hint: str = "",
) -> Updated:
    """Change a document; all requests are carried out, or none.

    Args:
        google: the client; the user has agreed.
        document_id: the document.
        requests: as Google has them; indexes in one hold for the document after those before it.
        revision_id: refuse if there is another by now; for indexes that were found in this one.
        is_suggestion: suggest it instead of doing it.
        hint: what may be the matter if Google does not accept the requests.

    Raises:
        GoogleError: it did not work out.
    """
    control = compact({"requiredRevisionId": revision_id, "writeMode": "SUGGEST" if is_suggestion else None})
    body = {"requests": list(requests), **compact({"writeControl": control})}
    try:
        answer = await send_edits(
            google,
            "docs.documents.batchUpdate",
            body,
            look_with="docs_read",
            fields=_UPDATED_FIELDS,
            documentId=document_id,
        )
    except GoogleError as error:
        if error.status != 400 or is_outdated(error) or error.error_type != "validation_error":
            raise
        more = " Nothing was changed; perhaps this cannot be made a suggestion." if is_suggestion else ""
        raise GoogleError(
            error.error_type, f"{error} {hint}".rstrip() + more, status=error.status, reasons=error.reasons
        ) from None
    return Updated(
        answer.get("replies", []),
        str(answer.get("writeControl", {}).get("requiredRevisionId", "")),
        [each for made in answer.get("suggestionResponses", []) for each in made.get("createdSuggestionIds", [])],
        is_suggestion,
    )


@google_tool
async def docs_manage_tab(
    document_id: str,
    action: str,
    tab_id: str | None = None,
    title: str | None = None,
    text: str | None = None,
    parent_tab_id: str | None = None,
    index: int | None = None,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Add, rename or delete a tab of a document."""
    google = connect(context)
    wanted = file_id(document_id, "document_id")
    _check(action, tab_id=tab_id, title=title, text=text, parent_tab_id=parent_tab_id, index=index)
    document = await open_document(google, wanted, with_text=True)
    if action == "add":
        about = compact({"title": title, "parentTabId": parent_tab_id, "index": index})
        return await _add(google, document, about, insertable(text or ""))
    tab = document.tab(tab_id)
    if action == "rename":
        await google.ask(f"rename the tab {listing([tab.title])} of {document.named} to {listing([title or ''])}")
        properties = {"tabProperties": {"tabId": tab.id, "title": title}, "fields": "title"}
        await update(google, wanted, [{"updateDocumentTabProperties": properties}], revision_id=document.revision_id)
        return {"document_id": wanted, "action": action, "tab_id": tab.id, "title": title}
    await _delete(google, document, tab)
    return {"document_id": wanted, "action": action, "tab_id": tab.id, "title": tab.title}


@google_tool
async def docs_set_header_footer(
    document_id: str,
    part: str,
    text: str,
    alignment: str | None = None,
    tab_id: str | None = None,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Write, replace or remove a header or footer."""
    google = connect(context)
    wanted = file_id(document_id, "document_id")
    text = insertable(text).rstrip("\n")
    if alignment is not None and not text:
        raise invalid("alignment goes with a text.")
    document = await open_document(google, wanted, with_text=True)
    tab = document.tab(tab_id)
    frame_id, content = tab.frame(part)
    old = text_between(content, 0, _end(content)) if content else ""
    where = f"of the tab {listing([tab.title])} in {document.named}" if tab_id else f"of {document.named}"
    answer = {"document_id": wanted, "part": part, **compact({"tab_id": tab_id, "removed_text": old.strip()[:200]})}
    if not text:
        if not frame_id:
            raise GoogleError("not_found", f"There is no {part} {where}.")
        await google.ask(f"remove the {part} {passage(old.strip())} {where}")
        request = {"deleteHeader" if part == "header" else "deleteFooter": _named(part, frame_id, tab_id)}
        done = await update(google, wanted, [request], revision_id=document.revision_id)
        return {**answer, "revision_id": done.revision_id}
    aligned = f", {alignment.lower()}-aligned" if alignment else ""
    change = f"replace the {part} {passage(old.strip())} by" if old.strip() else f"write the {part}"
    await google.ask(f"{change} {passage(text)}{aligned} {where}")
    revision_id = document.revision_id
    if not frame_id:
        frame_id, revision_id = await _create(google, document, part, tab_id)
        content = []
    requests = _writing(frame_id, tab_id, text, _end(content), alignment)
    try:
        done = await update(google, wanted, requests, revision_id=revision_id)
    except GoogleError as error:
        if content:
            raise
        raise GoogleError(
            error.error_type, f"An empty {part} was made, but its text could not be put in. {error}"
        ) from None
    return {**answer, "length": utf16_length(text), "revision_id": done.revision_id}


def _check(action: str, **arguments: str | int | None) -> None:
    """Refuse what does not go with an action.

    Raises:
        GoogleError: something is missing or too much.
    """
    given = {name for name, value in arguments.items() if value is not None}
    needed, also = _PARAMETERS[action]
    if needed - given:
        raise invalid(f"{action} needs {', '.join(sorted(needed - given))}.")
    if given - needed - also:
        raise invalid(f"{action} does not go with {', '.join(sorted(given - needed - also))}.")
    if "title" in given and not str(arguments["title"]).strip():
        raise invalid("A tab needs a title.")


async def _add(google: GoogleClient, document: OpenDocument, about: Mapping[str, Any], text: str) -> dict[str, Any]:
    below = f" below {listing([document.tab(about['parentTabId']).title])}" if "parentTabId" in about else ""
    filled = f" with the text {passage(text)}" if text else ""
    await google.ask(f"add the tab {listing([about['title']])}{below} to {document.named}{filled}")
    request = {"addDocumentTab": {"tabProperties": about}}
    done = await update(google, document.id, [request], revision_id=document.revision_id)
    made = done.replies[0].get("addDocumentTab", {}).get("tabProperties", {}) if done.replies else {}
    answer = {"document_id": document.id, "action": "add", "tab_id": made.get("tabId"), "title": about["title"]}
    if text:
        insert = {"insertText": {"location": {"index": 1, "tabId": made.get("tabId")}, "text": text}}
        try:
            await update(google, document.id, [insert], revision_id=done.revision_id)
        except GoogleError as error:
            raise GoogleError(
                error.error_type, f"The tab {made.get('tabId')} was added, but its text could not be put in. {error}"
            ) from None
    return compact(answer)


async def _delete(google: GoogleClient, document: OpenDocument, tab: DocumentTab) -> None:
    tabs = tabs_of(document.raw)
    if len([each for each in tabs if not each.parent_id]) == 1 and not tab.parent_id:
        raise invalid("A document cannot be without a tab: add another one first.")
    gone = {tab.id}
    for each in tabs:  # each comes before those below it
        if each.parent_id in gone:
            gone.add(each.id)
    below = f" and {counted(len(gone) - 1, 'tab')} below it" if len(gone) > 1 else ""
    text = text_between(tab.body, 0, tab.end).strip()
    await google.ask(
        f"delete the tab {listing([tab.title])}{below} with all of the text, {passage(text)}, from {document.named}",
        "delete",
    )
    request = {"deleteTab": {"tabId": tab.id}}
    await update(google, document.id, [request], revision_id=document.revision_id)


async def _create(google: GoogleClient, document: OpenDocument, part: str, tab_id: str | None) -> tuple[str, str]:
    """Make an empty header or footer; gives its id and the revision of the document then."""
    name = f"create{part.title()}"
    # The first section of a tab stands for all of it.
    place = {"sectionBreakLocation": {"index": 0, "tabId": tab_id}} if tab_id else {}
    request = {name: {"type": "DEFAULT", **place}}
    made = await update(google, document.id, [request], revision_id=document.revision_id)
    reply = made.replies[0].get(name, {}) if made.replies else {}
    return str(reply.get(f"{part}Id", "")), made.revision_id


def _writing(frame_id: str, tab_id: str | None, text: str, end: int, alignment: str | None) -> list[dict[str, Any]]:
    """Put a text into a header or footer, in place of the one that ends at an index."""
    segment = compact({"segmentId": frame_id, "tabId": tab_id})
    requests: list[dict[str, Any]] = []
    if end > 1:  # the last newline stays
        requests.append({"deleteContentRange": {"range": {"startIndex": 0, "endIndex": end - 1, **segment}}})
    requests.append({"insertText": {"location": {"index": 0, **segment}, "text": text}})
    if alignment is not None:
        where = {"startIndex": 0, "endIndex": utf16_length(text), **segment}
        style = {"paragraphStyle": {"alignment": alignment}, "fields": "alignment"}
        requests.append({"updateParagraphStyle": {"range": where, **style}})
    return requests


def _end(content: list[Mapping[str, Any]]) -> int:
    return int(content[-1].get("endIndex", 1)) if content else 1


def _named(part: str, frame_id: str, tab_id: str | None) -> dict[str, Any]:
    return compact({f"{part}Id": frame_id, "tabId": tab_id})
