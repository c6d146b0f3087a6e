"""The export formats of Google's document types, such as Word for documents and CSV for spreadsheets."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.api_request import api_request
from oneclaw_google_workspace.drive.kinds import EXPORT_TYPES, VIDEO_TYPE, ZIPPED_PAGE_TYPE, export_words, kind_of
from oneclaw_google_workspace.problems import GoogleError, invalid

if TYPE_CHECKING:
    from pathlib import Path

    from oneclaw_google_workspace.api_request import ApiRequest
    from oneclaw_google_workspace.client import GoogleClient
    from oneclaw_google_workspace.downloads import Download

_OPERATION_FIELDS = "name,done,error(code,message),response"
_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 5.0


async def export_type(google: GoogleClient, mime_type: str, word: str) -> str:
    """Find the media type that a file can be exported as.

    Args:
        google: the client.
        mime_type: of the file.
        word: of ``export_format``, but for ``auto``.

    Raises:
        GoogleError: there is no page to be had; the message says what is.
    """
    if word != "html":
        return EXPORT_TYPES[word]
    offered = await _offered(google, mime_type)
    for each in (EXPORT_TYPES["html"], ZIPPED_PAGE_TYPE):
        if each in offered:
            return each
    raise _not_offered(mime_type, word, offered)


async def export_to(google: GoogleClient, file: dict[str, Any], word: str, media_type: str, target: Path) -> Download:
    """Export a file of any size.

    Args:
        google: the client.
        file: id and media type, as Google answers them.
        word: of ``export_format``, for messages.
        media_type: from :func:`export_type`.
        target: where it is saved.

    Raises:
        GoogleError: it did not work out.
    """
    if file["mimeType"] != VIDEO_TYPE:
        request = api_request("drive.files.export", fileId=file["id"], mimeType=media_type)
        try:
            return await google.download(request, target)
        except GoogleError as error:
            if error.status == 400:
                raise _not_offered(file["mimeType"], word, await _offered(google, file["mimeType"])) from None
            # What is longer than 10 MB has to be made ready first.
            if "exportSizeLimitExceeded" not in error.reasons:
                raise
    request = api_request("drive.files.download", fileId=file["id"], mimeType=media_type, fields=_OPERATION_FIELDS)
    link = await _link(google, request)
    return await google.download_link(request, link, target)


async def _link(google: GoogleClient, request: ApiRequest) -> str:
    """Wait until an export is ready; the timeout of the tool ends the waiting."""
    operation = await google.send(request)
    pause = _FIRST_PAUSE_SECONDS
    while not operation.get("done"):
        name = str(operation.get("name", "")).removeprefix("operations/")
        google.context.progress("Google prepares the file")
        await asyncio.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)
        operation = await google.call("drive.operations.get", name=name, fields=_OPERATION_FIELDS)
    if operation.get("error"):
        said = " ".join(str(operation["error"].get("message", "")).split())[:300]
        raise GoogleError("execution_error", f"Google could not export the file: {said or 'it does not say why'}.")
    response = operation.get("response", {})
    # The answer is not described; the link in it is called downloadUri at the time of writing.
    links = [response.get("downloadUri"), *response.values()]
    for link in links:
        if isinstance(link, str) and link.startswith("https://"):
            return link
    raise GoogleError("execution_error", "Google has exported the file, but does not say where it is.")


async def _offered(google: GoogleClient, mime_type: str) -> list[str]:
    about = await google.call("drive.about.get", fields="exportFormats")
    found: list[str] = about.get("exportFormats", {}).get(mime_type, [])
    return found


def _not_offered(mime_type: str, word: str, offered: list[str]) -> GoogleError:
    words = ", ".join(export_words(offered)) or "nothing else"
    return invalid(f"A Google {kind_of(mime_type)} cannot become {word}. export_format can be: {words}.")
