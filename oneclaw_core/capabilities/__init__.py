"""Capabilities of plugins: what one may do, shown before it is installed, and reviewed by the user.

- :class:`Capability` is one of them; most are derived from what a plugin registers.
- :class:`Declaration` holds what only the author knows, from ``capabilities.json`` beside the entry module.
- :class:`ReviewedPackage` is what the user has reviewed of a package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core._lazy import lazy_names

if TYPE_CHECKING:  # for OneClaw's own plugins: nothing is promised
    from oneclaw_core.capabilities.capability import HOOK as HOOK
    from oneclaw_core.capabilities.capability import Capability as Capability
    from oneclaw_core.capabilities.capability import derived_capabilities as derived_capabilities
    from oneclaw_core.capabilities.declaration import DECLARED_KINDS as DECLARED_KINDS
    from oneclaw_core.capabilities.declaration import UNDECLARED as UNDECLARED
    from oneclaw_core.capabilities.declaration import Declaration as Declaration
    from oneclaw_core.capabilities.declaration import DeclarationError as DeclarationError
    from oneclaw_core.capabilities.declaration import beyond as beyond
    from oneclaw_core.capabilities.declaration import read_declaration as read_declaration
    from oneclaw_core.capabilities.record import ReviewedPackage as ReviewedPackage
    from oneclaw_core.capabilities.record import user_reviews as user_reviews

__getattr__, __dir__, __all__ = lazy_names(__name__)
