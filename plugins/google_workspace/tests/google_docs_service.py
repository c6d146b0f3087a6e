"""The stand-in's Google Docs."""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from google_comments import UNKNOWN_REQUEST, UNKNOWN_VIEW
from google_docs_text import GLYPHS, TabText, Unit, units_of
from google_service import ApiError, Call, Service, bad_request, handles, not_found

PRESETS = {
    "bullets": "BULLET_DISC_CIRCLE_SQUARE",
    "numbers": "NUMBERED_DECIMAL_ALPHA_ROMAN",
    "checkboxes": "BULLET_CHECKBOX",
}
MIME_TYPE = "application/vnd.google-apps.document"


@dataclass
class Document:
    """A document.

    Attributes:
        title: of it.
        tabs: their texts by id, in order.
        names: titles of the tabs.
        parents: the tabs that others are below.
        revision: of it now.
        comments: Google's threads.
        viewers: who may read and no more.
        is_office: whether it is a file of Word.
    """

    title: str
    tabs: dict[str, TabText]
    names: dict[str, str]
    parents: dict[str, str] = field(default_factory=dict)
    revision: str = ""
    comments: list[dict[str, Any]] = field(default_factory=list)
    viewers: set[str] = field(default_factory=set)
    is_office: bool = False


class Docs(Service):
    """Documents.

    Attributes:
        documents: by id.
        knows_suggestions: whether changes can be suggested.
        knows_comments: whether this API has comments, as it has for some projects only.
    """

    def start(self) -> None:
        self.documents: dict[str, Document] = {}
        self.knows_suggestions = True
        self.knows_comments = True

    # Arranging

    def add(self, title: str, *blocks: Any, document_id: str | None = None) -> str:
        """Have a document; gives its id.

        Args:
            title: of it.
            blocks: paragraphs; see :meth:`write`.
            document_id: of it.
        """
        document_id = document_id or self.new_id("document-")
        self.documents[document_id] = Document(title, {"t.0": TabText()}, {"t.0": "Tab 1"}, revision=self.new_id("rev"))
        self.write(document_id, *blocks)
        return document_id

    def add_tab(self, document_id: str, title: str, *blocks: Any, parent: str | None = None) -> str:
        document = self.documents[document_id]
        tab_id = f"t.{self.new_id('tab')}"
        document.tabs[tab_id], document.names[tab_id] = TabText(), title
        if parent is not None:
            document.parents[tab_id] = parent
        self.write(document_id, *blocks, tab_id=tab_id)
        return tab_id

    def write(self, document_id: str, *blocks: Any, tab_id: str = "t.0") -> None:
        """Fill an empty tab as one of Google's own apps would.

        Args:
            document_id: of a document.
            blocks: texts, or dicts with ``text`` or ``runs`` (texts with styles, or Google's elements), and ``style``,
                ``list``, ``level``; or with ``table`` (rows of texts), or ``contents`` (the headings of a table of
                contents).
            tab_id: of the tab.
        """
        tab = self.documents[document_id].tabs[tab_id]
        units: list[Unit] = []
        for each in blocks:
            block = {"text": each} if isinstance(each, str) else each
            if "table" in block:
                units += [Unit("table")]
                for row in block["table"]:
                    units.append(Unit("row"))
                    for cell in row:
                        units += [Unit("cell"), *units_of(f"{cell}\n", {})]
                units.append(Unit("table_end"))
            elif "contents" in block:
                units += [Unit("toc"), *units_of("\n".join(block["contents"]) + "\n", {}), Unit("toc_end")]
            else:
                units += self._paragraph(tab, block)
        if units and units[-1].kind != "newline":
            units.append(Unit("newline"))
        tab.units = [Unit("section"), *(units or [Unit("newline")])]

    def _paragraph(self, tab: TabText, block: dict[str, Any]) -> list[Unit]:
        units: list[Unit] = []
        for text, style in block.get("runs", [(block.get("text", ""), {})]):
            if isinstance(text, dict):
                units.append(Unit("object", text))
            else:
                marks = {name: style[name] for name in ("inserted", "deleted") if name in style}
                shown = {name: value for name, value in style.items() if name not in marks}
                units += units_of(text, shown, **marks)
        newline = Unit("newline", paragraph={"namedStyleType": block.get("style", "NORMAL_TEXT")})
        if "list" in block:
            list_id = f"kix.{block['list']}"
            tab.lists[list_id] = {"listProperties": {"nestingLevels": [GLYPHS[PRESETS[block["list"]]]] * 9}}
            level = block.get("level", 0)
            newline.bullet = {"listId": list_id, **({"nestingLevel": level} if level else {})}
        return [*units, newline]

    def plain(self, document_id: str, tab_id: str | None = None) -> str:
        """The text of a tab, by default of the first."""
        tabs = self.documents[document_id].tabs
        return (tabs[tab_id] if tab_id else next(iter(tabs.values()))).plain

    def units_end(self, document_id: str) -> int:
        """The index of the last newline of the first tab."""
        return len(next(iter(self.documents[document_id].tabs.values())).units) - 1

    def touch(self, document_id: str) -> None:
        """Somebody else changes something."""
        self.documents[document_id].revision = self.new_id("rev")

    # Methods

    def _document(self, document_id: str) -> Document:
        if document_id not in self.documents:
            self._import(document_id)
        document = self.documents[document_id]
        if document.is_office:
            raise ApiError(400, "FAILED_PRECONDITION", "This operation is not supported for this document")
        return document

    def _import(self, document_id: str) -> None:
        """Take over what was made by way of Drive."""
        drive = self.server.services.get("drive")
        kept = getattr(drive, "files", {}).get(document_id)
        if kept is None or kept.values["mimeType"] != MIME_TYPE:
            raise not_found("Requested entity")
        content = kept.exports.get("text/plain", b"")
        text = (content.read_bytes() if isinstance(content, Path) else content).decode()
        blocks: list[Any] = []
        for line in text.splitlines():
            match = re.match(r"(#+|-) (.*)", line)
            if match is None:
                blocks += [line] if line else []
            elif match[1] == "-":
                blocks.append({"text": match[2], "list": "bullets"})
            else:
                blocks.append({"text": match[2], "style": f"HEADING_{len(match[1])}"})
        self.add(kept.values["name"], *blocks, document_id=document_id)

    @handles("docs.documents.create")
    def create(self, call: Call) -> dict[str, Any]:
        document_id = self.add(call.body.get("title", "Untitled document"))
        if "drive" in self.server.services:
            drive: Any = self.server.services["drive"]
            drive.add_google_file(self.documents[document_id].title, "document", document_id, owner=call.user)
        document = self.documents[document_id]
        return {"documentId": document_id, "title": document.title, "revisionId": document.revision}

    @handles("docs.documents.get")
    def get(self, call: Call) -> dict[str, Any]:
        document = self._document(call["documentId"])
        may_edit = call.user not in document.viewers
        view = call.get("suggestionsViewMode", "DEFAULT_FOR_CURRENT_ACCESS")
        if view == "DEFAULT_FOR_CURRENT_ACCESS":
            view = "SUGGESTIONS_INLINE" if may_edit else "PREVIEW_WITHOUT_SUGGESTIONS"
        if not may_edit and view != "PREVIEW_WITHOUT_SUGGESTIONS":
            raise ApiError(403, "PERMISSION_DENIED", "The caller does not have permission to view suggestions.")
        found: dict[str, Any] = {
            "documentId": call["documentId"],
            "title": document.title,
            "suggestionsViewMode": view,
        }
        if may_edit:
            found["revisionId"] = document.revision
        if "commentsViewMode" in call.parameters:
            if not self.knows_comments:
                raise bad_request(UNKNOWN_VIEW)
            if not call.get("includeTabsContent"):
                raise bad_request("commentsViewMode needs includeTabsContent.")
            if call["commentsViewMode"] == "COMMENTS_VIEW_MODE_INCLUDED":
                if call.get("suggestionsViewMode") != "SUGGESTIONS_INLINE":
                    raise bad_request("Comments need suggestions inline.")
                kept = self.server.services["drive"].by_editor(call["documentId"], call.user)
                found["comments"] = [*document.comments, *kept]
        if call.get("includeTabsContent"):
            found["tabs"] = self._tabs(document, "", view)
        else:
            found |= next(iter(document.tabs.values())).document_tab(view)
        return found

    def _tabs(self, document: Document, parent: str, view: str) -> list[dict[str, Any]]:
        found = []
        for tab_id, tab in document.tabs.items():
            if document.parents.get(tab_id, "") == parent:
                about = {"tabId": tab_id, "title": document.names[tab_id], "index": len(found)}
                if parent:
                    about["parentTabId"] = parent
                below = self._tabs(document, tab_id, view)
                found.append({"tabProperties": about, "documentTab": tab.document_tab(view), "childTabs": below})
        return found

    @handles("docs.documents.batchUpdate")
    def batch_update(self, call: Call) -> dict[str, Any]:
        document = self._document(call["documentId"])
        if call.user in document.viewers:
            raise ApiError(403, "PERMISSION_DENIED", "The caller does not have permission")
        control = call.body.get("writeControl", {})
        required = control.get("requiredRevisionId", document.revision)
        if required != document.revision:
            raise bad_request(f"The required revision ID '{required}' does not match the latest revision.")
        suggestion = None
        if control.get("writeMode") == "SUGGEST":
            if not self.knows_suggestions:
                raise bad_request("Invalid value at 'write_control.write_mode', \"SUGGEST\"")
            suggestion = self.new_id("suggest.")
        before = copy.deepcopy(document.tabs)
        try:
            replies = [
                self._insert_comment(call, document, each["insertComment"])
                if "insertComment" in each
                else self._apply(document, number, each, suggestion)
                for number, each in enumerate(call.body["requests"])
            ]
        except ApiError:
            document.tabs = before
            raise
        document.revision = self.new_id("rev")
        answer: dict[str, Any] = {
            "documentId": call["documentId"],
            "replies": replies,
            "writeControl": {"requiredRevisionId": document.revision},
        }
        if suggestion is not None:
            answer["suggestionResponses"] = [{"createdSuggestionIds": [suggestion]} for _ in replies]
        return answer

    def _apply(
        self, document: Document, number: int, request: dict[str, Any], suggestion: str | None
    ) -> dict[str, Any]:
        ((name, body),) = request.items()
        handler = getattr(self, re.sub("([A-Z])", r"_\1", f"_{name}").lower())
        try:
            return handler(document, body, suggestion) or {}
        except ApiError as error:
            raise bad_request(f"Invalid requests[{number}].{name}: {error.message}") from None

    def _insert_comment(self, call: Call, document: Document, body: dict[str, Any]) -> dict[str, Any]:
        if not self.knows_comments:
            raise bad_request(UNKNOWN_REQUEST)
        where = body["range"]
        tab = self._tab(document, where)
        tab.check_range(where["startIndex"], where["endIndex"])
        quote = "".join(unit.value for unit in tab.units[where["startIndex"] : where["endIndex"]])
        drive: Any = self.server.services["drive"]
        made = drive.comment(call["documentId"], body["content"], author=call.user, quote=quote, place=where)
        return {"insertComment": {"commentThread": made.by_editor(call.user)}}

    def _place(self, document: Document, body: dict[str, Any]) -> tuple[TabText, int]:
        assert ("location" in body) != ("endOfSegmentLocation" in body)
        where = body.get("location", body.get("endOfSegmentLocation"))
        tab = self._tab(document, where)
        return tab, where["index"] if "location" in body else len(tab.units) - 1

    @staticmethod
    def _tab(document: Document, where: dict[str, Any]) -> TabText:
        tab_id = where.get("tabId", next(iter(document.tabs)))
        if tab_id not in document.tabs:
            raise bad_request(f"The tab {tab_id} does not exist.")
        tab = document.tabs[tab_id]
        if not where.get("segmentId"):
            return tab
        for frames in tab.frames.values():
            if where["segmentId"] in frames:
                return frames[where["segmentId"]]
        raise bad_request(f"The segment {where['segmentId']} does not exist.")

    def _create_header(self, document: Document, body: dict[str, Any], _: str | None) -> dict[str, Any]:
        return self._create_frame(document, body, "header")

    def _create_footer(self, document: Document, body: dict[str, Any], _: str | None) -> dict[str, Any]:
        return self._create_frame(document, body, "footer")

    def _create_frame(self, document: Document, body: dict[str, Any], part: str) -> dict[str, Any]:
        tab = self._tab(document, body.get("sectionBreakLocation", {}))
        if body["type"] != "DEFAULT":
            raise bad_request("The type must be specified.")
        if tab.frames[part]:
            raise bad_request(f"A {part} of the type DEFAULT already exists.")
        frame_id = self.new_id(f"kix.{part}")
        tab.frames[part][frame_id] = TabText.frame()
        return {f"create{part.title()}": {f"{part}Id": frame_id}}

    def _delete_header(self, document: Document, body: dict[str, Any], _: str | None) -> None:
        del self._tab(document, body).frames["header"][body["headerId"]]

    def _delete_footer(self, document: Document, body: dict[str, Any], _: str | None) -> None:
        del self._tab(document, body).frames["footer"][body["footerId"]]

    def _add_document_tab(self, document: Document, body: dict[str, Any], _: str | None) -> dict[str, Any]:
        about = body["tabProperties"]
        parent = about.get("parentTabId", "")
        if parent and parent not in document.tabs:
            raise bad_request(f"The tab {parent} does not exist.")
        siblings = [each for each in document.tabs if document.parents.get(each, "") == parent]
        index = about.get("index", len(siblings))
        if index > len(siblings):
            raise bad_request("The index is out of bounds.")
        tab_id = f"t.{self.new_id('tab')}"
        order = list(document.tabs)
        order.insert(order.index(siblings[index]) if index < len(siblings) else len(order), tab_id)
        document.tabs[tab_id] = TabText()
        document.tabs = {each: document.tabs[each] for each in order}
        document.names[tab_id] = about.get("title", "Untitled tab")
        if parent:
            document.parents[tab_id] = parent
        return {"addDocumentTab": {"tabProperties": {**about, "tabId": tab_id, "index": index}}}

    def _update_document_tab_properties(self, document: Document, body: dict[str, Any], _: str | None) -> None:
        assert body["fields"] == "title"
        self._tab(document, body["tabProperties"])
        document.names[body["tabProperties"]["tabId"]] = body["tabProperties"]["title"]

    def _delete_tab(self, document: Document, body: dict[str, Any], _: str | None) -> None:
        self._tab(document, body)
        gone = [body["tabId"]]
        gone += [each for each in document.tabs if document.parents.get(each) in gone]
        if len(gone) == len(document.tabs):
            raise bad_request("The last tab cannot be deleted.")
        document.tabs = {each: tab for each, tab in document.tabs.items() if each not in gone}

    def _insert_text(self, document: Document, body: dict[str, Any], suggestion: str | None) -> None:
        if not body.get("text"):
            raise bad_request("Insert text requests must specify text to insert.")
        tab, index = self._place(document, body)
        tab.insert_text(index, body["text"], **({"inserted": suggestion} if suggestion else {}))

    def _delete_content_range(self, document: Document, body: dict[str, Any], suggestion: str | None) -> None:
        tab, where = self._tab(document, body["range"]), body["range"]
        if suggestion:
            tab.mark_deleted(where["startIndex"], where["endIndex"], suggestion)
        else:
            tab.delete(where["startIndex"], where["endIndex"])

    def _replace_all_text(self, document: Document, body: dict[str, Any], suggestion: str | None) -> dict[str, Any]:
        criteria = body["containsText"]
        text = criteria["text"] if criteria.get("searchByRegex") else re.escape(criteria["text"])
        try:
            pattern = re.compile(text, 0 if criteria.get("matchCase") else re.IGNORECASE)
        except re.error:
            raise bad_request("Invalid regular expression.") from None
        tab_ids = body.get("tabsCriteria", {}).get("tabIds", list(document.tabs))
        tabs = [self._tab(document, {"tabId": tab_id}) for tab_id in tab_ids]
        count = sum(tab.replace_all(pattern, body.get("replaceText", ""), suggestion) for tab in tabs)
        return {"replaceAllText": {"occurrencesChanged": count} if count else {}}

    def _insert_table(self, document: Document, body: dict[str, Any], _: str | None) -> None:
        tab, index = self._place(document, body)
        tab.insert_table(index, body["rows"], body["columns"])

    def _insert_inline_image(self, document: Document, body: dict[str, Any], _: str | None) -> dict[str, Any]:
        tab, index = self._place(document, body)
        if "private" in body["uri"]:
            raise bad_request("There was a problem retrieving the image. It should be publicly accessible.")
        object_id = self.new_id("kix.image")
        tab.insert_object(index, {"inlineObjectElement": {"inlineObjectId": object_id}})
        about = {"imageProperties": {"sourceUri": body["uri"]}, "size": body.get("objectSize", {})}
        tab.images[object_id] = {"objectId": object_id, "inlineObjectProperties": {"embeddedObject": about}}
        return {"insertInlineImage": {"objectId": object_id}}

    def _insert_page_break(self, document: Document, body: dict[str, Any], _: str | None) -> None:
        tab, index = self._place(document, body)
        if tab.is_in_table(index):
            raise bad_request("Page breaks cannot be inserted inside a table.")
        tab.insert_text(index, "\n")
        tab.insert_object(index, {"pageBreak": {"textStyle": {}}})

    def _update_text_style(self, document: Document, body: dict[str, Any], suggestion: str | None) -> None:
        where = body["range"]
        if not suggestion:
            fields = body["fields"].split(",")
            self._tab(document, where).style_text(where["startIndex"], where["endIndex"], body["textStyle"], fields)

    def _update_paragraph_style(self, document: Document, body: dict[str, Any], suggestion: str | None) -> None:
        where = body["range"]
        if not suggestion:
            tab, fields = self._tab(document, where), body["fields"].split(",")
            tab.style_paragraphs(where["startIndex"], where["endIndex"], body["paragraphStyle"], fields)

    def _create_paragraph_bullets(self, document: Document, body: dict[str, Any], _: str | None) -> None:
        where, tab = body["range"], self._tab(document, body["range"])
        tab.add_bullets(where["startIndex"], where["endIndex"], body["bulletPreset"], self.new_id("kix.list"))

    def _delete_paragraph_bullets(self, document: Document, body: dict[str, Any], _: str | None) -> None:
        where = body["range"]
        self._tab(document, where).remove_bullets(where["startIndex"], where["endIndex"])


SERVICE = Docs
