"""The structure of a document: its tabs, and where in them which text is; pure, without any I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.editor_text import utf16_length, utf16_slice
from oneclaw_google_workspace.problems import GoogleError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

# What Google itself puts into a text for an image, a person or the like.
NO_TEXT = "\ue907"
_RUNS = "startIndex,endIndex,paragraph/elements(startIndex,endIndex,textRun/content)"
# Tabs and tables within others are asked for whole: a mask has no way to say "and so on".
_BODY = f"body/content({_RUNS},table/tableRows/tableCells(startIndex,content({_RUNS},table)))"
PLACE_FIELDS = (
    f"title,revisionId,tabs(tabProperties(tabId,title,parentTabId),childTabs,documentTab({_BODY},"
    "documentStyle(defaultHeaderId,defaultFooterId),headers,footers))"
)


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

    A table of contents repeats headings and is left out. What is no text counts as so many :data:`NO_TEXT` as it takes
    up indexes.
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
    """Give the text from one index to before another; what is no text is left out."""
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
