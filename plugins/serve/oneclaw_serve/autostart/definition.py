"""The file that tells a service manager what to run, and what is the same for all service managers."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from oneclaw_core import OneClawError, UsageError, find_home

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

MARK = "Written by 'oneclaw serve install'"
_CARRIED = (
    "PATH",
    "LANG",
    "ONECLAW_DATABASE_URL",
    "XDG_CACHE_HOME",
    "SSL_CERT_FILE",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
)
_COMMAND_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Autostart:
    """A run of ``oneclaw serve`` that the system starts.

    Attributes:
        name: of the unit, the agent or the task.
        home: the home of OneClaw.
        program: absolute, and its arguments.
        environment: the variables that it needs.
    """

    name: str
    home: Path
    program: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for text in (*self.program, *self.environment.values(), str(self.home)):
            if any(ord(each) < 32 or ord(each) == 127 for each in text):
                raise UsageError(f"{text!r} has a control character, which no service manager takes")

    @classmethod
    def of(cls, arguments: Sequence[str] = (), environ: Mapping[str, str] | None = None) -> Autostart:
        """Describe a run in the home and with the program of this process.

        Args:
            arguments: those of ``oneclaw serve``.
            environ: the environment; by default that of this process.
        """
        environ = os.environ if environ is None else environ
        home = find_home(environ)
        base = find_home({name: value for name, value in environ.items() if name != "ONECLAW_PROFILE"}).path
        variables = {"ONECLAW_HOME": str(base)}
        if home.profile is not None:
            variables["ONECLAW_PROFILE"] = home.profile
        variables |= {name: value for name in _CARRIED if (value := environ.get(name))}
        # A link that logs somebody in must not stay in a log.
        variables["ONECLAW_SERVE_SHOWS_LINK"] = "false"
        program = (sys.executable, "-P", "-m", "oneclaw_core", "serve", *arguments)
        return cls(_name(base, home.profile, environ), home.path, program, variables)


def _name(base: Path, profile: str | None, environ: Mapping[str, str]) -> str:
    """Return a name that no other home of this user has."""
    plain = find_home({name: value for name, value in environ.items() if not name.startswith("ONECLAW_")}).path
    parts = ["oneclaw"]
    if base != plain:
        parts.append(hashlib.sha256(str(base).encode(errors="surrogateescape")).hexdigest()[:8])
    return "-".join([*parts, profile] if profile else parts)


def variables_left_out(environ: Mapping[str, str]) -> list[str]:
    """Name the variables of this process that OneClaw reads, and that a run started by the system does not have."""
    known = {*_CARRIED, "ONECLAW_HOME", "ONECLAW_PROFILE"}
    return sorted(
        name
        for name, value in environ.items()
        if value and name not in known and (name.startswith("ONECLAW_") or name.endswith("_API_KEY"))
    )


@dataclass(frozen=True, slots=True)
class State:
    """The state of what was installed.

    Attributes:
        is_enabled: True if the system starts it; ``None`` if that cannot be known.
        is_running: True if it runs; ``None`` in the same case.
        note: for the user; empty if there is nothing to say.
    """

    is_enabled: bool | None = None
    is_running: bool | None = None
    note: str = ""


class ServiceDefinition(ABC):
    """A file for a service manager.

    Args:
        autostart: what it is to run.

    Attributes:
        title: of the kind, such as ``systemd user unit``.
        is_tried: True if it was tried with the service manager itself.
        program: that talks to the service manager.
    """

    title: ClassVar[str]
    is_tried: ClassVar[bool]
    program: ClassVar[str]

    def __init__(self, autostart: Autostart) -> None:
        self.autostart = autostart

    @property
    @abstractmethod
    def path(self) -> Path:
        """The place of the file."""

    @abstractmethod
    def content(self) -> bytes:
        """Return what the file is to hold."""

    @abstractmethod
    def enable(self, *, is_changed: bool) -> list[str]:
        """Have the system start it now and at each login; return lines for the user.

        Args:
            is_changed: True if the file was written just now.

        Raises:
            OneClawError: the service manager refuses the file.
        """

    @abstractmethod
    def disable(self) -> None:
        """Stop it, and have the system start it no more.

        Raises:
            OneClawError: the service manager refuses that.
        """

    @abstractmethod
    def state(self) -> State:
        """Ask the service manager."""

    @abstractmethod
    def is_ours(self, content: bytes) -> bool:
        """Return True if ``oneclaw serve install`` wrote a file."""

    @abstractmethod
    def program_of(self, content: bytes) -> Path | None:
        """Return the program that a file names."""

    def removed(self) -> None:  # noqa: B027  # most keep no trace of it
        """Have the service manager forget the file, which is gone."""

    def installed(self) -> bytes | None:
        """Return what the file holds; ``None`` if there is none.

        Raises:
            OneClawError: somebody else wrote it, or it cannot be read.
        """
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise OneClawError(f"{self.path} cannot be read: {error.strerror}") from None
        if not self.is_ours(content):
            raise OneClawError(f"{self.path} is there, and OneClaw did not write it: move it away first")
        return content

    def write(self) -> bool:
        """Write the file; return False if it held the same before.

        Raises:
            OneClawError: somebody else wrote the one that is there, or it cannot be written.
        """
        content = self.content()
        if self.installed() == content:
            return False
        new = self.path.with_name(f".{self.path.name}.new")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            new.unlink(missing_ok=True)
            # For its owner alone: the address of a database may hold a password.
            with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:  # noqa: PTH123
                file.write(content)
            new.replace(self.path)
        except OSError as error:
            raise OneClawError(f"{self.path} cannot be written: {error.strerror}") from None
        return True

    def check_program(self) -> None:
        """Refuse to go on without the service manager.

        Raises:
            OneClawError: it is not there.
        """
        if shutil.which(self.program) is None:
            raise OneClawError(
                f"there is no {self.program} here, so nothing can start OneClaw with the system: run 'oneclaw serve' "
                "in a terminal or a container, or give what --print shows to your service manager"
            )


def run_command(*command: str, environ: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a short program of the system; a missing one has the status 127.

    Args:
        command: the program and its arguments.
        environ: its environment; by default that of this process.
    """
    try:
        return subprocess.run(  # noqa: S603  # programs of the system
            command,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_COMMAND_SECONDS,
            check=False,
        )
    except OSError as error:
        return subprocess.CompletedProcess(command, 127, "", str(error))
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", f"it did not end within {_COMMAND_SECONDS} s")


def check_command(*command: str) -> None:
    """Run a short program of the system.

    Raises:
        OneClawError: it failed.
    """
    found = run_command(*command)
    if found.returncode != 0:
        what = (found.stderr or found.stdout).strip() or f"status {found.returncode}"
        raise OneClawError(f"{' '.join(command)} failed: {what}")
