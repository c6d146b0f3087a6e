"""Anthropic's wire format, the Messages API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core import hookimpl

if TYPE_CHECKING:
    from oneclaw_core import ProviderRegistrar


@hookimpl
def register_providers(register: ProviderRegistrar) -> None:
    """Register Anthropic's wire format."""
    register("anthropic", "oneclaw_anthropic.provider:AnthropicProvider")
