"""A directory for everything that foreign code does while it is looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from oneclaw_core.process import without_secrets

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Scratch:
    """A temporary directory for everything that a plugin does in a probe.

    Attributes:
        root: the directory.
    """

    root: Path

    @property
    def home(self) -> Path:
        """The home of OneClaw."""
        return self.root / "home"

    @property
    def work(self) -> Path:
        """The directory in which programs are started."""
        return self.root / "work"

    @property
    def secret_file(self) -> Path:
        """A file beside what tools may read."""
        return self.root / "outside" / "secret.txt"

    def make(self) -> None:
        """Make the directories."""
        for directory in (self.home, self.work, self.secret_file.parent, self.root / "tmp", self.root / "user"):
            directory.mkdir(exist_ok=True)

    def environment(self) -> dict[str, str]:
        """Return the environment of a child: without secrets, and with the user's directories inside this one."""
        user = str(self.root / "user")
        return {
            **without_secrets(),
            "HOME": user,
            "XDG_CONFIG_HOME": f"{user}/.config",
            "XDG_DATA_HOME": f"{user}/.local/share",
            "XDG_CACHE_HOME": f"{user}/.cache",
            **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(self.root / "tmp")),
            "ONECLAW_HOME": str(self.home),
            "ONECLAW_PROFILE": "",
            "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
