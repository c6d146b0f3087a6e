"""The directory that the program was started in, and the user's trust in it.

Trust is a grant of the permission ``directory.trust`` for the resolved path. It is asked for once, where it is first
needed; ``oneclaw trust`` grants it as well. A directory that is no project, such as the user's own, is never asked for.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from oneclaw_core.errors import PermissionDeniedError
from oneclaw_core.tools.hidden_paths import is_private_directory
from oneclaw_core.tools.permission_rules import TRUST_PERMISSION
from oneclaw_core.tools.permissions import PermissionRequest

if TYPE_CHECKING:
    from pathlib import Path

    from oneclaw_core.tools.permissions import PermissionPolicy, RequirePermission


class Project:
    """The start directory.

    Args:
        directory: its path, ``None`` for no project.
        permissions: what the user has decided; ``None`` for a project that is not trusted.
    """

    def __init__(self, directory: Path | None = None, permissions: PermissionPolicy | None = None) -> None:
        self.directory = directory
        self._permissions = permissions
        self._trusted: set[str] = set()
        self._declined: set[str] = set()
        self._asking = asyncio.Lock()

    @property
    def path(self) -> str:
        """Its resolved path, ``""`` for no project; what a path leads to may change."""
        return "" if self.directory is None else os.path.realpath(self.directory)

    @property
    def is_trusted(self) -> bool:
        """True if the user trusts it, as is known now."""
        if self.directory is None or self._permissions is None:
            return False
        path = self.path
        return path in self._trusted or self._permissions.is_granted(
            PermissionRequest(TRUST_PERMISSION, "", {}, subject=path)
        )

    @property
    def can_be_asked(self) -> bool:
        """True if the user may be asked to trust it: it may be a project, and nothing is decided."""
        if self.directory is None or self.path in self._declined:
            return False
        return untrusted_reason(self.directory) is None

    async def ask_trust(self, require: RequirePermission, detail: str) -> bool:
        """Ask the user to trust it, unless that is decided; an answer holds at least until the program ends.

        Args:
            require: asks for a permission.
            detail: what trust is needed for.

        Returns:
            True if the user was asked, and trusts it.
        """
        async with self._asking:
            if self.is_trusted or not self.can_be_asked:
                return False
            path = self.path
            try:
                await require(TRUST_PERMISSION, detail, path)
            except PermissionDeniedError:
                self._declined.add(path)
                return False
            self._trusted.add(path)
            return True


def untrusted_reason(directory: Path) -> str | None:
    """Say why a directory is never trusted without the user's own command; ``None`` if it may be a project."""
    if is_private_directory(directory):
        return "it holds more than a project: it is your own directory, lies above it, or is one of its hidden folders"
    if os.path.realpath(directory) in _shared_directories():
        return "programs of all kinds put files there"
    return None


def _shared_directories() -> set[str]:
    named = ("/tmp", "/var/tmp", "/dev/shm", *map(os.environ.get, ("TMPDIR", "TEMP", "TMP")))  # noqa: S108  # refused
    return {os.path.realpath(each) for each in named if each}
