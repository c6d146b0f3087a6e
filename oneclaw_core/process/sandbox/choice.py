"""Choose the backend that runs commands in a sandbox on this machine."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import lru_cache

from oneclaw_core.process.sandbox.policy import SandboxBackend, Strength

AUTO, OFF = "auto", "off"
SANDBOXES = (AUTO, "bubblewrap", "landlock", OFF)
"""Values of the setting ``sandbox``."""


@dataclass(frozen=True, slots=True)
class ChosenSandbox:
    """The backend for commands, and what it enforces.

    Attributes:
        backend: ``None`` for no sandbox.
        strength: what the backend enforces, or why there is none.
        rejected: better backends by name, with what they lack.
        is_off: True if the user turned the sandbox off.
    """

    backend: SandboxBackend | None
    strength: Strength
    rejected: tuple[tuple[str, Strength], ...] = ()
    is_off: bool = False

    @property
    def name(self) -> str:
        """The name of the backend, ``none`` without one."""
        return self.backend.name if self.backend is not None else "none"


@lru_cache
def choose_sandbox(setting: str = AUTO) -> ChosenSandbox:
    """Choose a backend by the setting and by trying; once for each setting in a process.

    This runs programs, so it is not for the thread of an event loop.

    Args:
        setting: one of ``SANDBOXES``.
    """
    if setting == OFF:
        off = Strength(
            is_available=False, reason="the setting sandbox is off", remedy="oneclaw config set sandbox auto"
        )
        return ChosenSandbox(None, off, is_off=True)
    backends: list[SandboxBackend] = []  # the strongest first
    if sys.platform == "linux":
        from oneclaw_core.process.sandbox.bubblewrap import Bubblewrap
        from oneclaw_core.process.sandbox.landlock import Landlocked

        backends = [Bubblewrap(), Landlocked()]
    rejected: list[tuple[str, Strength]] = []
    for backend in backends:
        if setting not in (AUTO, backend.name):
            continue
        strength = backend.probe()
        if strength.is_available:
            return ChosenSandbox(backend, strength, tuple(rejected))
        rejected.append((backend.name, strength))
    none = Strength(is_available=False, reason=f"no sandbox is known for {sys.platform}", remedy="use Linux, or WSL 2")
    return ChosenSandbox(None, rejected[0][1] if rejected else none, tuple(rejected))
