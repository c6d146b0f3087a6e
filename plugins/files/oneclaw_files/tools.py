"""The tools of the group ``files``, as ``files.json`` declares them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from oneclaw_core import ToolContext, ToolResult
from oneclaw_files.errors import FilesError

if TYPE_CHECKING:
    from pathlib import Path

    from oneclaw_files.changes import Change

# Of a diff that the model is shown; the user who is asked sees all of it.
_DIFF_CHARACTERS = 6_000
_LISTED_ENTRIES = 1_000
_FOUND_FILES = 500
DEFAULT_MATCHES = 100
# Below the timeout of the tools, so that what was found by then is reported.
_WALK_SECONDS = 20


def edit_file(path: str, edits: list[dict[str, Any]], *, context: ToolContext) -> ToolResult:
    """Replace exact text in a file.

    Args:
        path: absolute, or relative as for ``read_file``.
        edits: each with ``old_text``, ``new_text`` and maybe ``replace_all``.
        context: of the call.

    Raises:
        PermissionDeniedError: the file may not be read or written.
    """
    from oneclaw_files.changes import Change, existing, for_programs, make, read_text
    from oneclaw_files.edits import Edit, apply_edits

    try:
        resolved = existing(path, context.paths)
        before = read_text(resolved, context.paths)
        after, count = apply_edits(before, [Edit(**each) for each in edits])
        change = Change(resolved, before, after)
        make([change], context.paths)
    except FilesError as error:
        return ToolResult.error(error.error_type, str(error))
    except OSError as error:
        return _error(f"Cannot change {path!r}: {error.strerror or error}")
    text = f"Changed {resolved} in {_count(count, 'place')}\n{_shown([change])}"
    return ToolResult.success(text, changes=for_programs([change]))


def apply_patch(patch: str, *, context: ToolContext) -> ToolResult:
    """Change several files at once.

    Args:
        patch: from ``*** Begin Patch`` to ``*** End Patch``.
        context: of the call.

    Raises:
        PermissionDeniedError: a file may not be read or written.
    """
    from oneclaw_files.changes import changes_of, for_programs, make
    from oneclaw_files.patch import parse_patch

    try:
        changes = changes_of(parse_patch(patch), context.paths)
        make(changes, context.paths)
    except FilesError as error:
        return ToolResult.error(error.error_type, str(error))
    except OSError as error:
        return _error(f"Cannot apply the patch: {error.filename or ''} {error.strerror or error}".replace("  ", " "))
    done = "\n".join(f"{change.verb} {change.path}" for change in changes)
    return ToolResult.success(f"{done}\n{_shown(changes)}", changes=for_programs(changes))


def list_directory(path: str = ".", *, context: ToolContext) -> ToolResult:
    """List a directory.

    Args:
        path: absolute, or relative as for ``read_file``.
        context: of the call.

    Raises:
        PermissionDeniedError: the path is outside the directories that tools may read.
    """
    from oneclaw_core.files import list_directory as names_in

    try:
        directory = context.paths.readable(path)
        names = names_in(directory, context.paths, _LISTED_ENTRIES)
    except FileNotFoundError:
        return _error(f"Directory not found: {path!r}")
    except OSError as error:
        return _error(f"Cannot list {path!r}: {error.strerror or error}")
    lines = [f"{directory}: {_count(len(names), 'entry', 'entries')}"]
    lines += [_described(directory, name) for name in names]
    if len(names) == _LISTED_ENTRIES:
        lines.append(f"[only {_LISTED_ENTRIES} are listed; use find_files to look for names]")
    return ToolResult.success("\n".join(lines))


def find_files(glob: str, path: str = ".", include_ignored: bool = False, *, context: ToolContext) -> ToolResult:
    """Find files by a pattern of their path.

    Args:
        glob: such as ``*.py`` or ``src/**/*.{js,ts}``; without a slash it is compared with names, else with paths
            below the directory.
        path: the directory; absolute, or relative as for ``read_file``.
        include_ignored: True to include hidden files and those that ``.gitignore`` and the like name.
        context: of the call.

    Raises:
        PermissionDeniedError: the path is outside the directories that tools may read.
    """
    from oneclaw_files.walking import Walk

    try:
        directory = _directory(path, context)
        walk = Walk(directory, context.paths, glob, include_ignored, time.monotonic() + _WALK_SECONDS)
        found = sorted(str(each.relative_to(directory)) for each in walk.files())
    except FilesError as error:
        return ToolResult.error(error.error_type, str(error))
    head = f"{directory}: {_count(len(found), 'file')}"
    notes = []
    if len(found) > _FOUND_FILES:
        notes.append(f"[the first {_FOUND_FILES} are listed; use a narrower glob or path]")
    if not walk.is_complete:
        notes.append("[there was no time for all; use a narrower path]")
    return ToolResult.success("\n".join([head, *found[:_FOUND_FILES], *notes]))


def search_files(
    pattern: str,
    path: str = ".",
    glob: str = "",
    literal: bool = False,
    ignore_case: bool = False,
    context_lines: int = 0,
    max_matches: int = DEFAULT_MATCHES,
    include_ignored: bool = False,
    *,
    context: ToolContext,
) -> ToolResult:
    """Search the text of files, line by line.

    Args:
        pattern: a regular expression.
        path: a directory or a file; absolute, or relative as for ``read_file``.
        glob: only files whose path matches; empty for all.
        literal: True if the pattern is plain text.
        ignore_case: True if upper and lower case are the same.
        context_lines: how many lines to show before and after each match.
        max_matches: the search ends after so many matching lines.
        include_ignored: True to include hidden files and those that ``.gitignore`` and the like name.
        context: of the call.

    Raises:
        PermissionDeniedError: the path is outside the directories that tools may read.
    """
    from oneclaw_files.search import compile_pattern, search
    from oneclaw_files.walking import Walk

    try:
        compiled = compile_pattern(pattern, is_literal=literal, ignore_case=ignore_case)
        start = _existing(path, context)
        walk = Walk(start, context.paths, glob, include_ignored, time.monotonic() + _WALK_SECONDS)
        found = search(walk, compiled, context_lines, max_matches)
    except FilesError as error:
        return ToolResult.error(error.error_type, str(error))
    matches = f"{_count(found.match_count, 'match', 'matches')} in {_count(found.file_count, 'file')}"
    notes = []
    if found.match_count >= max_matches and not found.is_complete:
        notes.append(f"[the search ended after {max_matches} matches; use a narrower pattern, glob or path]")
    elif not found.is_complete:
        notes.append("[there was no time for all; use a narrower glob or path]")
    if found.too_large_count:
        notes.append(f"[{_count(found.too_large_count, 'file')} too large to search]")
    head = f"{start}: {matches}, {found.searched_count:,} searched"
    return ToolResult.success("\n".join([head, *found.lines, *notes]))


def view_image(path: str, *, context: ToolContext) -> ToolResult:
    """Show the model a picture.

    Args:
        path: absolute, or relative as for ``read_file``.
        context: of the call.

    Raises:
        PermissionDeniedError: the path is outside the directories that tools may read.
    """
    from oneclaw_files.images import read_image

    try:
        resolved = context.paths.readable(path)
        image = read_image(resolved, context.paths)
    except FileNotFoundError:
        return _error(f"File not found: {path!r}")
    except FilesError as error:
        return ToolResult.error(error.error_type, str(error))
    except OSError as error:
        return _error(f"Cannot read {path!r}: {error.strerror or error}")
    return ToolResult.success(f"{resolved}: {image.media_type}, {image.size:,} bytes", (image,))


def send_file(path: str, name: str | None = None, *, context: ToolContext) -> ToolResult:
    """Send a file to the user through the channel in use.

    Args:
        path: absolute, or relative as for ``read_file``.
        name: that the user sees; ``None`` for that of the file.
        context: of the call.

    Raises:
        PermissionDeniedError: the path is outside the directories that tools may read.
    """
    from oneclaw_files.sending import read_for_user

    try:
        resolved = context.paths.readable(path)
        file = read_for_user(resolved, context.paths, name)
    except FileNotFoundError:
        return _error(f"File not found: {path!r}")
    except FilesError as error:
        return ToolResult.error(error.error_type, str(error))
    except OSError as error:
        return _error(f"Cannot read {path!r}: {error.strerror or error}")
    sent = f"{file.name} ({file.media_type}, {file.size:,} bytes)"
    return ToolResult.success(f"Sent {sent} to the user.", (file,), shown=f"{sent}: {resolved}")


def _existing(path: str, context: ToolContext) -> Path:
    resolved = context.paths.readable(path)
    if not resolved.exists():
        raise FilesError(f"There is no file or directory {path!r}.")
    return resolved


def _directory(path: str, context: ToolContext) -> Path:
    resolved = _existing(path, context)
    if not resolved.is_dir():
        raise FilesError(f"{path!r} is not a directory.")
    return resolved


def _described(directory: Path, name: str) -> str:
    if name.endswith("/"):
        return name
    try:
        status = (directory / name).lstat()
    except OSError:
        return name
    return f"{name}  {status.st_size:,} bytes"


def _shown(changes: list[Change]) -> str:
    diff = "".join(change.diff for change in changes)
    if len(diff) <= _DIFF_CHARACTERS:
        return diff
    return f"{diff[:_DIFF_CHARACTERS]}\n[the rest of the diff is left out]"


def _count(number: int, noun: str, plural: str | None = None) -> str:
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def _error(message: str) -> ToolResult:
    return ToolResult.error("execution_error", message)
