"""Unix sockets that exist: a directory that can be read is enough to connect to one in it, so others are hidden."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_core.process.sandbox.policy import Access

if TYPE_CHECKING:
    from oneclaw_core.process.sandbox.policy import SandboxPolicy

_LISTED = Path("/proc/net/unix")
_PATH_FIELD = 7
# Directories nearer to the root hold more than the sockets of one service.
_FEWEST_PARTS = 3


def without_foreign_sockets(policy: SandboxPolicy) -> SandboxPolicy:
    """Hide the sockets outside the directories that a policy writes, each with its directory if nothing else needs it.

    Raises:
        OSError: The sockets cannot be listed.
    """
    named = policy.rules()
    folders: set[Path] = set()
    files: set[Path] = set()
    for path in _sockets():
        if policy.access(path) is not Access.READ:
            continue
        folder = path.parent
        # A service that is started again makes its socket anew in the same directory.
        if len(folder.parts) > _FEWEST_PARTS and not any(each.is_relative_to(folder) for each in named):
            folders.add(folder)
        else:
            files.add(path)
    return replace(
        policy,
        hidden_folders=(*policy.hidden_folders, *sorted(folders)),
        hidden_files=(*policy.hidden_files, *sorted(files)),
    )


def _sockets() -> set[Path]:
    found = set()
    for line in _LISTED.read_text("utf-8", "surrogateescape").splitlines()[1:]:
        fields = line.split(" ", _PATH_FIELD)
        if len(fields) > _PATH_FIELD and fields[_PATH_FIELD].startswith("/"):
            found.add(Path(fields[_PATH_FIELD]).resolve())
    return found
