"""A rule-based stand-in for a language model that needs neither a key nor a network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core import hookimpl

if TYPE_CHECKING:
    from oneclaw_core import ProviderRegistrar


@hookimpl
def register_providers(register: ProviderRegistrar) -> None:
    """Register the rule-based model."""
    register("offline", "oneclaw_offline.provider:OfflineProvider", is_local=True)
    register.preconfigured("offline")
