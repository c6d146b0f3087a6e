"""Enter a sandbox in a process that was started for it.

Supervisor and workers without site packages import this module by itself, so it imports nothing of this package.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING or __package__:
    from oneclaw_core.process.sandbox.confinement import confine
else:  # it runs without site packages
    sys.path.append(os.path.join(os.path.dirname(__file__), "sandbox"))  # noqa: PTH118, PTH120  # pathlib is slow
    from confinement import confine


def enter_sandbox(ruleset: int, program: int) -> None:
    """Confine this process and all that it starts; close the descriptors.

    Args:
        ruleset: A descriptor of a Landlock ruleset, -1 for none.
        program: A descriptor of a seccomp filter.

    Raises:
        OSError: The system refuses it.
    """
    confine(ruleset if ruleset >= 0 else None, os.read(program, 1 << 20))
    for descriptor in (ruleset, program):
        if descriptor >= 0:
            os.close(descriptor)
