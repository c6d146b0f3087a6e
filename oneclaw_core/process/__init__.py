"""Threads and subprocesses, for plugins that run programs or code that may hang."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core._lazy import lazy_names

if TYPE_CHECKING:
    from oneclaw_core.process.threads import run_in_thread as run_in_thread

_NAMES = {
    "threads": "run_in_thread",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _NAMES)
