"""Inspection of plugins, for development tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core._lazy import lazy_names

if TYPE_CHECKING:
    from oneclaw_core.plugins.registration.record import PluginRecord as PluginRecord
    from oneclaw_core.plugins.registration.record import PluginSkill as PluginSkill

_NAMES = {
    "registration.record": "PluginRecord PluginSkill",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _NAMES)
