"""The directory that the program was started in, as files and questions about them need it."""

from __future__ import annotations

from typing import Any, Protocol


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
