"""The core tools ``read_file`` and ``write_file`` (FEAT-004, "Built-in Tools")."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from oneclaw_core.builtin.results import Wanted, read_result
from oneclaw_core.errors import NotFoundError
from oneclaw_core.files.access import (
    DirectoryInsteadError,
    append_content,
    list_directory,
    open_for_reading,
    replace_content,
)
from oneclaw_core.files.text_content import (
    Lines,
    NoSuchLineError,
    NotReadableError,
    is_text_encoding,
    read_all,
    read_lines,
    untrusted,
    wide_encoding,
)
from oneclaw_core.secrets.redaction import SHORTEST_KEY_CHARACTERS, redact
from oneclaw_core.types.kept_results import handle_in
from oneclaw_core.types.tools import MAX_CHANGED_FILE_CHARACTERS, FileChange, ToolResult

if TYPE_CHECKING:
    from pathlib import Path

    from oneclaw_core.files.paths import PathGuard
    from oneclaw_core.tools.context import ToolContext

DOWNLOADS = "downloads"
"""The directory of the workspace for what was fetched from the web."""
_MAX_ENTRIES_SHOWN = 20
_MAX_ENTRIES_SEEN = 1000


def read_file(
    path: str,
    encoding: str = "UTF-8",
    start_line: int | None = None,
    line_count: int | None = None,
    part: int | None = None,
    search: str = "",
    pointer: str = "",
    *,
    context: ToolContext,
) -> ToolResult:
    """Read a text file in the workspace or the start directory, or a long result of a tool.

    Args:
        path: absolute, or relative to the start directory, else to the workspace; or ``result:`` and a handle.
        encoding: of the text, by any name that Python knows; a byte order mark goes before UTF-8.
        start_line: the first line to return, from 1; without it and ``line_count``, the whole file.
        line_count: how many lines to return.
        part: which part of a result to return, from 1.
        search: a text to find in a result.
        pointer: JSON pointer to a value in a result.
        context: of the call.

    Raises:
        PermissionDeniedError: the path lies outside both directories.
    """
    if not is_text_encoding(encoding):
        return ToolResult.error(
            "validation_error", f"{_short(encoding)} is no known text encoding; use one such as UTF-8 or ISO-8859-1."
        )
    for name, value in (("start_line", start_line), ("line_count", line_count), ("part", part)):
        if value is not None and value < 1:
            return ToolResult.error("validation_error", f"{name} must be 1 or more, not {value}.")
    if (handle := handle_in(path)) is not None:
        wanted = Wanted(part, search, pointer, start_line, line_count)
        return _read_result(handle, wanted, context)
    if part is not None or search or pointer:
        text = "part, search and pointer are for long results, such as result:r12; of a file, read lines."
        return ToolResult.error("validation_error", text)
    shown = _short(path)
    try:
        resolved = context.paths.readable(path)
        shown = context.paths.display(resolved)
        with open_for_reading(resolved, context.paths) as stream:
            if start_line is None and line_count is None:
                text = read_all(stream, encoding)
            else:
                text = _with_place(read_lines(stream, encoding, start_line or 1, line_count), str(resolved))
        return ToolResult.success(_presented(text, resolved, context))
    except FileNotFoundError:
        return ToolResult.error("execution_error", f"File not found: {shown}{context.paths.similar_to(resolved)}")
    except NoSuchLineError as error:
        return ToolResult.error("validation_error", f"{shown} {error}; start_line was {start_line}.")
    except NotReadableError as error:
        return ToolResult.error("execution_error", f"{shown} {error}.")
    except (OSError, UnicodeError) as error:
        hint = _entries(resolved, context) if isinstance(error, DirectoryInsteadError) else ""
        return ToolResult.error("execution_error", f"Cannot read {shown}: {_reason(error)}{hint}")


def _read_result(handle: str, wanted: Wanted, context: ToolContext) -> ToolResult:
    try:
        kept = context.kept_result_sync(handle)
    except NotFoundError as error:
        return ToolResult.error("not_found", f"{str(error)[:1].upper()}{str(error)[1:]}.")
    return read_result(kept, wanted, context.shown_characters)


def write_file(path: str, content: str, mode: str = "overwrite", *, context: ToolContext) -> ToolResult:
    """Write a UTF-8 text file in the workspace; missing directories are made.

    Args:
        path: relative to the workspace, or absolute and in it.
        content: the text.
        mode: ``overwrite`` replaces the file at once or not at all, ``append`` adds to its end.
        context: of the call.

    Raises:
        PermissionDeniedError: the path lies outside the workspace.
    """
    if mode not in ("overwrite", "append"):
        return ToolResult.error("validation_error", f'mode must be "overwrite" or "append", not {_short(mode)}.')
    try:
        data = content.encode()
    except UnicodeEncodeError as error:
        return ToolResult.error(
            "validation_error",
            f"content cannot be written as UTF-8: character {error.start + 1} is half of a surrogate pair.",
        )
    shown = _short(path)
    try:
        resolved = context.paths.writable(path)
        shown = context.paths.display(resolved)
        if path.endswith("/"):
            raise DirectoryInsteadError
        if mode == "append":
            if (encoding := wide_encoding_of(resolved, context.paths)) is not None:
                return ToolResult.error(
                    "execution_error",
                    f"Cannot append to {shown}: it is {encoding} text, and UTF-8 text behind it would be unreadable. "
                    "Use a program that keeps the encoding of the file, or ask the user.",
                )
            before = _text_before(resolved, context.paths)
            size = append_content(resolved, data, context.paths)
            text = f"Wrote {_bytes(len(data))} to {resolved} (appended; it has {_bytes(size)} now)"
            return ToolResult.success(text, changes=(_change(resolved, before, (before or "") + content),))
        before = _text_before(resolved, context.paths)
        replace_content(resolved, data, context.paths)
    except (OSError, UnicodeError) as error:
        return ToolResult.error("execution_error", f"Cannot write {shown}: {_reason(error)}")
    return ToolResult.success(f"Wrote {_bytes(len(data))} to {resolved}", changes=(_change(resolved, before, content),))


def _text_before(path: Path, paths: PathGuard) -> str | Literal[False] | None:
    """Return the text of a file that is about to be written: ``None`` without a file, ``False`` if it is not shown."""
    try:
        with open_for_reading(path, paths, "look") as stream:
            data = stream.read(MAX_CHANGED_FILE_CHARACTERS + 1)
        return data.decode() if len(data) <= MAX_CHANGED_FILE_CHARACTERS else False
    except FileNotFoundError:
        return None
    except (OSError, UnicodeError):
        return False


def _change(path: Path, before: str | Literal[False] | None, after: str) -> FileChange:
    if before is False:
        return FileChange(str(path), "", "", is_whole=False)
    return FileChange(str(path), before, after)


def wide_encoding_of(path: Path, paths: PathGuard) -> str | None:
    """Return the encoding that the byte order mark of a file names, other than UTF-8; ``None`` if there is none."""
    try:
        with open_for_reading(path, paths, "look") as stream:
            return wide_encoding(stream.read(4))
    except OSError:
        return None


def _presented(text: str, path: Path, context: ToolContext) -> str:
    """Keep known keys from the model, as in a project's ``.env``, and mark what was fetched from the web."""
    text = redact(text, shortest=SHORTEST_KEY_CHARACTERS)
    downloads = context.paths.workspace.resolve() / DOWNLOADS
    return untrusted(text, f"the file {context.paths.display(path)}") if path.is_relative_to(downloads) else text


def _with_place(lines: Lines, shown: str) -> str:
    if lines.last < lines.first:
        return f"[{shown} is empty]"
    text = lines.text if lines.text.endswith(("\n", "\r")) else lines.text + "\n"
    of_all = f" of {lines.total}" if lines.total is not None else ""
    rest = "end of the file" if lines.is_end else f"more follow: start_line {lines.last + 1}"
    return f"{text}[lines {lines.first}-{lines.last}{of_all} in {shown}; {rest}]"


def _entries(directory: Path, context: ToolContext) -> str:
    try:
        names = list_directory(directory, context.paths, _MAX_ENTRIES_SEEN)
    except OSError:
        return ""
    if not names:
        return "; it is empty"
    listed = ", ".join(each if each.isprintable() else repr(each) for each in names[:_MAX_ENTRIES_SHOWN])
    if len(names) <= _MAX_ENTRIES_SHOWN:
        return f"; it holds {listed}"
    more = "many" if len(names) == _MAX_ENTRIES_SEEN else str(len(names) - _MAX_ENTRIES_SHOWN)
    return f"; it holds {listed} and {more} more"


def _reason(error: OSError | UnicodeError) -> str:
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return "the path contains characters that no file name can have"


def _bytes(count: int) -> str:
    return "1 byte" if count == 1 else f"{count} bytes"


def _short(text: str, limit: int = 200) -> str:
    return repr(text if len(text) <= limit else text[:limit] + "…")
