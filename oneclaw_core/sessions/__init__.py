"""What authors of stores use beside ``oneclaw_core``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core._lazy import lazy_names

if TYPE_CHECKING:
    from oneclaw_core.sessions.backend import Backend as Backend

_NAMES = {
    "backend": "Backend",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _NAMES)
