"""The rules of a sandbox: which files, network and limits the programs in it have; and what enforces them."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

SHELL = "/bin/sh"


class Network(StrEnum):
    """The network access of a sandbox."""

    NONE = "none"
    DOMAINS = "domains"
    ALL = "all"


class Access(IntEnum):
    """The access of a sandbox to a path and all below it."""

    HIDDEN = 0
    READ = 1
    WRITE = 2


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """The resources that the programs of a sandbox may use, all together or each.

    Attributes:
        processes: most processes and threads, all together.
        memory_bytes: most address space of each process.
        cpu_seconds: most processor time of each process.
        file_bytes: greatest size of a file.
    """

    processes: int | None = 2048
    memory_bytes: int | None = None
    cpu_seconds: int | None = None
    file_bytes: int | None = None

    def in_shell(self) -> str:
        """Write them as commands of a shell; of dash and bash, each has another option for processes."""
        processes = "" if self.processes is None else f"; ulimit -u {self.processes} || ulimit -p {self.processes}"
        others = {"v": (self.memory_bytes, 1024), "t": (self.cpu_seconds, 1), "f": (self.file_bytes, 512)}
        return (
            "ulimit -c 0"
            + processes
            + "".join(
                f"; ulimit -{option} {value // unit}" for option, (value, unit) in others.items() if value is not None
            )
        )


@dataclass(frozen=True, slots=True)
class SandboxPolicy:
    """The access of programs in a sandbox.

    Paths are absolute and without symbolic links. Of several that hold a file, the longest one decides; of two that
    are equal, the stricter one: hidden before protected and readable, and these before writable.

    Attributes:
        write_roots: directories that can be read and written.
        read_roots: directories and files that can be read; with ``is_system_readable`` in addition to the rest.
        hidden_folders: directories that look empty, or cannot be opened.
        hidden_files: files that look empty, or cannot be opened.
        protected: what lies in a write root and can only be read; nor can the directories above it be renamed.
        is_system_readable: True if everything can be read that is not hidden; False for ``read_roots`` alone.
        network: what can be connected to; with ``DOMAINS``, a proxy that decides on each host.
        environment: the environment variables of the programs.
        temporary: the writable directory for temporary files; ``None`` for none.
        can_start_programs: False if the process may start no other.
        has_unix_sockets: True for Unix sockets among its own programs and in the directories that it writes, where that
            can be enforced.
        limits: what the programs may use.
    """

    write_roots: tuple[Path, ...] = ()
    read_roots: tuple[Path, ...] = ()
    hidden_folders: tuple[Path, ...] = ()
    hidden_files: tuple[Path, ...] = ()
    protected: tuple[Path, ...] = ()
    is_system_readable: bool = True
    network: Network = Network.NONE
    environment: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    temporary: Path | None = None
    can_start_programs: bool = True
    has_unix_sockets: bool = False
    limits: SandboxLimits = SandboxLimits()

    def rules(self) -> dict[Path, Access]:
        """Return the access of each path that the policy names, parents before what lies in them."""
        found: dict[Path, Access] = {Path("/"): Access.READ if self.is_system_readable else Access.HIDDEN}
        writable = [*self.write_roots, *([self.temporary] if self.temporary is not None else [])]
        for access, paths in (
            (Access.WRITE, writable),
            (Access.READ, (*self.read_roots, *self.protected)),
            (Access.HIDDEN, (*self.hidden_folders, *self.hidden_files)),
        ):
            found |= dict.fromkeys(paths, access)
        # By texts, since pathlib is slow and each command has rules.
        return dict(sorted(found.items(), key=lambda rule: (len(rule[0].parts), str(rule[0]))))

    def access(self, path: Path) -> Access:
        """Return what may be done with a path.

        Args:
            path: absolute and without symbolic links.
        """
        rules = self.rules()
        return next(rules[each] for each in (path, *path.parents) if each in rules)

    def environment_with(self, temporary: Path | None) -> dict[str, str]:
        """Return the environment of the programs, whose home is the temporary directory.

        Args:
            temporary: where that is for them; ``None`` for none.
        """
        names = ("HOME", "TMPDIR", "TMP", "TEMP") if temporary is not None else ()
        return dict(self.environment) | dict.fromkeys(names, str(temporary))


@dataclass(frozen=True, slots=True)
class Strength:
    """The limits that a backend enforces on this machine.

    Attributes:
        is_available: True if programs can be run in it.
        gaps: what of a policy it cannot enforce, each in a few words.
        reason: why it is not available; ``""`` if it is.
        remedy: what the user can do about that.
    """

    is_available: bool
    gaps: tuple[str, ...] = ()
    reason: str = ""
    remedy: str = ""

    @property
    def is_whole(self) -> bool:
        """True if it enforces a whole policy, so that its programs need no question."""
        return self.is_available and not self.gaps


@dataclass(slots=True)
class Prepared:
    """A program that is ready to be started in a sandbox. Leaving its block closes its descriptors.

    Attributes:
        command: the program and its arguments.
        directory: the working directory to start it in.
        environment: its whole environment.
        descriptors: what the program inherits.
        ruleset: a Landlock ruleset that the program enters before it is run; ``None`` for none.
        program: a descriptor of a seccomp filter, the same.
        has_namespaces: True if all that it starts ends with it.
    """

    command: tuple[str, ...]
    directory: Path
    environment: dict[str, str] = field(repr=False)
    descriptors: tuple[int, ...] = ()
    ruleset: int | None = None
    program: int | None = None
    has_namespaces: bool = False

    def inherited(self) -> tuple[int, ...]:
        """Return the descriptors that the supervisor inherits."""
        return (*self.descriptors, *(each for each in (self.ruleset, self.program) if each is not None))

    def supervisor_options(self) -> list[str]:
        """Return the arguments by which the supervisor of programs knows the sandbox."""
        ruleset = "" if self.ruleset is None else str(self.ruleset)
        return [ruleset] if self.has_namespaces else [ruleset, str(self.program)]

    def __enter__(self) -> Prepared:
        """Return it."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Close the descriptors."""
        for each in self.inherited():
            with suppress(OSError):
                os.close(each)


class SandboxBackend(Protocol):
    """One way to run programs in a sandbox.

    Attributes:
        name: as in the setting ``sandbox`` and in the log of permissions.
        allows_domains: True if programs can reach single hosts through a proxy, ``Network.DOMAINS``.
    """

    name: str
    allows_domains: bool

    def probe(self) -> Strength:
        """Try what it enforces here, by running a program in it."""
        ...

    def wrap(self, command: Sequence[str], policy: SandboxPolicy, directory: Path) -> Prepared:
        """Prepare a program.

        Args:
            command: The program and its arguments.
            policy: What it may do.
            directory: Its working directory.

        Raises:
            SandboxError: The policy asks for what this backend cannot do.
            OSError: The system refuses something.
        """
        ...
