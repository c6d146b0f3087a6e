"""Decide which files a tool may read and write; :mod:`oneclaw_core.files.access` opens them."""

from __future__ import annotations

import errno
import os
import shlex
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from oneclaw_core.errors import PermissionDeniedError, UsageError, denied_for_good
from oneclaw_core.files.hidden_paths import hidden_root, is_private_directory
from oneclaw_core.files.protected_places import protected_root
from oneclaw_core.files.similar_names import existing_alike, similar_in
from oneclaw_core.files.views import FileViews
from oneclaw_core.types.provenance import FileState, UsedFile

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_core.capabilities.declaration import Declaration


# What lies there is no file: processes with their environments, and devices.
_KERNEL_DIRECTORIES = (Path("/proc"), Path("/sys"), Path("/dev"))
_SHOWN_CHARACTERS = 100
_NOTHING_THERE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EBADF, errno.ELOOP})


class PathPermissionError(PermissionDeniedError):
    """A permission for a path is needed, and no one can be asked where it was found out.

    Attributes:
        name: ``PERMISSION:PATH``, by which it can be granted.
        detail: what is about to be done.
        path: the permission is needed for.
        directory: a lasting answer may hold in; ``None`` for the path alone.
    """

    def __init__(self, permission: str, detail: str, path: Path, directory: Path | None) -> None:
        name = self.name = f"{permission}:{path}"
        super().__init__(
            f"Permission {permission!r} is needed to {detail}, and no one can be asked here. "
            f"The user can grant it with: oneclaw permissions grant {shlex.quote(name)}",
            permission,
            "default",
        )
        self.detail = detail
        self.path = path
        self.directory = directory


class PathQuestions(Protocol):
    """Asks the user about paths on behalf of a call; reached through :class:`PathGuard`, in a thread."""

    @property
    def is_trusted(self) -> bool:
        """True if the user trusts the start directory."""
        ...

    def ask_trust(self, detail: str) -> bool:
        """Ask once whether to trust the start directory; return True if it is trusted now."""
        ...

    def granted_places(self, permission: str) -> frozenset[str]:
        """Return the places that a permission is granted for without a question; ``"/"`` if any place is."""
        ...

    def ask(self, permission: str, detail: str, path: Path, directory: Path | None) -> None:
        """Go on if the user grants a permission for a path, else raise ``PermissionDeniedError``."""
        ...


class TrustedDirectory(Protocol):
    """The start directory: see :class:`oneclaw_core.project.trust.Project`."""

    @property
    def path(self) -> str:
        """The directory."""
        ...

    @property
    def is_trusted(self) -> bool:
        """True if the user trusts it."""
        ...

    @property
    def can_be_asked(self) -> bool:
        """True if the user may be asked to trust it, and has not been."""
        ...

    async def ask_trust(self, require: Any, detail: str) -> bool:
        """Ask the user, unless that is decided already; return True if the user was asked, and trusts it."""
        ...


@dataclass(frozen=True, slots=True)
class PathGuard:
    """Confines a tool's files to the workspace and the start directory.

    Paths are resolved before they are judged, so neither ``..`` nor a symbolic link leads outside. Hidden files, such
    as ``.env``, are read only with a permission that names them. The start directory is written only if the user
    trusts it. Then relative paths lie in it; before, they are looked up in it, then in the workspace, and written in
    the workspace.

    Where the user may have to be asked, call it in a thread: ``await context.readable(path)`` in async code.

    Attributes:
        workspace: the directory in the home where tools read and write.
        start_directory: where the program was started.
        home: closed to tools but for the workspace, also where it is in the start directory.
        denied: what the user has denied of ``files.read`` and ``files.write``: these names, or with a path such as
            ``files.write:/home/ada/notes``, which stands for the file, or all below the directory.
        trusts_start: True if the user trusts the start directory; with questions, these know.
        granted: what was granted to this call, as ``PERMISSION:PATH``, where no one can be asked.
        questions: asks the user; ``None`` where that is not possible, such as in a worker process.
        used: the paths that a call has asked for, see :mod:`oneclaw_core.provenance.marks`.
        views: what the session has seen of files.
        declaration: the files that the plugin of the tool may use; ``None`` if nothing holds it.
    """

    workspace: Path
    start_directory: Path
    home: Path | None = None
    denied: frozenset[str] = frozenset()
    trusts_start: bool = False
    granted: frozenset[str] = frozenset()
    questions: PathQuestions | None = field(default=None, repr=False, compare=False)
    used: list[UsedFile] = field(default_factory=list, compare=False, repr=False)
    views: FileViews = field(default_factory=FileViews, compare=False, repr=False)
    declaration: Declaration | None = None

    def for_call(
        self,
        used: list[UsedFile],
        views: FileViews,
        denied: frozenset[str] = frozenset(),
        questions: PathQuestions | None = None,
        declaration: Declaration | None = None,
    ) -> PathGuard:
        """Return the guard of one call."""
        return replace(self, used=used, views=views, denied=denied, questions=questions, declaration=declaration)

    @property
    def is_trusted(self) -> bool:
        """True if the user trusts the start directory, which relative paths lie in then."""
        return self.trusts_start if self.questions is None else self.questions.is_trusted

    def written_directories(self) -> tuple[Path, ...]:
        """Return the directories where tools can write, without symbolic links; none if the user denied that."""
        if "files.write" in self.denied:
            return ()
        return tuple(_resolve(each) for each in (self.workspace, *([self.start_directory] if self.is_trusted else [])))

    def opened_places(self) -> tuple[Path, ...]:
        """Return the places beyond these directories that the user has let tools write, without symbolic links."""
        return (
            ()
            if self.questions is None
            else tuple(map(_resolve, map(Path, self.questions.granted_places("files.write"))))
        )

    def readable(self, path: str | Path) -> Path:
        """Resolve a path that a tool wants to read, and ask the user if it is hidden.

        Returns:
            An absolute path without symbolic links, which need not exist.

        Raises:
            PermissionDeniedError: it lies outside both directories, is denied, or can be no file's path.
        """
        found, written = self._located(path)
        if _exists(found):
            if self._is_private(found, written):
                self._ask("files.read", f"read {found}, which may hold secrets", found)
            self._note_read(found)
        return found

    def may_read(self, path: Path) -> bool:
        """Return True if a path may be read without asking, for tools that look through many.

        Args:
            path: absolute.
        """
        try:
            found, written = self._located(path)
        except PermissionDeniedError:
            return False
        is_open = f"files.read:{found}" in self.granted or not self._is_private(found, written)
        if is_open:
            self._note_read(found)
        return is_open

    def _note_read(self, path: Path) -> None:
        try:
            state = FileState.of(path, path.stat())
        except OSError:
            state = None
        self.used.append(UsedFile(path, "read", time.time_ns(), state))

    def locate(self, path: str | Path) -> Path:
        """Resolve a path as :meth:`readable` does, for a tool that tells what is there and reads nothing.

        Raises:
            PermissionDeniedError: as for :meth:`readable`.
        """
        return self._located(path)[0]

    def _located(self, path: str | Path) -> tuple[Path, Path]:
        """Find a path to read; return it resolved, and as it was written."""
        self._require("files.read")
        wanted = _expand(path)
        bases = (self.start_directory, self.workspace)
        candidates = [wanted] if wanted.is_absolute() else [base / wanted for base in self._bases()]
        found = [(_resolve(each), each) for each in candidates]
        inside = [each for each in found if self._is_readable(each[0])]
        there = next((each for each in inside if _exists(each[0])), None) or self._located_alike(candidates)
        if there is not None:
            self._require("files.read", there[0])
            return there
        # A link that leads out is no missing file; what is behind it is not looked at.
        leads_out = any(
            _is_written_inside(each, base) and not any(_is_inside(resolved, other) for other in bases)
            for resolved, each in found
            for base in bases
        )
        if leads_out or not inside:
            raise PermissionDeniedError(
                f"{str(path)!r} is outside the directories that tools may read: "
                f"the workspace {self.workspace} and the start directory {self.start_directory}. The user can start "
                "OneClaw in another directory, or attach the file",
                "files.read",
            )
        self._require("files.read", inside[0][0])
        return inside[0]

    def _located_alike(self, candidates: Iterable[Path]) -> tuple[Path, Path] | None:
        """Find the file whose path is written with other spaces or another Unicode form than that asked for."""
        for each in candidates:
            for base in (self.start_directory, self.workspace):
                alike = existing_alike(base, each.relative_to(base)) if each.is_relative_to(base) else None
                if alike is not None and self._is_readable(found := _resolve(alike)) and _exists(found):
                    return found, alike
        return None

    def similar_to(self, path: Path) -> str:
        """Name the files beside a missing one that have similar names, to end a sentence; empty if there are none.

        Args:
            path: from :meth:`readable`.
        """
        if not self._is_readable(path.parent) or self._is_private(path.parent, path.parent):
            return ""
        names = similar_in(path.parent, path.name)
        return f"; similar names in its directory: {', '.join(names)}" if names else ""

    def _bases(self) -> tuple[Path, ...]:
        """Return the directories that a relative path to read is looked up in."""
        if self.is_trusted:
            return (self.start_directory,)
        if is_private_directory(self.start_directory):
            return self.workspace, self.start_directory
        return self.start_directory, self.workspace

    def _is_private(self, found: Path, written: Path) -> bool:
        """Return True if reading a path takes a permission that names it."""
        is_open = self.is_trusted or _is_inside(found, self.workspace)
        if not is_open and is_private_directory(self.start_directory):
            return True
        return hidden_root(written, opened=(self.workspace, self.start_directory)) is not None

    def working_directory(self, wanted: str | None) -> Path:
        """Find the directory that a command is to run in, which may be any.

        Args:
            wanted: absolute, or relative as for :meth:`readable`; nothing for the trusted start directory, else for
                the workspace.

        Returns:
            An absolute path without symbolic links.

        Raises:
            UsageError: there is no such directory, or it cannot be entered.
        """
        if not wanted:
            return self._running_in((self.start_directory if self.is_trusted else self.workspace).resolve())
        shown = repr(wanted if len(wanted) <= 200 else wanted[:200] + "…")
        path = Path(wanted)
        candidates = [path] if path.is_absolute() else [base / path for base in self._bases()]
        try:
            found = next((each for each in candidates if each.exists()), None)
            if found is None:
                raise UsageError(f"working_directory {shown} does not exist")
            if not found.is_dir():
                raise UsageError(f"working_directory {shown} is not a directory")
            if not os.access(found, os.X_OK):
                raise UsageError(f"working_directory {shown} cannot be entered: permission denied")
            return self._running_in(found.resolve())
        except (OSError, ValueError):  # too long, or not to be encoded
            raise UsageError(f"working_directory {shown} does not exist") from None

    def writable(self, path: str | Path, change: str = "") -> Path:
        """Resolve a path that a tool wants to write, and ask the user where that is needed.

        A relative path is resolved in the start directory if the user trusts it, else in the workspace, unless the
        start directory has a file of that name, which would be read in its place. Trust is asked for once, if the path
        leads to something in the start directory.

        Args:
            path: absolute or relative.
            change: what is about to be changed there, such as a diff; shown to the user who is asked.

        Returns:
            An absolute path without symbolic links; neither it nor its parents need exist.

        Raises:
            PermissionDeniedError: it lies outside both directories, is denied, or can be no file's path.
        """
        resolved = self.locate_to_write(path)
        self._require("files.write", resolved)
        shown = f"\n{change}" if change else ""
        if _is_inside(resolved, self.workspace):
            workspace = _resolve(self.workspace)
            if protected_root(resolved.relative_to(workspace), workspace) is not None:
                self._ask("files.write", f"write {resolved}, which other programs run or obey{shown}", resolved)
        else:
            self._ask_to_write(resolved, shown)
        _exists(resolved)
        self.used.append(UsedFile(resolved, "write", time.time_ns()))
        return resolved

    def locate_to_write(self, path: str | Path) -> Path:
        """Resolve a path as :meth:`writable` does, for a tool that looks at what is there before it asks.

        Raises:
            PermissionDeniedError: it lies outside both directories, writing is denied, or it can be no file's path.
        """
        self._require("files.write")
        wanted = _expand(path)
        base = self.workspace if wanted.is_absolute() else self._base_to_write(wanted)
        resolved = _resolve(base / wanted)
        if not _exists(resolved):
            resolved = self._alike_to_write(resolved) or resolved
        in_workspace = _is_inside(resolved, self.workspace) and resolved != _resolve(self.workspace)
        if not in_workspace and not self._is_in_start(resolved):
            raise PermissionDeniedError(
                f"{str(path)!r} is not a file in the directories that tools may write: the workspace {self.workspace}, "
                f"and the start directory {self.start_directory} if the user trusts it",
                "files.write",
            )
        return resolved

    def _alike_to_write(self, path: Path) -> Path | None:
        for base in (_resolve(self.start_directory), _resolve(self.workspace)):
            if path.is_relative_to(base):
                alike = existing_alike(base, path.relative_to(base), is_to_write=True)
                return None if alike is None else _resolve(alike)
        return None

    def _base_to_write(self, wanted: Path) -> Path:
        """Find the directory that a relative path to write lies in."""
        if self.is_trusted:
            return self.start_directory
        in_start = self.start_directory / wanted
        is_private = is_private_directory(self.start_directory)
        if is_private or not self._is_in_start(_resolve(in_start)):
            return self.workspace
        is_there = os.path.lexists(in_start)
        if not is_there and not (len(wanted.parts) > 1 and (self.start_directory / wanted.parts[0]).is_dir()):
            return self.workspace  # nothing says that it is about the project
        if self.asks_trust(f"write {_resolve(in_start)}"):
            return self.start_directory
        if is_there:
            raise self._untrusted(f"{str(wanted)!r} is there in the start directory {self.start_directory}")
        return self.workspace

    def _ask_to_write(self, path: Path, change: str) -> None:
        """Ask before a file of the start directory is written."""
        detail = f"write {path}"
        if not self.is_trusted and not self.asks_trust(detail):
            raise self._untrusted(f"{str(path)!r} is in the start directory {self.start_directory}")
        start = _resolve(self.start_directory)
        if protected_root(path.relative_to(start), start) is not None:
            self._ask("files.write", f"{detail}, which other programs run or obey{change}", path)
        elif hidden_root(path, opened=(start,)) is not None:
            self._ask("files.write", f"{detail}, which may hold secrets{change}", path)
        else:
            self._ask("files.write", detail + change, path, start)

    def _untrusted(self, what: str) -> PermissionDeniedError:
        return PermissionDeniedError(
            f"{what}, which the user does not trust, so tools may not write there. The user can trust it with: "
            f"oneclaw trust {shlex.quote(str(self.start_directory))}. The workspace {self.workspace} can be written: "
            "give an absolute path in it",
            "files.write",
        )

    def _ask(self, permission: str, detail: str, path: Path, directory: Path | None = None) -> None:
        if f"{permission}:{path}" in self.granted:
            return
        if self.questions is None:
            raise PathPermissionError(permission, detail, path, directory)
        self.questions.ask(permission, detail, path, directory)

    def for_other_process(self, granted: Iterable[str] = ()) -> PathGuard:
        """Return a guard that can be sent to a worker process, where no one can be asked.

        Args:
            granted: what the user has granted to the call, as ``PERMISSION:PATH``.
        """
        return replace(
            self,
            trusts_start=self.is_trusted,
            granted=self.granted.union(granted),
            questions=None,
            used=[],
            views=self.views.of_call(),
        )

    def asks_trust(self, detail: str) -> bool:
        """Return True if the user trusts the start directory; ask for it, once, where a person can be asked.

        Args:
            detail: what exactly is about to be done there, shown to the user.
        """
        if self.is_trusted:
            return True
        return self.questions is not None and self.questions.ask_trust(detail)

    def display(self, path: Path) -> str:
        """Write a path for an error: relative to the workspace or start directory if inside. Results are absolute."""
        for base in (self.workspace, self.start_directory):
            resolved = _resolve(base)
            if _is_inside(path, resolved):
                return str(path.relative_to(resolved))
        return str(path)

    def _running_in(self, directory: Path) -> Path:
        """Note where a program may write, whatever directory it is started in."""
        since_ns = time.time_ns()
        for each in dict.fromkeys((directory, _resolve(self.workspace), _resolve(self.start_directory))):
            self.used.append(UsedFile(each, "run", since_ns))
        return directory

    def _require(self, permission: str, path: Path | None = None) -> None:
        denied = permission if permission in self.denied else None
        if path is not None:
            parts = (path, *path.parents)
            denied = next((name for each in parts if (name := f"{permission}:{each}") in self.denied), denied)
        if denied is not None:
            raise denied_for_good(denied)
        if path is not None and self.declaration is not None:
            bases = [_resolve(each) for each in (self.workspace, self.start_directory)]
            seen_from = [str(path.relative_to(each)) for each in bases if path.is_relative_to(each)]
            self.declaration.require_file(permission.partition(".")[2], (str(path), *seen_from))

    def _is_readable(self, path: Path) -> bool:
        if _is_inside(path, self.workspace):
            return True
        return _is_inside(path, self.start_directory) and not self._is_closed(path)

    def _is_in_start(self, path: Path) -> bool:
        start = _resolve(self.start_directory)
        return path != start and _is_inside(path, start) and not self._is_closed(path)

    def _is_closed(self, path: Path) -> bool:
        closed = [*_KERNEL_DIRECTORIES, *([self.home] if self.home is not None else [])]
        return any(_is_inside(path, each) for each in closed) or _is_below_same(path, closed)


def _is_written_inside(path: Path, directory: Path) -> bool:
    return ".." not in path.parts and path.is_relative_to(directory)


def _expand(path: str | Path) -> Path:
    if "\x00" in str(path):
        raise PermissionDeniedError("a path cannot contain a NUL character", "files.read")
    return Path(path)


def _resolve(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError) as error:  # a loop of symbolic links
        raise PermissionDeniedError(f"{str(path)!r} cannot be resolved: {error}", "files.read") from None


def _exists(path: Path) -> bool:
    """Return True if the path exists; resolving does not show paths that no file system accepts."""
    try:
        # From Python 3.14 on, exists() is false for whatever goes wrong.
        path.stat()
    except OSError as error:
        if error.errno in _NOTHING_THERE:
            return False
        # Too long a name, or a directory that cannot be looked into.
        raise _UnusablePathError(path, error) from None
    return True


class _UnusablePathError(PermissionDeniedError, OSError):
    """No file can be opened there; an ``OSError`` too, for tools that answer those in their own words."""

    def __init__(self, path: Path, error: OSError) -> None:
        name, reason = str(path), error.strerror or str(error)
        shown = name if len(name) <= _SHOWN_CHARACTERS else f"{name[:_SHOWN_CHARACTERS]}…"
        super().__init__(f"{shown!r} cannot be opened: {reason}", "files.read")
        self.strerror = reason


def _is_below_same(path: Path, directories: Iterable[Path]) -> bool:
    """Return True if a path leads through one of some directories, under any name.

    A directory has several names on a file system that ignores case, or with a second mount.
    """
    wanted = {identity for each in directories if (identity := _identity(each)) is not None}
    return any(_identity(each) in wanted for each in (path, *path.parents))


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except (OSError, ValueError):  # it is not there, or cannot be
        return None
    return found.st_dev, found.st_ino


def _is_inside(path: Path, directory: Path) -> bool:
    return path.is_relative_to(_resolve(directory))
