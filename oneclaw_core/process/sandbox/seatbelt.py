"""Seatbelt of macOS, by ``sandbox-exec``. Written from the sources of others, and not tried: there is no Mac in CI.

``sandbox-exec`` has been deprecated for years, and still is what programs use. Of two rules of a profile the later one
decides. There are no namespaces, so other processes can be seen.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from oneclaw_core.errors import SandboxError
from oneclaw_core.process.sandbox.backend import Prepared, Strength
from oneclaw_core.process.sandbox.policy import Access, Network

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from oneclaw_core.process.sandbox.policy import SandboxPolicy

_PROGRAM = "/usr/bin/sandbox-exec"
_ALWAYS = """(version 1)
(deny default)
(allow process-exec)
(allow process-fork)
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow ipc-posix-sem)
(allow file-read-metadata)
(allow file-write* (literal "/dev/null") (literal "/dev/zero"))"""


class Seatbelt:
    """Runs programs by ``sandbox-exec``."""

    name = "seatbelt"
    allows_domains = False

    def probe(self) -> Strength:
        """Find what it enforces here: by what is known, no whole policy."""
        if shutil.which(_PROGRAM) is None:
            return Strength(is_available=False, reason="sandbox-exec is not there", remedy="use macOS or Linux")
        return Strength(is_available=True, gaps=("it has not been tried on a Mac", "a single domain cannot be allowed"))

    def wrap(self, command: Sequence[str], policy: SandboxPolicy, directory: Path) -> Prepared:
        """Prepare a program; see :class:`~oneclaw_core.process.sandbox.backend.SandboxBackend`."""
        if policy.network is Network.DOMAINS:
            raise SandboxError("Seatbelt cannot allow single domains")
        return Prepared(
            command=(_PROGRAM, "-p", profile(policy), *command),
            directory=directory,
            environment=policy.environment_with(policy.temporary),
        )


def profile(policy: SandboxPolicy) -> str:
    """Write a policy as a profile of Seatbelt."""
    lines = [_ALWAYS]
    for path, access in policy.rules().items():
        name = _quoted(path)
        if access is Access.HIDDEN:
            lines.append(f"(deny file-read* file-write* (subpath {name}))")
            continue
        lines.append(f"(allow file-read* (subpath {name}))")
        lines.append(f"({'allow' if access is Access.WRITE else 'deny'} file-write* (subpath {name}))")
    # Renaming what is above it would move what is protected.
    pinned = {above for path in policy.protected for above in path.parents if policy.access(above) is Access.WRITE}
    lines += [f"(deny file-write-unlink (literal {_quoted(each)}))" for each in sorted(pinned)]
    if policy.network is Network.ALL:
        lines.append("(allow network*)")
    return "\n".join(lines)


def _quoted(path: Path) -> str:
    text = os.fspath(path)
    if not text.isprintable():
        raise SandboxError(f"a profile of Seatbelt cannot name {text!r}")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
