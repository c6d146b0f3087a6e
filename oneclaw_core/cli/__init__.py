"""What commands of plugins use beside ``oneclaw_core``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core._lazy import lazy_names

if TYPE_CHECKING:
    from oneclaw_core.cli.output import warn as warn

_NAMES = {
    "output": "warn",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _NAMES)
