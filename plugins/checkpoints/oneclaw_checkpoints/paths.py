"""Paths that a call may change: those that it names, or any of the directory that it works in."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from oneclaw_core import CallInfo
    from oneclaw_core.tools import ToolRegistry

_PATCHED = re.compile(r"^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+)$", re.MULTILINE)
_WRITING_PERMISSIONS = frozenset({"files.write", "shell.execute"})
# It asks for what its program does, call by call.
_PROGRAMS = frozenset({"js_eval"})


def named_paths(call: CallInfo) -> list[str] | None:
    """Return the paths, as the model wrote them, of a call that changes no other files; ``None`` for any other call."""
    if call.tool in ("write_file", "edit_file"):
        path = call.arguments.get("path")
        return [path] if isinstance(path, str) else []
    if call.tool == "apply_patch":
        patch = call.arguments.get("patch")
        return [each.strip() for each in _PATCHED.findall(patch)] if isinstance(patch, str) else []
    return None


def may_change_files(call: CallInfo, registry: ToolRegistry) -> bool:
    """Return True for a call that runs a program or writes files that it does not name.

    Tools of servers and of the user may do anything, whatever they say of themselves.
    """
    if call.tool in _PROGRAMS or not _WRITING_PERMISSIONS.isdisjoint(call.required_permissions):
        return True
    found = registry.find(call.tool)
    return found is not None and found.source.is_supplied


def resolved(paths: Iterable[str], directories: Iterable[str]) -> Iterator[str]:
    """Resolve paths as tools do, in each directory that they may lie in."""
    for path in paths:
        if "\0" not in path:
            for directory in directories:
                yield os.path.realpath(Path(directory, path))


def with_new_parents(path: str) -> Iterator[str]:
    """Yield a path and those of its parent directories that are not there, which writing it makes."""
    yield path
    for parent in Path(path).parents:
        if os.path.lexists(parent):
            return
        yield str(parent)
