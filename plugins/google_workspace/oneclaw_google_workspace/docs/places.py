"""The conversion of a place stated by a model into an index of a document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact
from oneclaw_google_workspace.docs.structure import PLACE_FIELDS, find_text, pick_tab, tabs_of
from oneclaw_google_workspace.edits import is_office_file
from oneclaw_google_workspace.problems import GoogleError, invalid
from oneclaw_google_workspace.wording import excerpt, listing, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_google_workspace.client import GoogleClient
    from oneclaw_google_workspace.docs.structure import DocumentTab, Span


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
            raise invalid("This is no Google Doc but another file, such as one of Word: it cannot be edited.") from None
        raise
    return OpenDocument(document_id, str(raw.get("title", "")), str(raw.get("revisionId", "")), raw)
