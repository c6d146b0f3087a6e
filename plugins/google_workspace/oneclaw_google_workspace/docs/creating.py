"""Creating documents: ``docs_create``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, google_tool
from oneclaw_google_workspace.api_request import api_request
from oneclaw_google_workspace.connecting import connect
from oneclaw_google_workspace.docs.updates import update
from oneclaw_google_workspace.editor_text import insertable, utf16_length
from oneclaw_google_workspace.folders import find_folder, in_folder
from oneclaw_google_workspace.problems import GoogleError, invalid
from oneclaw_google_workspace.wording import listing, passage

if TYPE_CHECKING:
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
