"""Making tools of the files in the folder; what has not changed is not read again."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_core.manifests import MAX_MANIFEST_BYTES
from oneclaw_core.plugins import PluginProblem
from oneclaw_javascript.user_tools.files import UnreadableFileError, read_file
from oneclaw_javascript.user_tools.javascript import read_javascript
from oneclaw_javascript.user_tools.user_tool import FileTools

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_core.files import FileStamp
    from oneclaw_javascript.user_tools.files import Listing

_WHERE = "tools"
_MAX_CODE_BYTES = 4_000_000
_MAX_BYTES = {"json": MAX_MANIFEST_BYTES, "js": _MAX_CODE_BYTES, "py": _MAX_CODE_BYTES}

_log = logging.getLogger("oneclaw.user_tools")


@dataclass(frozen=True, slots=True)
class Reading:
    """The files of one name when they were read, and the tools made of them.

    Attributes:
        stamps: by which a change shows.
        is_settled: whether every change since would show.
        contents: by the ends of the files' names; a text says why a file cannot be read.
        is_python_enabled: whether Python files were imported.
        made: the tools.
    """

    stamps: tuple[tuple[str, FileStamp], ...]
    is_settled: bool
    contents: Mapping[str, bytes | str]
    is_python_enabled: bool
    made: FileTools


def read_folder(
    folder: str, listing: Listing, is_python_enabled: bool, known: Mapping[str, Reading]
) -> dict[str, Reading]:
    """Read the files that have changed.

    Args:
        folder: where they lie.
        listing: which there are.
        is_python_enabled: whether Python files may be imported, which runs them.
        known: what was read before, by name.

    Returns:
        Readings by the names of the files, without their ends, in alphabetical order; the same objects where nothing
        has changed.
    """
    readings = {}
    by_name = sorted((name.rpartition(".")[0], (name, stamp)) for name, stamp in listing.files)
    for name, files in groupby(by_name, key=lambda each: each[0]):
        stamps = tuple(each for _, each in files)
        before = known.get(name)
        if before is not None and before.is_python_enabled != is_python_enabled:
            before = None
        if before is not None and before.stamps == stamps and before.is_settled:
            readings[name] = before
            continue
        is_settled = all(stamp.is_settled for _, stamp in stamps)
        contents = {file.rpartition(".")[2]: _content(folder, file) for file, _ in stamps}
        if before is not None and before.contents == contents:
            made = before.made
        else:
            made = _made_safely(Path(folder), name, contents, is_python_enabled=is_python_enabled)
        readings[name] = Reading(stamps, is_settled, contents, is_python_enabled, made)
    return readings


def _content(folder: str, file: str) -> bytes | str:
    try:
        return read_file(f"{folder}/{file}", _MAX_BYTES[file.rpartition(".")[2]])
    except FileNotFoundError:
        return "is not there"
    except UnreadableFileError as fault:
        return str(fault)


def _made_safely(folder: Path, name: str, contents: Mapping[str, bytes | str], *, is_python_enabled: bool) -> FileTools:
    try:
        return _made(folder, name, contents, is_python_enabled=is_python_enabled)
    except Exception as error:  # noqa: BLE001  # no file, whatever is in it, may keep a turn from going on
        _log.exception("reading the tools %s failed", name)
        return _nothing(f"{name}: {type(error).__name__}: {error}"[:500], "see the log, and fix the file")


def _made(folder: Path, name: str, contents: Mapping[str, bytes | str], *, is_python_enabled: bool) -> FileTools:
    faults = [f"{name}.{end} {content}" for end, content in contents.items() if isinstance(content, str)]
    if faults:
        return _nothing("; ".join(faults), "remove it, or make it a file that this user can read")
    files = {end: content for end, content in contents.items() if isinstance(content, bytes)}
    manifest, javascript, python = files.get("json"), files.get("js"), files.get("py")
    if manifest is not None and javascript is not None and python is not None:
        cause = f"{name}.json has both {name}.js and {name}.py beside it, and cannot belong to both"
        return _nothing(cause, "rename one of them")
    if manifest is not None and javascript is not None:
        return read_javascript(name, manifest, javascript)
    if python is not None:
        if not is_python_enabled:
            cause = f"{name}.py is left alone: tools in Python run with all your rights, and are switched off"
            remedy = "if you trust the file, switch them on with: oneclaw config set user_tools_python true"
            return _nothing(cause, remedy, is_error=False)
        from oneclaw_javascript.user_tools.python import read_python

        return read_python(folder / f"{name}.py", python, manifest)
    if manifest is not None:
        return _nothing(f"{name}.json has no {name}.js beside it", f"write {name}.js, or remove {name}.json")
    cause = f"{name}.js has no manifest {name}.json beside it, so it is not a tool"
    return _nothing(cause, f"write {name}.json, or move {name}.js into the folder lib", is_error=False)


def _nothing(cause: str, remedy: str, *, is_error: bool = True) -> FileTools:
    return FileTools(problems=(PluginProblem(_WHERE, cause, remedy, is_error),))
