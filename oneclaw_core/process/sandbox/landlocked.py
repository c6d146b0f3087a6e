"""Run programs with Landlock and seccomp alone, where there is no bubblewrap."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from oneclaw_core.errors import SandboxError
from oneclaw_core.process.sandbox.backend import Prepared, Strength
from oneclaw_core.process.sandbox.policy import Network

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from oneclaw_core.process.sandbox.policy import SandboxPolicy

GAPS = (
    "sizes and times of files elsewhere can be seen",
    "permissions, times and attributes of files elsewhere can be changed",
    "hidden and protected files in a writable directory are neither",
    "names and command lines of other processes can be seen",
    "folders elsewhere can be watched for changes",
    "a single domain cannot be allowed",
)
_OLDEST_VERSION = 6


class Landlocked:
    """Runs programs that enter a Landlock ruleset and a seccomp filter before they are run."""

    name = "landlock"
    # A rule names a port, and would let every host through.
    allows_domains = False

    def probe(self) -> Strength:
        """Find what it enforces here."""
        reason = self._reason()
        if reason:
            return Strength(is_available=False, reason=reason, remedy="use Linux 6.12 or newer, or install bubblewrap")
        return Strength(is_available=True, gaps=GAPS)

    def wrap(self, command: Sequence[str], policy: SandboxPolicy, directory: Path) -> Prepared:
        """Prepare a program; see :class:`~oneclaw_core.process.sandbox.backend.SandboxBackend`."""
        from oneclaw_core.process.sandbox.bubblewrap import SHELL, limits_in_shell
        from oneclaw_core.process.sandbox.landlock import make_ruleset
        from oneclaw_core.process.sandbox.seccomp import filter_file

        if policy.network is Network.DOMAINS:
            raise SandboxError("Landlock cannot allow single domains")
        # A limit of processes would count all those of the user.
        limits = limits_in_shell(replace(policy.limits, processes=None))
        program = filter_file(policy)
        try:
            ruleset = make_ruleset(policy)
        except BaseException:
            os.close(program)
            raise
        return Prepared(
            command=(SHELL, "-c", f'{limits}; exec "$@"', "sh", *command),
            directory=directory,
            environment=policy.environment_with(policy.temporary),
            ruleset=ruleset,
            program=program,
        )

    def _reason(self) -> str:
        if sys.platform != "linux":
            return "Landlock exists only on Linux"
        from oneclaw_core.process.sandbox.landlock import landlock_version
        from oneclaw_core.process.sandbox.seccomp import build_filter

        try:
            build_filter()
        except NotImplementedError as error:
            return str(error)
        if landlock_version() < _OLDEST_VERSION:
            return "Landlock of this kernel is switched off, or too old to keep signals inside"
        return ""
