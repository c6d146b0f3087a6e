"""Changes of files: computed and shown first, then made all or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import unified_diff
from typing import TYPE_CHECKING

from oneclaw_core.files import open_for_reading, remove_file, replace_content, split_lines
from oneclaw_core.tools import FileChange
from oneclaw_files.errors import FilesError
from oneclaw_files.patch import apply_hunks

if TYPE_CHECKING:
    from pathlib import Path

    from oneclaw_core.files import PathGuard
    from oneclaw_files.patch import FilePatch

MAX_FILE_BYTES = 5_000_000
_BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class Change:
    """One file that is to be written or removed.

    Attributes:
        path: absolute, without symbolic links.
        before: the text that stands there, ``None`` if there is no file.
        after: the text that is to stand there, ``None`` to remove the file.
    """

    path: Path
    before: str | None
    after: str | None

    @property
    def verb(self) -> str:
        """The past tense of what is done."""
        if self.before is None:
            return "Added"
        return "Removed" if self.after is None else "Changed"

    @property
    def diff(self) -> str:
        """The change as a unified diff."""
        name = str(self.path)
        old, new = (("/dev/null" if text is None else name) for text in (self.before, self.after))
        lines = unified_diff(_lines(self.before), _lines(self.after), old, new)
        return "".join(
            line if line.endswith(("\n", "\r")) else f"{line}\n\\ No newline at end of file\n" for line in lines
        )


def for_programs(changes: list[Change]) -> tuple[FileChange, ...]:
    """Return changes that were made, for programs that show them."""
    return tuple(FileChange(str(each.path), each.before, each.after) for each in changes)


def read_text(path: Path, paths: PathGuard) -> str:
    """Read a text file with its line endings and byte order mark.

    Raises:
        FilesError: it is not UTF-8 text, or too large.
        OSError: it cannot be read.
    """
    with open_for_reading(path, paths, "change") as stream:
        data = stream.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise FilesError(f"{str(path)!r} is larger than {MAX_FILE_BYTES // 1_000_000} MB.")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise FilesError(
            f"{str(path)!r} is not UTF-8 text, and a change would destroy its other characters: "
            "use a program that keeps the encoding of the file, or ask the user."
        ) from None
    if "\0" in text:
        raise FilesError(f"{str(path)!r} is not a text.")
    return text


def changes_of(patches: list[FilePatch], paths: PathGuard) -> list[Change]:
    """Compute what a patch changes, without changing it.

    Raises:
        FilesError: it does not fit the files, or names one twice.
        OSError: a file cannot be read.
        PermissionDeniedError: a path is outside the directories that tools may use.
    """
    changes: list[Change] = []
    for patch in patches:
        if patch.kind == "add":
            changes.append(Change(_free(patch.path, paths), None, patch.content))
            continue
        path = existing(patch.path, paths)
        before = read_text(path, paths)
        if patch.kind == "delete":
            changes.append(Change(path, before, None))
            continue
        mark = _BYTE_ORDER_MARK if before.startswith(_BYTE_ORDER_MARK) else ""
        after = mark + apply_hunks(before.removeprefix(mark), patch)
        if patch.move_to is None:
            changes.append(Change(path, before, after))
        else:
            changes += [Change(_free(patch.move_to, paths), None, after), Change(path, before, None)]
    seen: set[Path] = set()
    for change in changes:
        if change.path in seen:
            raise FilesError(f"The patch changes {str(change.path)!r} twice; put its hunks together.")
        seen.add(change.path)
    return changes


def existing(path: str, paths: PathGuard) -> Path:
    """Resolve the path of a file that is to be changed.

    Raises:
        FilesError: there is none.
        PermissionDeniedError: it is outside the directories that tools may use.
    """
    resolved = paths.readable(path)
    if not resolved.exists():
        raise FilesError(f"File not found: {str(resolved)!r}. write_file makes new files.")
    return resolved


def make(changes: list[Change], paths: PathGuard) -> None:
    """Ask for every change, then make all; take back those that were made if one fails.

    Raises:
        FilesError: a file was changed meanwhile.
        OSError: a file cannot be written.
        PermissionDeniedError: the user refuses one.
    """
    for change in changes:
        paths.writable(change.path, change.diff)
    for change in changes:
        if _now(change.path, paths) != change.before:
            raise FilesError(f"{str(change.path)!r} was changed meanwhile; read it again.")
    made: list[Change] = []
    try:
        for change in changes:
            made.append(change)
            _write(change.path, change.after, paths)
    except OSError:
        for change in reversed(made):
            _write(change.path, change.before, paths)
        raise


def _free(path: str, paths: PathGuard) -> Path:
    resolved = paths.locate_to_write(path)
    if resolved.exists():
        raise FilesError(f"{str(resolved)!r} is there already; change it with '*** Update File: {path}'.")
    return resolved


def _now(path: Path, paths: PathGuard) -> str | None:
    try:
        return read_text(path, paths)
    except FileNotFoundError:
        return None


def _write(path: Path, text: str | None, paths: PathGuard) -> None:
    if text is not None:
        replace_content(path, text.encode(), paths)
    elif path.exists():
        remove_file(path, paths)


def _lines(text: str | None) -> list[str]:
    return split_lines(text or "")
