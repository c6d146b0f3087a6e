"""Places that no command gets, whatever a user answers: they are not asked for, and no result advises to ask."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_core.process import Access

if TYPE_CHECKING:
    from oneclaw_core.files import PathGuard
    from oneclaw_core.process import SandboxPolicy


# Programs, their settings and the kernel: no command gets to write there.
_CLOSED = (
    "/bin", "/boot", "/dev", "/etc", "/gnu", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/proc", "/sbin", "/snap",
    "/sys", "/usr",
)  # fmt: skip


def owner_of_closed(kind: str, path: Path, paths: PathGuard, policy: SandboxPolicy) -> str:
    """Return who owns a place that stays closed, ``the system`` or ``OneClaw``; ``""`` if it can be asked for.

    Args:
        kind: ``read`` or ``write``.
        path: absolute and without symbolic links.
        paths: the directories of tools.
        policy: of commands that need nothing.
    """
    in_home = paths.home is not None and path.is_relative_to(paths.home.resolve())
    if in_home and not path.is_relative_to(paths.workspace.resolve()):
        return "OneClaw"
    if _is_system_place(path) and (kind == "write" or policy.access(path) is Access.HIDDEN):
        return "the system"
    # A command would change the program that asks.
    if kind == "write" and any(path.is_relative_to(Path(each).resolve()) for each in (sys.prefix, sys.base_prefix)):
        return "OneClaw"
    return ""


def _is_system_place(path: Path) -> bool:
    """Return True for the root, and for places of the system that no command gets to write.

    Args:
        path: absolute and without symbolic links.
    """
    return path.parent == path or any(path.is_relative_to(each) for each in _CLOSED)
