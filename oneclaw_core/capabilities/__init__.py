"""Capabilities of plugins: what one may do, shown before it is installed, and reviewed by the user.

- :func:`derived_capabilities` finds them in what a plugin registers; its author declares nothing for it.
- :class:`Declaration` holds what only the author knows, from ``capabilities.json`` beside the entry module.
- :class:`ReviewRecord` keeps what the user has reviewed, and :func:`page_lines` shows it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core._lazy import lazy_names

if TYPE_CHECKING:
    from oneclaw_core.capabilities.capability import Capability as Capability
    from oneclaw_core.capabilities.capability import derived_capabilities as derived_capabilities
    from oneclaw_core.capabilities.capability import withheld_rows as withheld_rows
    from oneclaw_core.capabilities.declaration import Declaration as Declaration
    from oneclaw_core.capabilities.declaration import DeclarationError as DeclarationError
    from oneclaw_core.capabilities.declaration import read_declaration as read_declaration
    from oneclaw_core.capabilities.page import ReviewedPlugin as ReviewedPlugin
    from oneclaw_core.capabilities.page import page_lines as page_lines
    from oneclaw_core.capabilities.record import ReviewRecord as ReviewRecord

__getattr__, __dir__, __all__ = lazy_names(__name__)
