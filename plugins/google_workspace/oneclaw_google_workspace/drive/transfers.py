"""Downloads, exports, uploads and new folders."""

from __future__ import annotations

import asyncio
import hashlib
import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from oneclaw_core import untrusted
from oneclaw_google_workspace.answers import (
    beginning_within,
    compact,
    from_outside,
    google_tool,
    listing,
    passage,
    room_beside,
    size_text,
)
from oneclaw_google_workspace.client import connect
from oneclaw_google_workspace.drive.files import (
    DEFAULT_EXPORTS,
    EXPORT_TYPES,
    GOOGLE,
    SHORTCUT_TYPE,
    VIDEO_TYPE,
    ZIPPED_PAGE_TYPE,
    checked_media_type,
    decoded,
    export_words,
    is_text,
    kind_of,
    media_type_of,
    parent_of,
    place_for,
    refer,
    safe_name,
    size_of,
)
from oneclaw_google_workspace.editors import FOLDER_TYPE, find_folder
from oneclaw_google_workspace.failures import GoogleError, invalid
from oneclaw_google_workspace.methods import api_request

if TYPE_CHECKING:
    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient
    from oneclaw_google_workspace.editors import Folder
    from oneclaw_google_workspace.methods import ApiRequest
    from oneclaw_google_workspace.transfers import Download

_OPERATION_FIELDS = "name,done,error(code,message),response"
_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 5.0


async def md5_of(content: Path | bytes) -> str:
    """Compute the MD5 checksum of a file or of its content, as Drive's ``md5Checksum``.

    Raises:
        OSError: the file cannot be read.
    """
    return await asyncio.to_thread(_md5, content)


def _md5(content: Path | bytes) -> str:
    if isinstance(content, bytes):
        return _new(content).hexdigest()
    with content.open("rb") as file:
        return hashlib.file_digest(file, _new).hexdigest()


def _new(content: bytes = b"") -> hashlib._Hash:
    # It tells damage from completeness, and keeps nothing secret.
    return hashlib.md5(content, usedforsecurity=False)


ROOT = "root"


async def target_folder(google: GoogleClient, text: str | None) -> Folder | None:
    """Look at the folder that something is to be put into.

    Args:
        google: the client.
        text: id or link.

    Returns:
        ``None`` for My Drive.

    Raises:
        GoogleError: there is no such folder, or nothing may be put there.
    """
    if text is None or text == ROOT:
        return None
    return await find_folder(google, refer(google, text, "folder_id"))


def folder_name(folder: Folder | None) -> str:
    """Name a folder for a question."""
    return "My Drive" if folder is None else f"the folder {listing([folder.name])}"


async def new_id(google: GoogleClient) -> str:
    """Have Google reserve an id: what is made under it is made once, however often it is sent.

    Raises:
        GoogleError: it did not work out.
    """
    answer = await google.call("drive.files.generateIds", count=1, space="drive", type="files", fields="ids")
    return str(answer["ids"][0])


async def made_after_all(google: GoogleClient, file_id: str, error: GoogleError, fields: str) -> dict[str, Any]:
    """Look whether a creation under an id of our own was carried out, although its answer is lost.

    Args:
        google: the client.
        file_id: the id.
        error: of the creation.
        fields: of the file.

    Raises:
        GoogleError: it was not, or that cannot be found out.
    """
    if error.status != 409 and not error.was_unclear:
        raise error
    try:
        return await google.call("drive.files.get", fileId=file_id, fields=fields)
    except GoogleError as fault:
        if fault.status == 404:
            raise GoogleError("service_unavailable", "Google broke off, and nothing was made. Try again.") from None
        raise error from None


def checked_name(name: str) -> str:
    """Give the name of a file back if it is one.

    Raises:
        GoogleError: it is empty.
    """
    if not name.strip():
        raise invalid("A file cannot be without a name.")
    return name


_UPLOADED_FIELDS = "id,name,mimeType,size,parents,webViewLink,md5Checksum"
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
        fields=_UPLOADED_FIELDS,
        unclear_hint=_UNCLEAR,
    )
    try:
        file = await google.upload(request, source.content, media_type)
    except GoogleError as error:
        if own_id is None:
            raise
        file = await made_after_all(google, own_id, error, _UPLOADED_FIELDS)
    await _compare_sent(source, file)
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
        fields=_UPLOADED_FIELDS,
        unclear_hint="Look at its size and time with drive_get_file",
    )
    file = await google.upload(request, source.content, media_type)
    await _compare_sent(source, file)
    return {**_answer(file, is_converted=False), "replaced": True}


async def _compare_sent(source: _Source, file: dict[str, Any]) -> None:
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


_DOWNLOADED_FIELDS = "id,name,mimeType,size,md5Checksum,capabilities/canDownload,shortcutDetails/targetId"
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
    file = await google.call("drive.files.get", fileId=file_id, fields=_DOWNLOADED_FIELDS)
    if file.get("mimeType") == SHORTCUT_TYPE and file.get("shortcutDetails", {}).get("targetId"):
        file = await google.call(
            "drive.files.get", fileId=file["shortcutDetails"]["targetId"], fields=_DOWNLOADED_FIELDS
        )
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
        saved = await google.download(request, target, check=partial(_compare_received, file))
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


async def _compare_received(file: dict[str, Any], path: Path) -> None:
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
    return invalid(f"{what} is not a text. Give save_path, such as {name}, to save it in the workspace.")


def _first_bytes(path: Path, count: int) -> bytes:
    with path.open("rb") as file:
        return file.read(count)
