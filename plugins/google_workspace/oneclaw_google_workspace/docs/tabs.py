"""Tabs of documents, and their headers and footers: ``docs_manage_tab`` and ``docs_set_header_footer``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, google_tool
from oneclaw_google_workspace.connecting import connect
from oneclaw_google_workspace.docs.document import open_document, tabs_of, text_between, update
from oneclaw_google_workspace.editors import insertable, utf16_length
from oneclaw_google_workspace.links import file_id
from oneclaw_google_workspace.problems import GoogleError, invalid
from oneclaw_google_workspace.wording import counted, listing, passage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient
    from oneclaw_google_workspace.docs.document import DocumentTab, OpenDocument

# What each action needs, and what it can take beside that.
_PARAMETERS: dict[str, tuple[set[str], set[str]]] = {
    "add": ({"title"}, {"text", "parent_tab_id", "index"}),
    "rename": ({"tab_id", "title"}, set()),
    "delete": ({"tab_id"}, set()),
}


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
