"""What authors of tools with files, groups or schemas of their own use beside ``oneclaw_core``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core._lazy import lazy_names

if TYPE_CHECKING:
    from oneclaw_core.tools.groups import one_line as one_line

_NAMES = {
    "groups": "one_line",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _NAMES)
