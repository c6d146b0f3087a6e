"""The tools of the group ``google_drive`` that make something new: uploads and folders."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, google_tool
from oneclaw_google_workspace.api_request import api_request
from oneclaw_google_workspace.connecting import connect
from oneclaw_google_workspace.drive.checksums import md5_of
from oneclaw_google_workspace.drive.creating import (
    ROOT,
    checked_name,
    folder_name,
    made_after_all,
    new_id,
    target_folder,
)
from oneclaw_google_workspace.drive.kinds import GOOGLE, kind_of
from oneclaw_google_workspace.drive.media_types import checked_media_type, media_type_of
from oneclaw_google_workspace.drive.references import refer
from oneclaw_google_workspace.drive.rows import parent_of, size_of
from oneclaw_google_workspace.folders import FOLDER_TYPE
from oneclaw_google_workspace.problems import GoogleError, invalid
from oneclaw_google_workspace.wording import listing, passage, size_text

if TYPE_CHECKING:
    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient

_FIELDS = "id,name,mimeType,size,parents,webViewLink,md5Checksum"
_UNCLEAR = "Look for it with drive_search_files"
_COLOR = re.compile(r"#[0-9a-fA-F]{6}")


@dataclass(frozen=True, slots=True)
class _Source:
    """The upload.

    Attributes:
        content: a file, or its content.
        title: for questions.
        size: in bytes.
        local_name: of the file, empty if there is none.
        said: for questions, how a text begins; empty for a file.
    """

    content: Path | bytes
    title: str
    size: int
    local_name: str = ""
    said: str = ""


@google_tool
async def drive_upload_file(
    source_path: str | None = None,
    content: str | None = None,
    name: str | None = None,
    folder_id: str | None = None,
    mime_type: str | None = None,
    convert_to: str = "none",
    ocr_language: str | None = None,
    description: str | None = None,
    file_id: str | None = None,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Upload a file or a text as a new file, or as the new content of a file."""
    google = connect(context)
    if (source_path is None) == (content is None):
        raise invalid("Give either source_path or content.")
    if file_id and (folder_id or convert_to != "none"):
        raise invalid("file_id names the file whose content is replaced: it goes without folder_id and convert_to.")
    if ocr_language and convert_to != "document":
        raise invalid("ocr_language goes with convert_to document.")
    if name is not None:
        checked_name(name)
    source = _text_source(content) if content is not None else await _file_source(context, str(source_path))
    default_type = "text/plain" if content is not None else "application/octet-stream"
    named = name if name and "." in name else source.local_name or name or ""
    media_type = checked_media_type(mime_type) if mime_type else media_type_of(named, default_type)
    if file_id:
        return await _replace(google, refer(google, file_id, "file_id"), source, media_type, name, description)
    if not name and not source.local_name:
        raise invalid("Give name, with its extension, for the text.")
    is_converted = convert_to != "none"
    metadata = compact(
        {
            "name": name or (Path(source.local_name).stem if is_converted else source.local_name),
            "mimeType": f"{GOOGLE}{convert_to}" if is_converted else None,
            "description": description,
        }
    )
    folder = await target_folder(google, folder_id)
    what = f"upload {source.title} as " + (f"the Google {convert_to} " if is_converted else "")
    more = f"{_described_as(description)}{source.said}"
    await google.ask(f"{what}{listing([metadata['name']])} to {folder_name(folder)}{more}")
    metadata["parents"] = [folder.id if folder else ROOT]
    file = await _create(google, source, media_type, metadata, ocr_language, is_converted=is_converted)
    return _answer(file, is_converted=is_converted)


@google_tool
async def drive_create_folder(
    name: str,
    parent_id: str = ROOT,
    description: str | None = None,
    color: str | None = None,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Create a folder."""
    google = connect(context)
    checked_name(name)
    if color and not _COLOR.fullmatch(color):
        raise invalid(f"color must be such as #ff7537, not {color[:20]!r}.")
    folder = await target_folder(google, parent_id)
    look = f", coloured {color}" if color else ""
    await google.ask(f"create the folder {listing([name])} in {folder_name(folder)}{look}{_described_as(description)}")
    fields = "id,name,parents,webViewLink"
    own_id = await new_id(google)
    body = compact({"name": name, "description": description, "folderColorRgb": color})
    body |= {"id": own_id, "mimeType": FOLDER_TYPE, "parents": [folder.id if folder else ROOT]}
    try:
        made = await google.call("drive.files.create", body=body, is_repeatable=True, fields=fields)
    except GoogleError as error:
        made = await made_after_all(google, own_id, error, fields)
    return compact(
        {
            "id": made.get("id"),
            "name": made.get("name"),
            "parent_id": parent_of(made),
            "link": made.get("webViewLink"),
        }
    )


async def _create(
    google: GoogleClient,
    source: _Source,
    media_type: str,
    metadata: dict[str, Any],
    ocr_language: str | None,
    *,
    is_converted: bool,
) -> dict[str, Any]:
    # What becomes one of Google's own files cannot be given an id.
    own_id = None if is_converted else await new_id(google)
    request = api_request(
        "drive.files.create",
        body={**metadata, **compact({"id": own_id})},
        ocrLanguage=ocr_language,
        fields=_FIELDS,
        unclear_hint=_UNCLEAR,
    )
    try:
        file = await google.upload(request, source.content, media_type)
    except GoogleError as error:
        if own_id is None:
            raise
        file = await made_after_all(google, own_id, error, _FIELDS)
    await _compare(source, file)
    return file


async def _replace(
    google: GoogleClient, file_id: str, source: _Source, media_type: str, name: str | None, description: str | None
) -> dict[str, Any]:
    before = await google.call("drive.files.get", fileId=file_id, fields="id,name,mimeType,capabilities/canEdit")
    title = listing([before.get("name", file_id)])
    if before.get("mimeType") == FOLDER_TYPE:
        raise invalid(f"{title} is a folder. Give it as folder_id to upload into it.")
    if before.get("capabilities", {}).get("canEdit") is False:
        raise GoogleError("permission_denied", f"{google.account.label} may not change {title}.")
    renamed = f" and rename it to {listing([name])}" if name else ""
    more = f"{renamed}{_described_as(description)}{source.said}"
    await google.ask(f"replace the content of {title} with {source.title}{more}")
    request = api_request(
        "drive.files.update",
        fileId=before["id"],
        body={key: value for key, value in (("name", name), ("description", description)) if value is not None},
        fields=_FIELDS,
        unclear_hint="Look at its size and time with drive_get_file",
    )
    file = await google.upload(request, source.content, media_type)
    await _compare(source, file)
    return {**_answer(file, is_converted=False), "replaced": True}


async def _compare(source: _Source, file: dict[str, Any]) -> None:
    """Make sure that what is there now is what was sent; converted files have no checksum."""
    if not file.get("md5Checksum"):
        return
    try:
        is_same = await md5_of(source.content) == file["md5Checksum"]
    except OSError as error:
        raise invalid(f"{source.title} cannot be read any more: {error.strerror or error}.") from None
    if not is_same:
        raise GoogleError(
            "execution_error",
            f"What Google has kept under the id {file['id']} is not what was sent: the file was changed or damaged "
            f"on its way. Upload it again with file_id {file['id']}.",
        )


def _described_as(description: str | None) -> str:
    return "" if description is None else f", described as {passage(description)}"


def _text_source(content: str) -> _Source:
    data = content.encode("utf-8", "replace")
    return _Source(data, f"a text ({size_text(len(data))})", len(data), said=f": {passage(content)}")


async def _file_source(context: ToolContext, source_path: str) -> _Source:
    path = await context.readable(source_path)
    if not path.is_file():
        problem = "is a folder; give one of its files" if path.is_dir() else "does not exist"
        raise invalid(f"{source_path[:200]!r} {problem}.")
    size = path.stat().st_size
    return _Source(path, f"{listing([context.paths.display(path)])} ({size_text(size)})", size, path.name)


def _answer(file: dict[str, Any], *, is_converted: bool) -> dict[str, Any]:
    return compact(
        {
            "id": file.get("id"),
            "name": file.get("name"),
            "type": kind_of(str(file.get("mimeType", ""))),
            "size": size_of(file),
            "link": file.get("webViewLink"),
            "folder_id": parent_of(file),
            "converted": is_converted or None,
        }
    )
