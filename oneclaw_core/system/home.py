"""The directories of a user: the home, and the project that the program was started in."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_core.errors import OneClawError, UsageError
from oneclaw_core.system.private_files import make_private_directory

if TYPE_CHECKING:
    from collections.abc import Mapping

NO_USER_DIRECTORY = "this user has no home directory: set HOME, or set ONECLAW_HOME to a directory for OneClaw"
PROFILE_VARIABLE = "ONECLAW_PROFILE"
_PROFILE = r"[a-z0-9][a-z0-9_-]{0,62}"


@dataclass(frozen=True, slots=True)
class Home:
    """The location of one user's files.

    Attributes:
        path: the home itself, absolute.
        database_url: of the store; by default a SQLite file in the home.
        profile: the name of the profile whose home this is, ``None`` for the plain one.
    """

    path: Path
    database_url: str
    profile: str | None = None

    @property
    def database_path(self) -> Path | None:
        """The SQLite file, ``None`` if the store is elsewhere."""
        prefix = "sqlite:///"
        return Path(self.database_url.removeprefix(prefix)) if self.database_url.startswith(prefix) else None

    @property
    def workspace(self) -> Path:
        """The directory in which tools read and write files."""
        return self.path / "workspace"

    @property
    def locks(self) -> Path:
        """The folder of the lock files of sessions, beside the database, shared by all processes."""
        database = self.database_path
        return (database.parent if database is not None else self.path) / "locks"

    @property
    def hook_timeouts(self) -> Path:
        """The place where the timeouts of plugin hooks are counted."""
        return self.path / "hook-timeouts.json"

    @property
    def boxes(self) -> Path:
        """The homes of plugins whose tools run in a sandbox, a directory for each, by the plugin's name."""
        return self.path / "boxes"

    def plugin_folder(self, plugin: str) -> Path:
        """Return the directory for the files of a plugin."""
        return self.path / "plugins" / plugin

    @property
    def log_file(self) -> Path:
        """The log, with the tracebacks that the command line does not show."""
        return self.path / "logs" / "oneclaw.log"

    @property
    def tools(self) -> Path:
        """The user's own tools, files in JavaScript and Python."""
        return self.path / "tools"

    @property
    def tool_sources(self) -> Path:
        """The tools that tool sources of plugins published last."""
        return self.path / "tool_sources"

    @property
    def chat_history(self) -> Path:
        """The lines typed in ``oneclaw chat``."""
        return self.path / "chat_history"

    def create(self) -> None:
        """Make the directories, readable by their owner alone.

        Raises:
            OneClawError: that is not possible.
        """
        try:
            for directory in (self.path, self.workspace, self.locks, self.log_file.parent):
                make_private_directory(directory)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise OneClawError(
                f"the home {str(self.path)!r} cannot be used: {reason}; "
                "make it writable, or set ONECLAW_HOME to another directory"
            ) from None


def find_home(environ: Mapping[str, str] | None = None, path: str | Path | None = None) -> Home:
    """Find the home, without touching it.

    Args:
        environ: the environment; by default the program's own.
        path: the directory; by default ``ONECLAW_HOME``, else the platform's place for user data, and with
            ``ONECLAW_PROFILE`` the home of that profile beside it.

    Raises:
        OneClawError: the path means nothing here, such as a relative one where the current directory is gone, or a
            profile cannot have that name.
    """
    environ = os.environ if environ is None else environ
    profile = None if path else environ.get(PROFILE_VARIABLE) or None
    if profile is not None:
        check_profile_name(profile)
        if environ.get("ONECLAW_DATABASE_URL"):
            raise UsageError(
                f"the profile {profile!r} has a separate database, and ONECLAW_DATABASE_URL names another one: unset "
                "that variable, or use no profile"
            )
    directory = _directory(environ, path)
    if profile is not None:
        directory = _profiles_folder(directory) / profile
    url = environ.get("ONECLAW_DATABASE_URL") or f"sqlite:///{directory / 'oneclaw.db'}"
    return Home(directory, url, profile)


def find_profiles(environ: Mapping[str, str] | None = None) -> dict[str, Path]:
    """Return the homes of the profiles there are, by name.

    Args:
        environ: the environment; by default the program's own.

    Raises:
        OneClawError: as for :func:`find_home`.
    """
    folder = _profiles_folder(_directory(os.environ if environ is None else environ))
    try:
        folders = sorted(each for each in folder.iterdir() if each.is_dir())
        return {each.name: each for each in folders if re.fullmatch(_PROFILE, each.name)}
    except OSError:
        return {}


def check_profile_name(name: str) -> None:
    """Refuse a name that no profile can have.

    Raises:
        UsageError: with the rule.
    """
    if not re.fullmatch(_PROFILE, name):
        raise UsageError(
            f"{name[:100]!r} is not a valid name for a profile: use 1 to 63 lower-case letters, digits, '_' and '-', "
            "beginning with a letter or a digit"
        )


def has_user_directory() -> bool:
    """Return True if the user of the process has a directory; a bare number in a container has none."""
    return os.path.isabs(os.path.expanduser("~"))  # noqa: PTH111, PTH117  # pathlib raises


def _profiles_folder(home: Path) -> Path:
    return home.with_name(f"{home.name}-profiles")


def _directory(environ: Mapping[str, str], path: str | Path | None = None) -> Path:
    chosen = path or environ.get("ONECLAW_HOME")
    if not chosen:
        from platformdirs import user_data_path

        try:
            chosen = user_data_path("oneclaw", appauthor=False)
        except (RuntimeError, OSError):  # such as in a container that runs as a bare number
            raise OneClawError(NO_USER_DIRECTORY) from None
    try:
        return Path(chosen).expanduser().absolute()
    except (RuntimeError, OSError) as error:
        raise OneClawError(
            f"the home {str(chosen)!r} cannot be found: {error}; set ONECLAW_HOME to an absolute path"
        ) from None


def current_directory() -> Path:
    """Return the directory that the program is started in.

    Raises:
        UsageError: it is gone.
    """
    try:
        return Path.cwd()
    except OSError:
        raise UsageError("the current directory is gone: change to one that exists") from None
