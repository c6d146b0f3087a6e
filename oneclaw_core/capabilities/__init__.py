"""Capabilities of plugins: what one may do, shown before it is installed, and reviewed by the user.

- :class:`Capability` is one of them; most are derived from what a plugin registers.
- :class:`Declaration` holds what only the author knows, from ``capabilities.json`` beside the entry module.
- :func:`page_lines` shows a :class:`ReviewedPlugin`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core._lazy import lazy_names

if TYPE_CHECKING:  # for OneClaw's own plugins: nothing is promised
    from oneclaw_core.capabilities.capability import Capability as Capability
    from oneclaw_core.capabilities.declaration import Declaration as Declaration
    from oneclaw_core.capabilities.declaration import DeclarationError as DeclarationError
    from oneclaw_core.capabilities.declaration import read_declaration as read_declaration
    from oneclaw_core.capabilities.page import ReviewedPlugin as ReviewedPlugin
    from oneclaw_core.capabilities.page import page_lines as page_lines

__getattr__, __dir__, __all__ = lazy_names(__name__)
