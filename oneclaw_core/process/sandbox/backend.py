"""The interface of all sandboxes for programs."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import TracebackType

    from oneclaw_core.process.sandbox.policy import SandboxPolicy


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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
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
