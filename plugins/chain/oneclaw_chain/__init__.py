"""Chains of models: when one fails, the next is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core import hookimpl

if TYPE_CHECKING:
    from oneclaw_core import ProviderRegistrar


@hookimpl
def register_providers(register: ProviderRegistrar) -> None:
    """Register the provider type, and the provider whose models are the chains."""
    register("chain", "oneclaw_chain.provider:ChainProvider", is_local=True)
    register.preconfigured("chain")
