"""The tool ``drive_download_file``."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from oneclaw_core import untrusted
from oneclaw_google_workspace.answers import from_outside, google_tool
from oneclaw_google_workspace.api_request import api_request
from oneclaw_google_workspace.connecting import connect
from oneclaw_google_workspace.drive.checksums import md5_of
from oneclaw_google_workspace.drive.exporting import export_to, export_type
from oneclaw_google_workspace.drive.file_names import place_for, safe_name
from oneclaw_google_workspace.drive.kinds import (
    DEFAULT_EXPORTS,
    EXPORT_TYPES,
    GOOGLE,
    SHORTCUT_TYPE,
    ZIPPED_PAGE_TYPE,
    is_text,
    kind_of,
)
from oneclaw_google_workspace.drive.media_types import media_type_of
from oneclaw_google_workspace.drive.references import refer
from oneclaw_google_workspace.drive.rows import size_of
from oneclaw_google_workspace.drive.texts import decoded
from oneclaw_google_workspace.problems import GoogleError, invalid
from oneclaw_google_workspace.shown_size import beginning_within, room_beside
from oneclaw_google_workspace.wording import listing

if TYPE_CHECKING:
    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient

_FIELDS = "id,name,mimeType,size,md5Checksum,capabilities/canDownload,shortcutDetails/targetId"
_AUTO = "auto"
# No character takes more bytes in UTF-8 or UTF-16.
_BYTES_PER_CHARACTER = 4
# What comes before it is fetched as well, for no one knows which byte a character begins with.
MAX_OFFSET = 2_000_000
_REST = "The rest is too far from the beginning to be given as text: save the file with save_path."


@dataclass(frozen=True, slots=True)
class _Part:
    """The part of a text that is wanted.

    Attributes:
        offset: of its first character.
        max_characters: how long it may be.
    """

    offset: int
    max_characters: int

    @property
    def end_byte(self) -> int:
        """An upper bound of the number of bytes."""
        return _BYTES_PER_CHARACTER * (self.offset + self.max_characters)


@google_tool
async def drive_download_file(
    file_id: str,
    export_format: str = _AUTO,
    save_path: str | None = None,
    max_chars: int = 50_000,
    offset: int = 0,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Give the text of a file, or save it."""
    google = connect(context)
    part = _Part(offset, max_chars)
    file = await _file(google, refer(google, file_id, "file_id"))
    if file["mimeType"].startswith(GOOGLE):
        answer = await _export(google, file, export_format, save_path, part)
    else:
        answer = await _download(google, file, export_format, save_path, part)
    return from_outside(answer, "files")


async def _file(google: GoogleClient, file_id: str) -> dict[str, Any]:
    """Look at a file, or at what a shortcut leads to."""
    file = await google.call("drive.files.get", fileId=file_id, fields=_FIELDS)
    if file.get("mimeType") == SHORTCUT_TYPE and file.get("shortcutDetails", {}).get("targetId"):
        file = await google.call("drive.files.get", fileId=file["shortcutDetails"]["targetId"], fields=_FIELDS)
    title, mime_type = listing([file.get("name", file_id)]), str(file.get("mimeType", ""))
    if mime_type.startswith(GOOGLE) and mime_type not in DEFAULT_EXPORTS:
        hint = "; list what is in it with drive_list_files" if kind_of(mime_type) == "folder" else ""
        raise invalid(f"{title} is a Google {kind_of(mime_type)}, which cannot be downloaded{hint}.")
    if file.get("capabilities", {}).get("canDownload") is False:
        raise GoogleError("permission_denied", f"The owner of {title} does not allow downloads of it.")
    return {**file, "name": str(file.get("name", "")), "mimeType": mime_type}


async def _export(
    google: GoogleClient, file: dict[str, Any], export_format: str, save_path: str | None, part: _Part
) -> dict[str, Any]:
    word = _word(file, export_format, save_path)
    media_type = await export_type(google, file["mimeType"], word)
    extension = "zip" if media_type == ZIPPED_PAGE_TYPE else word
    answer = {**_identity(file), "exported_as": extension}
    if save_path is not None:
        target = await place_for(google.context, save_path, safe_name(file["name"], extension))
        saved = await export_to(google, file, word, media_type, target)
        return {**answer, "size": saved.size, "saved_path": str(saved.path)}
    if not is_text(media_type):
        raise _needs_path(file, f"as {extension}", safe_name(file["name"], extension))
    with TemporaryDirectory(prefix="oneclaw-google-") as folder:
        exported = await export_to(google, file, word, media_type, Path(folder) / "export")
        content = await asyncio.to_thread(_first_bytes, exported.path, part.end_byte)
    is_cut = exported.size > part.end_byte
    text = decoded(content, is_cut=is_cut)
    return _with_text({**answer, "size": exported.size}, text, part, google.context, is_cut=is_cut)


def _word(file: dict[str, Any], export_format: str, save_path: str | None) -> str:
    """Choose the format: what is asked for, what the name of the target says, or what suits the kind of file."""
    if export_format != _AUTO:
        return export_format
    ending = Path(save_path).suffix.lower().removeprefix(".") if save_path else ""
    return ending if ending in EXPORT_TYPES else DEFAULT_EXPORTS[file["mimeType"]]


async def _download(
    google: GoogleClient, file: dict[str, Any], export_format: str, save_path: str | None, part: _Part
) -> dict[str, Any]:
    if export_format != _AUTO and EXPORT_TYPES[export_format] != file["mimeType"]:
        raise invalid(
            f"{listing([file['name']])} is no Google file but {file['mimeType']}, which comes as it is: leave "
            "export_format out."
        )
    request = api_request("drive.files.get", fileId=file["id"], alt="media")
    if save_path is not None:
        target = await place_for(google.context, save_path, safe_name(file["name"]))
        saved = await google.download(request, target, check=partial(_compare, file))
        return {**_identity(file), "size": saved.size, "saved_path": str(saved.path)}
    if not (is_text(file["mimeType"]) or is_text(media_type_of(file["name"]))):
        raise _needs_path(file, "", safe_name(file["name"]))
    size = size_of(file) or 0
    content, content_type = b"", ""
    if size:  # of nothing there is no first byte to be had
        _, headers, content = await google.exchange(
            request, request.url, headers={"Range": f"bytes=0-{min(size, part.end_byte) - 1}"}
        )
        content_type = headers.get("content-type", "")
    is_cut = size > len(content)
    text = decoded(content, content_type, is_cut=is_cut)
    return _with_text({**_identity(file), "size": size}, text, part, google.context, is_cut=is_cut)


async def _compare(file: dict[str, Any], path: Path) -> None:
    """Make sure that what has arrived is what was there."""
    if file.get("md5Checksum") and await md5_of(path) != file["md5Checksum"]:
        raise GoogleError("execution_error", f"{listing([file['name']])} was changed or damaged on its way. Try again.")


def _identity(file: dict[str, Any]) -> dict[str, Any]:
    return {"id": file["id"], "name": file["name"], "mime_type": file["mimeType"]}


def _with_text(answer: dict[str, Any], text: str, part: _Part, context: ToolContext, *, is_cut: bool) -> dict[str, Any]:
    """Add the wanted part of a text, as far as it is shown beside the rest of the answer.

    Args:
        answer: the rest.
        text: the beginning of the file's.
        part: the wanted one.
        context: of the call.
        is_cut: whether the file goes on after the text.
    """
    if part.offset and part.offset >= len(text) and not is_cut:
        raise invalid(f"offset must be below {len(text):,}, the number of characters of the text.")

    def told(shown: str, end: int) -> dict[str, Any]:
        marked = untrusted(shown, f"the file {listing([answer['name']])} in Google Drive")
        if end == len(text) and not is_cut:
            return {**answer, "text": marked}
        if end > MAX_OFFSET:
            return {**answer, "text": marked, "truncated": True, "note": _REST}
        return {**answer, "text": marked, "truncated": True, "next_offset": end}

    room = room_beside(from_outside(told("", MAX_OFFSET + 1), "files"), context)
    shown = beginning_within(text[part.offset : part.offset + part.max_characters], room)
    return told(shown, part.offset + len(shown))


def _needs_path(file: dict[str, Any], form: str, name: str) -> GoogleError:
    what = " ".join(f"{listing([file['name']])} ({file['mimeType']}) {form}".split())
    return invalid(f"{what} is no text. Give save_path, such as {name}, to save it in the workspace.")


def _first_bytes(path: Path, count: int) -> bytes:
    with path.open("rb") as file:
        return file.read(count)
