"""Files of Drive: their kinds and names, queries for them, and how a model reads them and refers to them."""

from __future__ import annotations

import codecs
import mimetypes
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneclaw_core.tools import INVISIBLE_CHARACTERS
from oneclaw_google_workspace.answers import compact, file_id, read_moment
from oneclaw_google_workspace.editors import FOLDER_TYPE
from oneclaw_google_workspace.failures import invalid

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient

GOOGLE = "application/vnd.google-apps."
SHORTCUT_TYPE = f"{GOOGLE}shortcut"
VIDEO_TYPE = f"{GOOGLE}vid"
_OFFICE = "application/vnd.openxmlformats-officedocument."
_OPEN = "application/vnd.oasis.opendocument."

EXPORT_TYPES = {
    "txt": "text/plain",
    "md": "text/markdown",
    "html": "text/html",
    "rtf": "application/rtf",
    "docx": f"{_OFFICE}wordprocessingml.document",
    "odt": f"{_OPEN}text",
    "epub": "application/epub+zip",
    "pdf": "application/pdf",
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "xlsx": f"{_OFFICE}spreadsheetml.sheet",
    "ods": f"{_OPEN}spreadsheet",
    "pptx": f"{_OFFICE}presentationml.presentation",
    "odp": f"{_OPEN}presentation",
    "png": "image/png",
    "jpg": "image/jpeg",
    "svg": "image/svg+xml",
    "json": f"{GOOGLE}script+json",
    "mp4": "video/mp4",
}
"""Media types by the words of ``export_format``."""

ZIPPED_PAGE_TYPE = "application/zip"
"""The formats that Google exports a document to instead of a single HTML page."""

DEFAULT_EXPORTS = {
    f"{GOOGLE}document": "md",
    f"{GOOGLE}spreadsheet": "csv",
    f"{GOOGLE}presentation": "txt",
    f"{GOOGLE}drawing": "png",
    f"{GOOGLE}script": "json",
    VIDEO_TYPE: "mp4",
}
"""The format that ``auto`` stands for, by Google document type; other types cannot be downloaded."""

_WORDS = {
    **dict.fromkeys((EXPORT_TYPES["docx"], EXPORT_TYPES["odt"], "application/msword", "application/rtf"), "word"),
    **dict.fromkeys((EXPORT_TYPES["xlsx"], EXPORT_TYPES["ods"], "application/vnd.ms-excel"), "excel"),
    **dict.fromkeys((EXPORT_TYPES["pptx"], EXPORT_TYPES["odp"], "application/vnd.ms-powerpoint"), "powerpoint"),
    "application/pdf": "pdf",
    "application/zip": "archive",
    "text/csv": "csv",
    "text/html": "html",
    "text/markdown": "markdown",
}
# What is text although its media type does not begin with "text/".
_TEXT_TYPES = frozenset(
    {
        "application/json",
        "application/ld+json",
        "application/x-ndjson",
        "application/xml",
        "application/yaml",
        "application/x-yaml",
        "application/toml",
        "application/javascript",
        "application/x-javascript",
        "application/typescript",
        "application/sql",
        "application/x-sh",
        "application/x-httpd-php",
        EXPORT_TYPES["json"],
        EXPORT_TYPES["svg"],
    }
)
_KEYS_HEADER = "X-Goog-Drive-Resource-Keys"
_KEY = re.compile(r"[?&]resourcekey=([\w-]+)")
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


def kind_of(mime_type: str) -> str:
    """Say in one word what a file is, such as ``folder``, ``document``, ``pdf``, ``image`` or ``file``.

    Args:
        mime_type: as Google answers it.
    """
    if mime_type.startswith(GOOGLE):
        return mime_type.removeprefix(GOOGLE)
    first, _, _ = mime_type.partition("/")
    return _WORDS.get(mime_type, first if first in ("image", "video", "audio", "text") else "file")


def is_text(mime_type: str) -> bool:
    """Return True if content of a media type can be shown to a model."""
    return mime_type.startswith("text/") or mime_type in _TEXT_TYPES or mime_type.endswith(("+xml", "+json"))


def kind_query(file_type: str) -> str | None:
    """Write the condition for a kind of files in Drive's search language.

    Args:
        file_type: a word of the parameter ``file_type``.

    Returns:
        ``None`` for any kind.
    """
    if file_type == "any":
        return None
    if file_type in ("image", "video", "audio"):
        return f"mimeType contains {quoted(f'{file_type}/')}"
    return f"mimeType = {quoted(_EXACT_TYPES[file_type])}"


def export_words(mime_types: list[str]) -> list[str]:
    """Name media types by the words of ``export_format``, those without a word left out."""
    words = {mime_type: word for word, mime_type in EXPORT_TYPES.items()} | {ZIPPED_PAGE_TYPE: "html"}
    return list(dict.fromkeys(words[each] for each in mime_types if each in words))


_EXACT_TYPES = {
    "folder": FOLDER_TYPE,
    "pdf": "application/pdf",
    **{word: f"{GOOGLE}{word}" for word in ("document", "spreadsheet", "presentation", "form")},
}
_SHAPE = re.compile(r"[\w.+-]+/[\w.+-]+", re.ASCII)
# What machines do not agree on, or do not know.
_TYPES = {
    **EXPORT_TYPES,
    "json": "application/json",
    "markdown": "text/markdown",
    "htm": "text/html",
    "log": "text/plain",
    "yaml": "application/yaml",
    "yml": "application/yaml",
    "toml": "application/toml",
    "zip": "application/zip",
    "jpeg": "image/jpeg",
}
_UNKNOWN = "application/octet-stream"


def media_type_of(name: str, default: str = _UNKNOWN) -> str:
    """Guess a media type by the ending of a name.

    Args:
        name: of a file.
        default: for endings that no one knows.
    """
    ending = name.rpartition(".")[2].lower() if "." in name else ""
    # A compressed file is not of the type of what is in it.
    guessed, compression = mimetypes.guess_type(f"x.{ending}", strict=False)
    return _TYPES.get(ending) or (_UNKNOWN if compression else guessed) or default


def checked_media_type(text: str) -> str:
    """Give a media type back if it can be one of a file's content.

    Raises:
        GoogleError: it cannot.
    """
    if not _SHAPE.fullmatch(text):
        raise invalid(f"mime_type must be a media type such as text/csv, not {text[:60]!r}.")
    if text.startswith(GOOGLE):
        raise invalid("mime_type is that of the content. Give convert_to to import it as a Google file.")
    return text


# What names must not hold anywhere, and what cannot be seen or turns the direction of what is.
_UNSAFE = re.compile(rf'[\x00-\x1f\x7f-\x9f<>:"/\\|?*\xad{INVISIBLE_CHARACTERS}]+')
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)", re.IGNORECASE)
_MAX_BYTES = 180


def safe_name(name: str, extension: str = "") -> str:
    """Make a name that every file system takes, that is not hidden and leads nowhere.

    Args:
        name: as in Drive.
        extension: what it is to end in, without the dot; added unless it does.
    """
    clean = " ".join(_UNSAFE.sub("_", name).split()).strip(". ")
    ending = f".{extension}" if extension and not clean.lower().endswith(f".{extension.lower()}") else ""
    stem, dot, rest = f"{clean or 'file'}{ending}".rpartition(".")
    if not dot or len(rest) > 10:
        stem, rest = f"{stem}{dot}{rest}", ""
    if _RESERVED.fullmatch(stem.partition(".")[0]):
        stem = f"_{stem}"
    stem = stem.encode("utf-8", "replace")[:_MAX_BYTES].decode("utf-8", "ignore").rstrip(". ")
    return f"{stem}.{rest}" if rest else stem


async def place_for(context: ToolContext, save_path: str, name: str) -> Path:
    """Find out where to save a file.

    Args:
        context: of the tool call.
        save_path: a file, or a folder that there is or that ends in a slash; in a folder, nothing is overwritten.
        name: made by :func:`safe_name`, for folders.

    Raises:
        PermissionDeniedError: the tool may not write there.
    """
    inside = await context.writable(Path(save_path) / name)
    if not save_path.endswith(("/", "\\")) and not inside.parent.is_dir():
        return await context.writable(save_path)
    return _free(inside)


def _free(path: Path) -> Path:
    number, found = 1, path
    while found.exists():
        number += 1
        found = path.with_name(f"{path.stem} ({number}){path.suffix}")
    return found


def quoted(text: str) -> str:
    """Write a text as a value."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def joined(conditions: Iterable[str | None]) -> str:
    """Join conditions that must all hold; ``None`` is no condition."""
    return " and ".join(each for each in conditions if each)


def moment(name: str, text: str, *, days_later: int = 0) -> str:
    """Write a time as Drive wants it, in UTC.

    Args:
        name: of the argument, for messages.
        text: see :func:`~oneclaw_google_workspace.answers.read_moment`.
        days_later: the same.

    Raises:
        GoogleError: it is neither.
    """
    found = read_moment(name, text, days_later=days_later)
    return found.isoformat(timespec="seconds").replace("+00:00", "Z")


def refer(google: GoogleClient, text: str, what: str) -> str:
    """Read an id or a link; the key in the link of a file that only those with its link may open is sent along.

    Args:
        google: the client.
        text: the id or the link.
        what: the argument, for messages.

    Raises:
        GoogleError: it is neither.
    """
    found = file_id(text, what)
    if key := _KEY.search(text):
        known = google.headers.get(_KEYS_HEADER)
        pair = f"{found}/{key[1]}"
        google.headers[_KEYS_HEADER] = f"{known},{pair}" if known else pair
    return found


# What a row is made of.
FILE_FIELDS = (
    "id,name,mimeType,size,modifiedTime,owners/emailAddress,parents,driveId,webViewLink,shared,starred,trashed,"
    "shortcutDetails(targetId,targetMimeType)"
)
PERMISSION_FIELDS = (
    "id,type,role,emailAddress,domain,displayName,expirationTime,allowFileDiscovery,"
    "permissionDetails(inherited,inheritedFrom)"
)


def row(file: Mapping[str, Any]) -> dict[str, Any]:
    """Make the row of a file.

    Args:
        file: as Google answers it.
    """
    mime_type = str(file.get("mimeType", ""))
    shortcut = file.get("shortcutDetails", {})
    return compact(
        {
            "id": file.get("id"),
            "name": file.get("name"),
            "type": kind_of(mime_type),
            "mime_type": mime_type,
            "size": size_of(file),
            "modified": file.get("modifiedTime"),
            "owner": owner_of(file),
            "parent_id": parent_of(file),
            "shared_drive_id": file.get("driveId"),
            "link": file.get("webViewLink"),
            "shared": file.get("shared") or None,
            "starred": file.get("starred") or None,
            "trashed": file.get("trashed") or None,
            "shortcut_target": shortcut.get("targetId"),
            "shortcut_target_type": shortcut.get("targetMimeType") and kind_of(shortcut["targetMimeType"]),
        }
    )


def size_of(file: Mapping[str, Any]) -> int | None:
    """Return the length of a stored file in bytes; ``None`` for Google's document formats and folders."""
    return int(file["size"]) if file.get("size") else None


def owner_of(file: Mapping[str, Any]) -> str | None:
    """Whose a file is; ``None`` in a shared drive."""
    return next((each.get("emailAddress") for each in file.get("owners", [])), None)


def parent_of(file: Mapping[str, Any]) -> str | None:
    """The folder that a file is in, ``None`` if it cannot be seen."""
    return next(iter(file.get("parents", [])), None)


def permission_row(permission: Mapping[str, Any]) -> dict[str, Any]:
    """Make the row of a permission.

    Args:
        permission: as Google answers it.
    """
    details = permission.get("permissionDetails", [])
    return compact(
        {
            "id": permission.get("id"),
            "who": who(permission),
            "name": permission.get("displayName"),
            "role": permission.get("role"),
            "type": permission.get("type"),
            "expires": permission.get("expirationTime"),
            "discoverable": permission.get("allowFileDiscovery") or None,
            "inherited": True if is_inherited(permission) else None,
            "inherited_from": next((each.get("inheritedFrom") for each in details if each.get("inherited")), None),
        }
    )


def who(permission: Mapping[str, Any]) -> str:
    """Whom a permission is for: an address, a domain, or ``anyone``."""
    return str(permission.get("emailAddress") or permission.get("domain") or permission.get("type") or "")


def is_inherited(permission: Mapping[str, Any]) -> bool:
    """Return True if a permission comes from a folder alone, so that it cannot be taken away from the file."""
    details = permission.get("permissionDetails", [])
    return bool(details) and all(each.get("inherited") for each in details)


def decoded(content: bytes, content_type: str = "", *, is_cut: bool = False) -> str:
    """Read a text.

    Args:
        content: the bytes, or the first of them.
        content_type: as Google names it, maybe with a charset.
        is_cut: whether there are more bytes.
    """
    for encoding in _encodings(content, content_type):
        try:
            return codecs.getincrementaldecoder(encoding)("strict").decode(content, not is_cut).removeprefix("\ufeff")
        except (LookupError, UnicodeError, ValueError):
            continue
    return content.decode("latin-1")


def _encodings(content: bytes, content_type: str) -> list[str]:
    marked = [encoding for mark, encoding in _MARKS if content.startswith(mark)]
    match = _CHARSET.search(content_type)
    named = [match[1]] if match and _is_charset(match[1]) else []
    return [*marked, *named, "utf-8", "cp1252"]


def _is_charset(name: str) -> bool:
    try:
        return isinstance(b"x".decode(name), str)
    except (LookupError, UnicodeError):  # also codecs that are no character sets, such as hex
        return False
