"""Restrict the process itself, for workers that run foreign code after they have imported it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oneclaw_core.errors import SandboxError

if TYPE_CHECKING:
    from oneclaw_core.process.sandbox.policy import SandboxLimits, SandboxPolicy


@dataclass(frozen=True, slots=True)
class Restriction:
    """The limits of a process that has restricted itself.

    Attributes:
        files: True if the policy holds for opening, making, renaming and removing files.
        network: True if the policy holds for all sockets.
        processes: True if other processes can be neither read, traced nor signalled.
    """

    files: bool
    network: bool
    processes: bool


def restrict_this_process(policy: SandboxPolicy) -> Restriction:
    """Have a policy hold for this process and all that it starts, until they end.

    Call it after all imports, and before threads are started: Landlock holds for the calling thread and those that
    it starts. The environment, open descriptors and the working directory stay as they are. Rules on domains need a
    network namespace, so a policy with domains gets no network here.

    Args:
        policy: Rules; ``read_roots`` that a process needs to import modules later must be named.

    Returns:
        What is enforced.

    Raises:
        SandboxError: Neither Landlock nor seccomp can be used: another system than Linux, a kernel before 5.13, or
            another architecture than x86_64 and aarch64. Nothing is restricted then.
    """
    try:
        from oneclaw_core.process.sandbox.confinement import confine
        from oneclaw_core.process.sandbox.landlock import landlock_version, make_ruleset
        from oneclaw_core.process.sandbox.seccomp import filter_of

        program = filter_of(policy)
        ruleset = make_ruleset(policy)
        try:
            set_limits(policy.limits)
            confine(ruleset, program)
        finally:
            os.close(ruleset)
    except (ImportError, AttributeError, NotImplementedError, OSError) as error:
        raise SandboxError(f"this process cannot be restricted: {error}") from error
    return Restriction(files=True, network=True, processes=landlock_version() >= 6)


def set_limits(limits: SandboxLimits) -> None:
    """Set the limits of this process and of those that it starts.

    The limit of processes is left out: outside a namespace it would count all processes of the user.
    """
    import resource

    for kind, value in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_AS, limits.memory_bytes),
        (resource.RLIMIT_CPU, limits.cpu_seconds),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
    ):
        if value is not None:
            hard = resource.getrlimit(kind)[1]
            least = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(kind, (least, least))
