"""Notes of which plugin is being loaded, by which the next start knows a plugin that ended the program.

A process holds a lock on its note, which the operating system releases however the process ends: a note that no process
holds a lock on tells of a process that ended while it loaded the plugin. It may have been killed for another reason, so
a child process tries to import the plugin before anything is held against it, and its finding is written in the note.
Without a place for notes all goes on without.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from oneclaw_core.plugins.registration.record import PluginRecord

RETRY_SECONDS = 3600.0
"""After which a plugin is tried once more by itself: the process may have been killed for another reason."""

LOADING = "loading"
"""The step of importing a plugin and calling the hooks that every start needs."""

_MAX_NOTE_BYTES = 65_536


class Ending(NamedTuple):  # which every start makes ten times as fast as a dataclass
    """The end of a process while it loaded a plugin.

    Attributes:
        path: the note that tells it.
        name, distribution, version, target: of the plugin.
        step: what the plugin was doing: :data:`LOADING`, or a hook that is called later.
        began_at: when that began, in seconds since the epoch.
        imported: what was being imported if it was not the plugin itself, as ``module:attribute``.
        is_harmless: True if a child process could import that, False if it could not; ``None`` before it has tried.
    """

    path: Path
    name: str
    distribution: str | None
    version: str | None
    target: str
    step: str
    began_at: float
    imported: str | None
    is_harmless: bool | None


class CrashGuard:
    """The notes of the processes that use a home, and this one's own, for as long as the ``with`` block runs.

    Args:
        directory: where they lie; ``None`` for nowhere, which notes nothing.
    """

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory
        self._endings = [] if directory is None else list(_endings(directory))
        self._path: Path | None = None
        self._descriptor: int | None = None
        self._is_home_made = False

    def __enter__(self) -> Self:
        """Begin; the note is made when there is something to note."""
        return self

    def __exit__(self, *_: object) -> None:
        """Take the note away."""
        self.close()

    def leaves_alone(self, record: PluginRecord) -> bool:
        """Tell whether a plugin has ended the program, and is not to be tried again yet; if so, report it."""
        of_version = [each for each in self._endings if _is_of_version(each, record)]
        # Of two endings, one after a child process could import the plugin, the plugin is the cause.
        if of_version and all(each.is_harmless is None and each.step == LOADING for each in of_version):
            is_harmless = _is_harmless(of_version)
            for each in of_version:
                _write_finding(each.path, is_harmless=is_harmless)
            if is_harmless:
                return False
        endings = sorted((each for each in of_version if not each.is_harmless), key=lambda each: each.began_at)
        if not endings:
            return False
        first, last = endings[0], endings[-1]
        retry_at = first.began_at + RETRY_SECONDS
        # Whatever ended before it was to be tried again had begun together with the first.
        is_tried_twice = last.began_at >= retry_at
        if not is_tried_twice and not first.began_at <= time.time() < retry_at:
            return False
        again = "" if is_tried_twice else f"; by itself it is tried once more after {_told(retry_at)}"
        when = "while it was loaded" if last.step == LOADING else "in this hook"
        name, package = _name_of(record), record.distribution or "the package"
        record.report(
            last.step,
            f"the program ended {when}, at {_told(last.began_at)}; it is left alone",
            f"find out why with: oneclaw plugins check {name}; then install another version of {package}, or try this "
            f"one again with: oneclaw plugins enable {name}{again}",
        )
        return True

    @contextmanager
    def during(self, record: PluginRecord, step: str, imported: str | None = None) -> Iterator[None]:
        """Record that a plugin's code runs while the block does.

        The record is removed when the block ends, so only a crash of the process leaves it.

        Args:
            record: of the plugin.
            step: what its code does.
            imported: what is being imported if it is not the plugin itself, as ``module:attribute``.
        """
        self._write(record, step, imported)
        yield
        for ending in self._endings:
            if ending.step == step and _is_of_plugin(ending, record):
                with suppress(OSError):
                    ending.path.unlink()

    def _write(self, record: PluginRecord, step: str, imported: str | None) -> None:
        if self._directory is None:
            return
        about = {
            "plugin": _name_of(record),
            "package": record.distribution,
            "version": record.version,
            "target": record.target,
            "step": step,
            "imported": imported,
        }
        try:
            if self._descriptor is None:
                self._open(self._directory)
            assert self._descriptor is not None
            # A longer note before it is left behind the end of the line.
            os.pwrite(self._descriptor, json.dumps(about).encode() + b"\n", 0)
        except OSError:
            # Neither is the plugin before it to be blamed, nor is each of those after it to be tried.
            self.close()
            self._directory = None

    def _open(self, directory: Path) -> None:
        self._path = directory / f"{os.getpid()}-{time.time_ns():x}"
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            self._descriptor = os.open(self._path, flags, 0o600)
        except FileNotFoundError:
            from oneclaw_core.system.private_files import make_private_directory

            home = directory.parent
            self._is_home_made = not home.exists()
            make_private_directory(directory)
            self._descriptor = os.open(self._path, flags, 0o600)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def close(self) -> None:
        """Take the note away."""
        if self._path is None:
            return
        with suppress(OSError):
            self._path.unlink()
        # Only now may others have the lock.
        if self._descriptor is not None:
            os.close(self._descriptor)
        if self._is_home_made:
            # A listing leaves no home behind.
            with suppress(OSError):
                self._path.parent.rmdir()
                self._path.parent.parent.rmdir()
        self._path = self._descriptor = None


def forget_endings(directory: Path, name: str) -> bool:
    """Have a plugin tried again at the next start.

    Returns:
        Whether something was held against it.
    """
    endings = [each for each in _endings(directory) if each.name == name]
    for each in endings:
        with suppress(OSError):
            each.path.unlink()
    return bool(endings)


def _endings(directory: Path) -> Iterator[Ending]:
    try:
        paths = list(directory.iterdir())
    except OSError:
        return
    for path in paths:
        try:
            content, changed_at = _left_behind(path)
        except OSError:  # gone, or its process lives
            continue
        ending = _read(path, content, changed_at)
        if ending is not None:
            yield ending
        elif time.time() - changed_at > RETRY_SECONDS:
            # Its process ended before it noted anything, or with the machine.
            with suppress(OSError):
                path.unlink()


def _left_behind(path: Path) -> tuple[bytes, float]:
    """Read a note whose lock is free, and when it was changed.

    Raises:
        OSError: another process holds it, or there is no such note.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        state = os.fstat(descriptor)
        # A process that has loaded all takes its note away before it gives back the lock.
        if state.st_nlink == 0 or not stat.S_ISREG(state.st_mode):
            raise FileNotFoundError(path)
        return os.read(descriptor, _MAX_NOTE_BYTES), state.st_mtime
    finally:
        os.close(descriptor)


def _read(path: Path, content: bytes, changed_at: float) -> Ending | None:
    try:
        found = json.loads(content.partition(b"\n")[0])
        name, target, step = found["plugin"], found["target"], found["step"]
        distribution, version = found["package"], found["version"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    imported, is_harmless = found.get("imported"), found.get("is_harmless")
    if not all(isinstance(each, str) for each in (name, target, step)) or not isinstance(imported, str | None):
        return None
    return Ending(path, name, distribution, version, target, step, changed_at, imported, is_harmless)


def _is_harmless(endings: Sequence[Ending]) -> bool:
    """Have a child process import what was being imported when processes ended."""
    from oneclaw_core.plugins.loading.crash_probe import can_be_imported

    return can_be_imported([endings[0].target, *dict.fromkeys(each.imported for each in endings if each.imported)])


def _write_finding(path: Path, *, is_harmless: bool) -> None:
    """Write in a note what a child process found; the note keeps its time."""
    # Another process may have taken it away, or it can only be read: then the next start tries it again.
    with suppress(OSError), open(path, "r+b", opener=_open_existing) as note:
        changed_at = os.fstat(note.fileno()).st_mtime_ns
        found = json.loads(note.read(_MAX_NOTE_BYTES).partition(b"\n")[0])
        note.seek(0)
        note.write(json.dumps(found | {"is_harmless": is_harmless}).encode() + b"\n")
        note.flush()
        os.utime(note.fileno(), ns=(changed_at, changed_at))


def _open_existing(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def _is_of_plugin(ending: Ending, record: PluginRecord) -> bool:
    return (ending.name, ending.distribution) == (_name_of(record), record.distribution)


def _is_of_version(ending: Ending, record: PluginRecord) -> bool:
    return _is_of_plugin(ending, record) and (ending.version, ending.target) == (record.version, record.target)


def _name_of(record: PluginRecord) -> str:
    """The name of the entry point, which a record does not bear where another package has the same one."""
    return record.name.removesuffix(f"@{record.distribution}")


def _told(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
