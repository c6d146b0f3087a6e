"""Inspection of plugins, for development tools."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from oneclaw_core._lazy import lazy_names

if TYPE_CHECKING:
    from oneclaw_core.contract.checks import CheckFix as CheckFix
    from oneclaw_core.contract.contact_points import Channel as Channel
    from oneclaw_core.contract.contact_points import ChatNotice as ChatNotice
    from oneclaw_core.contract.contact_points import Fire as Fire
    from oneclaw_core.contract.contact_points import OutMessage as OutMessage
    from oneclaw_core.contract.contact_points import Receipt as Receipt
    from oneclaw_core.contract.contact_points import Trigger as Trigger
    from oneclaw_core.contract.contact_points import TriggerSetup as TriggerSetup
    from oneclaw_core.contract.contact_points import WebForm as WebForm
    from oneclaw_core.contract.contact_points import WebLink as WebLink
    from oneclaw_core.contract.contact_points import WebPage as WebPage
    from oneclaw_core.contract.contact_points import WebRequest as WebRequest
    from oneclaw_core.contract.contact_points import WebResponse as WebResponse
    from oneclaw_core.contract.contact_points import WebTable as WebTable
    from oneclaw_core.contract.contact_points import WebText as WebText
    from oneclaw_core.contract.home_services import HomeServices as HomeServices
    from oneclaw_core.contract.tool_source import GroupTools as GroupTools
    from oneclaw_core.contract.tool_source import ListingContext as ListingContext
    from oneclaw_core.contract.tool_source import SourceGroup as SourceGroup
    from oneclaw_core.hookspecs import CONTRACT_VERSION as CONTRACT_VERSION
    from oneclaw_core.plugins.plugin import PluginProblem as PluginProblem
    from oneclaw_core.plugins.registrars import ChannelRegistrar as ChannelRegistrar
    from oneclaw_core.plugins.registrars import RouteRegistrar as RouteRegistrar
    from oneclaw_core.plugins.registrars import TriggerRegistrar as TriggerRegistrar

if TYPE_CHECKING:  # for OneClaw's own plugins: nothing is promised
    from oneclaw_core.contract.tool_source import KnownTool as KnownTool
    from oneclaw_core.hookspecs import HOOK_KINDS as HOOK_KINDS
    from oneclaw_core.hookspecs import HookKind as HookKind
    from oneclaw_core.plugins.cache import PluginCache as PluginCache
    from oneclaw_core.plugins.cache import cache_path as cache_path
    from oneclaw_core.plugins.catalog import Catalog as Catalog
    from oneclaw_core.plugins.compatibility import core_requirements as core_requirements
    from oneclaw_core.plugins.compatibility import find_incompatibility as find_incompatibility
    from oneclaw_core.plugins.distributions import CORE_DISTRIBUTION as CORE_DISTRIBUTION
    from oneclaw_core.plugins.distributions import normalised as normalised
    from oneclaw_core.plugins.first_use import load_object_now as load_object_now
    from oneclaw_core.plugins.installed import CORE_TOOL_PLUGINS as CORE_TOOL_PLUGINS
    from oneclaw_core.plugins.installed import find_installed as find_installed
    from oneclaw_core.plugins.isolation import ForeignError as ForeignError
    from oneclaw_core.plugins.isolation import HookError as HookError
    from oneclaw_core.plugins.isolation import call_isolated as call_isolated
    from oneclaw_core.plugins.loading import discover as discover
    from oneclaw_core.plugins.loading import load_plugins as load_plugins
    from oneclaw_core.plugins.names.claims import Claim as Claim
    from oneclaw_core.plugins.names.claims import Name as Name
    from oneclaw_core.plugins.names.claims import claims_of as claims_of
    from oneclaw_core.plugins.names.claims import name_of as name_of
    from oneclaw_core.plugins.names.ownership import Claimant as Claimant
    from oneclaw_core.plugins.names.ownership import KnownNames as KnownNames
    from oneclaw_core.plugins.names.ownership import NameRecord as NameRecord
    from oneclaw_core.plugins.names.ownership import find_owners as find_owners
    from oneclaw_core.plugins.names.ownership import user_record as user_record
    from oneclaw_core.plugins.plugin import SETTINGS_HOOK as SETTINGS_HOOK
    from oneclaw_core.plugins.plugin import Plugin as Plugin
    from oneclaw_core.plugins.plugin import PluginSkill as PluginSkill
    from oneclaw_core.plugins.plugin import Registration as Registration
    from oneclaw_core.plugins.registrars import StoreRegistrar as StoreRegistrar
    from oneclaw_core.plugins.running.runtime import Plugins as Plugins

_find, __dir__, __all__ = lazy_names(
    __name__, "oneclaw_core.project", "oneclaw_core.config", "oneclaw_core.installation"
)


def __getattr__(name: str) -> Any:
    if name == "PluginRecord":
        text = f"{__name__}.PluginRecord is {__name__}.Plugin now; version 0.4 removes the old name"
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        name = "Plugin"
    return _find(name)
