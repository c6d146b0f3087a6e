"""The catalog: what all plugins register, merged, after names that belong to others were taken out."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import DuplicateToolError
from oneclaw_core.plugins import group_reports
from oneclaw_core.plugins.distributions import CORE_TOOLS, PROVIDER_PLUGINS
from oneclaw_core.plugins.first_use import LazyTool, load_object, load_object_now
from oneclaw_core.plugins.plugin import (
    BUILTIN_PLUGIN,
    DOES_NOT_WORK,
    GROUP_HOOK,
    PRECONFIGURED_HOOK,
    PROVIDER_HOOK,
    SKILL_HOOK,
    TOOL_HOOK,
    Plugin,
    PluginSkill,
)
from oneclaw_core.providers.known import KnownProviders, LazyProviderFactory, PreconfiguredProvider, ProviderFactory
from oneclaw_core.tools.registry import ToolRegistry
from oneclaw_core.types.tools import ToolDefinition, ToolSourceInfo, ToolSourceType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_core.plugins.plugin import Registration
    from oneclaw_core.types.tool_groups import ToolGroupDefinition


@dataclass(slots=True)
class Catalog:
    """Everything that plugins brought.

    Attributes:
        registry: tools and groups.
        provider_types: how to make a provider, by type.
        known_providers: what is known of providers without making any.
        plugins: all that are installed, in the order of loading.
        skills: the folders of their skills, in this order.
        names_error: why it could not be read or noted which distribution has which name; ``""`` if it could.
    """

    registry: ToolRegistry = field(default_factory=ToolRegistry)
    provider_types: dict[str, ProviderFactory] = field(default_factory=dict)
    known_providers: KnownProviders = field(default_factory=KnownProviders)
    plugins: list[Plugin] = field(default_factory=list)
    skills: list[PluginSkill] = field(default_factory=list)
    names_error: str = ""

    @property
    def absent_plugins(self) -> Mapping[str, str]:
        """Installed plugins that are not loaded: why, and how to load them, as the end of a sentence, by name."""
        return self.known_providers.absent_plugins

    def add(self, plugin: Plugin) -> None:
        """Add what a plugin registers, and report what another plugin has taken before it.

        Args:
            plugin: gets the names of what was added, and the problems.
        """
        plugin.registrations = [
            # A plugin has another name where two packages have one of the same name.
            each if each.plugin == plugin.name else replace(each, plugin=plugin.name)
            for each in plugin.registrations
        ]
        # A group is described before its tools come.
        for each in [it for it in plugin.registrations if it.hook == GROUP_HOOK]:
            self._add_group(each.group_definition, plugin)
        for each in plugin.registrations:
            if each.hook == TOOL_HOOK and each.definition is not None:
                self._add_tool(each, each.definition, plugin)
            elif each.hook == PROVIDER_HOOK:
                self._add_provider(each, plugin)
            elif each.hook == PRECONFIGURED_HOOK:
                known = PreconfiguredProvider(each.name, **each.options)
                self.known_providers.preconfigured.setdefault(each.name, known)
            elif each.hook == SKILL_HOOK:
                folder = each.value if each.value is not None else Path(each.options["folder"])
                self.skills.append(PluginSkill(folder, plugin))
                plugin.skills.append(each.name)

    def complete(self) -> None:
        """Order the core tools, describe groups that no plugin describes, and report what reaches beyond a plugin."""
        self._describe_absent_plugins()
        for plugin in self.plugins:
            group_reports.report_ignored_meanings(self.registry, plugin)
        self.registry.move_to_front(CORE_TOOLS)
        self.provider_types = _in_listing_order(self.provider_types)
        self.known_providers.preconfigured = _in_listing_order(self.known_providers.preconfigured)
        group_reports.report_joined_groups(self.registry, self.plugins)

    def _describe_absent_plugins(self) -> None:
        absent = self.known_providers.absent_plugins
        for plugin in self.plugins:
            if plugin.status == "disabled":
                absent[plugin.name] = f"is disabled: enable it with: oneclaw plugins enable {plugin.name}"
            elif plugin.status in DOES_NOT_WORK:
                problem = next(each for each in plugin.problems if each.is_error)
                absent[plugin.name] = f"does not work: {problem.cause}; {problem.remedy}"
        self.registry.absent_plugins = absent

    def _add_group(self, group: ToolGroupDefinition, plugin: Plugin) -> None:
        group_reports.report_permission_meanings(self.registry, group, plugin)
        if self.registry.register_group(group, plugin.name):
            plugin.groups.append(group.name)
        else:
            group_reports.report_other_text(self.registry, group, plugin)

    def _add_tool(self, each: Registration, definition: ToolDefinition, plugin: Plugin) -> None:
        if plugin.name == BUILTIN_PLUGIN:
            source_type = ToolSourceType.BUILTIN
        else:
            source_type = ToolSourceType.TOOL_GROUP if each.group else ToolSourceType.PLUGIN
        tool = each.value if each.value is not None else LazyTool(each, definition, plugin)
        try:
            self.registry.register(tool, ToolSourceInfo(source_type, each.group, plugin.name, plugin.package))
        except DuplicateToolError as error:
            remedy = "rename the tool, or uninstall one of the two packages"
            plugin.report(TOOL_HOOK, str(error), remedy, check="names.taken")
        else:
            plugin.tools.append(each.name)

    def _add_provider(self, registration: Registration, plugin: Plugin) -> None:
        if registration.name in self.provider_types:
            cause = f"the provider type {registration.name!r} is taken; the first one stays"
            plugin.report("register_providers", cause, "use another name", check="names.provider-taken")
            return
        self.provider_types[registration.name] = registration.value or LazyProviderFactory(
            partial(load_object, plugin, registration), partial(load_object_now, plugin, registration)
        )
        if "price_vendor" in registration.options:
            self.known_providers.price_vendors[registration.name] = registration.options["price_vendor"]
        if registration.options.get("is_local"):
            self.known_providers.local_types.add(registration.name)
        plugin.providers.append(registration.name)


def _in_listing_order(by_name: dict[str, Any]) -> dict[str, Any]:
    """Put OneClaw's own provider types or providers first."""
    own = {name: by_name[name] for name in PROVIDER_PLUGINS if name in by_name}
    return own | {name: value for name, value in by_name.items() if name not in own}
