"""Kinds of files: Google's media types, and the words for them; pure, without any I/O."""

from __future__ import annotations

from oneclaw_google_workspace.drive.queries import quoted
from oneclaw_google_workspace.folders import FOLDER_TYPE

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
