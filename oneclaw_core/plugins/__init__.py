"""Inspection of plugins, for development tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core._lazy import lazy_names

if TYPE_CHECKING:
    from oneclaw_core.plugins.catalogue.compatibility import core_requirements as core_requirements
    from oneclaw_core.plugins.catalogue.compatibility import find_incompatibility as find_incompatibility
    from oneclaw_core.plugins.catalogue.discovery import CORE_TOOL_PLUGINS as CORE_TOOL_PLUGINS
    from oneclaw_core.plugins.catalogue.merging import Catalog as Catalog
    from oneclaw_core.plugins.hookspecs import HOOK_KINDS as HOOK_KINDS
    from oneclaw_core.plugins.hookspecs import HookKind as HookKind
    from oneclaw_core.plugins.loading.load_plugins import discover as discover
    from oneclaw_core.plugins.loading.load_plugins import load_plugins as load_plugins
    from oneclaw_core.plugins.registration.record import PluginRecord as PluginRecord
    from oneclaw_core.plugins.registration.record import PluginSkill as PluginSkill
    from oneclaw_core.plugins.skill_checks import report_skill_problems as report_skill_problems

_NAMES = {
    "catalogue.compatibility": "core_requirements find_incompatibility",
    "catalogue.discovery": "CORE_TOOL_PLUGINS",
    "catalogue.merging": "Catalog",
    "hookspecs": "HOOK_KINDS HookKind",
    "loading.load_plugins": "discover load_plugins",
    "registration.record": "PluginRecord PluginSkill",
    "skill_checks": "report_skill_problems",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _NAMES)
