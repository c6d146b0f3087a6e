"""The files of a directory, compared with what is known of them, so that only changed ones are read."""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import rignore

from oneclaw_checkpoints.states import FileState, Kind, read_state, stamp_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from oneclaw_checkpoints.database import Known

# What version control keeps is not undone file by file.
_LEFT_OUT = ["!.git", "!.hg", "!.svn"]
_IGNORE_FILES = ("/.gitignore", "/.ignore")
_BATCH_BYTES = 16_000_000
_KINDS = (stat.S_ISREG, stat.S_ISDIR, stat.S_ISLNK)


@dataclass(slots=True)
class Scan:
    """A look at a directory.

    Attributes:
        files: what stands there now.
        learned: what is new against what was known; ``None`` for files that are gone.
        contents: of files that were read, by digest.
        gap: what was left out, for the user; empty if nothing was.
    """

    files: Known = field(default_factory=dict)
    learned: dict[str, tuple[str, FileState] | None] = field(default_factory=dict)
    contents: dict[str, bytes] = field(default_factory=dict)
    gap: str = ""


def scan(
    root: str,
    known: Known,
    *,
    max_files: int,
    max_bytes: int,
    max_room: int,
    deadline: float,
    left_out: str | None = None,
    flush: Callable[[Scan], None] | None = None,
) -> Scan:
    """Look at all files of a directory by ripgrep's rules, hidden ones included.

    Args:
        root: the directory, without symbolic links.
        known: from earlier.
        max_files: there is a gap if there are more.
        max_bytes: the largest file whose content is kept.
        max_room: the most bytes of contents that are kept for the directory.
        deadline: by ``time.monotonic()``; files that are not read by then are unknown.
        left_out: a directory that is not followed, without symbolic links.
        flush: takes over what is learned, from time to time; it empties ``learned`` and ``contents``.
    """
    found = Scan()
    read_bytes = room = 0
    late = large = 0
    now_ns = time.time_ns()
    before = _as_before(known, now_ns) if known else None
    for name, state in before.items() if before is not None else _walk(root):
        if left_out is not None and (name == left_out or name.startswith(left_out + "/")):
            continue
        if len(found.files) >= max_files:
            found.gap = f"changes of commands, since {root} has more than {max_files:,} files"
            _walk_next_time(found, root)
            return found
        if state is None:
            large += 1
            continue
        if not any(is_kind(state.st_mode) for is_kind in _KINDS):
            continue
        stamp = stamp_of(state, now_ns)
        earlier = known.get(name)
        if earlier is not None and stamp and earlier[0] == stamp:
            found.files[name] = earlier
            room += earlier[1].size if earlier[1].kind is Kind.FILE else 0
            continue
        is_late = time.monotonic() > deadline
        limit = -1 if is_late or room + state.st_size > max_room else max_bytes
        now = read_state(name, limit, found.contents.__setitem__, state)
        if now.kind is Kind.FILE:
            room += now.size
            read_bytes += now.size
        elif now.kind is Kind.UNKNOWN:
            late += is_late
            large += not is_late
            stamp = ""  # read it next time
        found.files[name] = found.learned[name] = (stamp, now)
        if flush is not None and read_bytes > _BATCH_BYTES:
            flush(found)
            read_bytes = 0
    found.learned.update(dict.fromkeys(known.keys() - found.files.keys()))
    if late or large:
        _walk_next_time(found, root)
    if late:
        found.gap = f"{late:,} files of {root} that there was no time to read"
    elif large:
        found.gap = f"{large:,} files of {root} that are too large, may not be read, or have names that are no UTF-8"
    return found


def _as_before(known: Known, now_ns: int) -> dict[str, os.stat_result] | None:
    """Look at the known files alone; ``None`` if there may be others, since a directory or an ignore file changed."""
    found: dict[str, os.stat_result] = {}
    for name, (stamp, state) in known.items():
        try:
            now = os.lstat(name)
        except OSError:
            return None
        decides = state.kind is Kind.DIRECTORY or name.endswith(_IGNORE_FILES)
        if decides and (not stamp or stamp_of(now, now_ns) != stamp):
            return None
        found[name] = now
    return found


def _walk_next_time(found: Scan, root: str) -> None:
    """Have the next look find all files anew, so that it reports the gap again."""
    if root in found.files:
        found.files[root] = found.learned[root] = ("", found.files[root][1])


def _walk(root: str) -> Iterator[tuple[str, os.stat_result | None]]:
    """Yield all files, the directory itself first; without a state if the name is not UTF-8."""
    walker = rignore.walk(
        Path(root),
        ignore_hidden=False,
        read_ignore_files=True,
        read_parents_ignores=True,
        read_git_ignore=True,
        read_git_exclude=True,
        read_global_git_ignore=False,
        require_git=False,
        same_file_system=True,
        overrides=_LEFT_OUT,
    )
    while True:
        try:
            name = str(next(walker))
        except StopIteration:
            return
        except ValueError:
            yield "", None
            continue
        with suppress(OSError):
            yield name, os.lstat(name)
