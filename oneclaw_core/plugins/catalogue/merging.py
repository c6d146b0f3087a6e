"""Merging the entries of plugins into one catalogue, after names that belong to others were taken out of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from oneclaw_core.errors import DuplicateToolError, PluginError, describe_error
from oneclaw_core.plugins.registration.entry import CHECK_HOOK, PRECONFIGURED_HOOK, SKILL_HOOK, PluginProblem
from oneclaw_core.plugins.registration.record import BUILTIN_PLUGIN, PROGRAM_PLUGIN, PluginRecord, PluginSkill
from oneclaw_core.providers.known import KnownProviders, LazyProviderFactory, PreconfiguredProvider
from oneclaw_core.system.distributions import CORE_TOOLS, PROVIDER_PLUGINS
from oneclaw_core.tools.manifest_tool import DeferredTool, FunctionTarget, ManifestTool
from oneclaw_core.tools.registry import ToolRegistry
from oneclaw_core.types.permission_meanings import KNOWN_PERMISSIONS
from oneclaw_core.types.tool_groups import ToolGroupDefinition, generated_group_definition
from oneclaw_core.types.tools import ToolSourceInfo, ToolSourceType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from oneclaw_core.config.configuration import Configuration
    from oneclaw_core.plugins.registration.entry import PluginEntry, Registration, ToolEntry
    from oneclaw_core.providers.known import ProviderFactory
    from oneclaw_core.sessions.store import Store
    from oneclaw_core.system.home import Home
    from oneclaw_core.types.tool_definition import Tool


Value = TypeVar("Value")


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
    plugins: list[PluginRecord] = field(default_factory=list)
    skills: list[PluginSkill] = field(default_factory=list)
    names_error: str = ""

    @property
    def absent_plugins(self) -> Mapping[str, str]:
        """Installed plugins that are not loaded: why, and how to load them, as the end of a sentence, by name."""
        return self.known_providers.absent_plugins

    def merge(self, entry: PluginEntry, record: PluginRecord) -> None:
        """Add what a plugin registers, and report what another plugin has taken before it.

        Args:
            entry: of the plugin.
            record: of the plugin; gets the names of what was added, and the problems.
        """
        for problem in entry.problems:
            record.add(problem)
        record.manifests = list(entry.manifests)
        record.import_ms = entry.import_ms
        set_hooks(entry.hooks, record)
        for group in entry.groups:
            self._add_group(group, record)
        for tool in entry.tools:
            self._add_tool(tool, record)
        for each in entry.registrations:
            # The record has another name where two packages have a plugin of the same one.
            registration = each if each.plugin == record.name else replace(each, plugin=record.name)
            if registration.hook == "register_providers":
                self._add_provider(registration, record)
            elif registration.hook == PRECONFIGURED_HOOK:
                self.known_providers.preconfigured.setdefault(
                    registration.name, PreconfiguredProvider(registration.name, **registration.options)
                )
            elif registration.hook == "register_skills":
                self._add_skill(registration, record)
            else:
                record.registrations.append(registration)

    def configuration(self, home: Home, store: Store, environ: Mapping[str, str]) -> Configuration:
        """Return the services that read and change what the user sets.

        Args:
            home: where files lie.
            store: where the rest is stored.
            environ: the environment.
        """
        from oneclaw_core.config.configuration import Configuration
        from oneclaw_core.plugins.registration.settings import registered_settings

        return Configuration.of(
            home,
            store,
            environ,
            registry=self.registry,
            provider_types=self.provider_types,
            known_providers=self.known_providers,
            plugin_settings=partial(registered_settings, self.plugins),
            plugin_names=[record.name for record in self.plugins],
        )

    def complete(self) -> None:
        """Order the core tools, describe groups that no plugin describes, and report what reaches beyond a plugin."""
        self._describe_absent_plugins()
        for record in self.plugins:
            _report_ignored_meanings(self.registry, record)
        self.registry.move_to_front(CORE_TOOLS)
        self.provider_types = _in_listing_order(self.provider_types)
        self.known_providers.preconfigured = _in_listing_order(self.known_providers.preconfigured)
        owners = {group: record for record in reversed(self.plugins) for group in record.groups}
        for group, tool_names in self.registry.get_tool_groups().items():
            if group in owners:
                self._report_joining(group, tool_names, owners[group])
            elif self.registry.get_group_definition(group) is None:
                self.registry.register_group(generated_group_definition(group, tool_names))

    def _describe_absent_plugins(self) -> None:
        absent = self.known_providers.absent_plugins
        for record in self.plugins:
            if record.status == "disabled":
                absent[record.name] = f"is disabled: enable it with: oneclaw plugins enable {record.name}"
            elif record.status == "failed":
                problem = next(each for each in record.problems if each.is_error)
                absent[record.name] = f"does not work: {problem.cause}; {problem.remedy}"
        self.registry.absent_plugins = absent

    def _add_group(self, group: ToolGroupDefinition, record: PluginRecord) -> None:
        self._look_at_permissions(group, record)
        if self.registry.register_group(group, record.name):
            record.groups.append(group.name)
            return
        first = self.registry.get_group_definition(group.name)
        texts = (group.display_name, group.description)
        if first is not None and (first.display_name, first.description) != texts:
            record.report(
                "register_groups",
                f"the tool group {group.name!r} is declared already, with another text; the first one stays, "
                "and tools of both belong to it",
                "use another group name, or the same display name and description",
                is_error=False,
                check="groups.taken",
            )

    def _look_at_permissions(self, group: ToolGroupDefinition, record: PluginRecord) -> None:
        """Report what the registry will not take of what a group says about permissions."""
        for permission, meaning in group.permissions.items():
            if permission in KNOWN_PERMISSIONS:
                record.report(
                    "register_groups",
                    f"the tool group {group.name!r} says what {permission!r} means, which is OneClaw's own; this is "
                    "ignored",
                    "leave it out, or explain a permission of your own",
                    is_error=False,
                    check="permissions.not-own",
                )
                continue
            said = self.registry.get_permission_meaning(permission, record.name)
            if said is not None and said.text != meaning:
                other = (
                    "another group says something else; the first one stays"
                    if said.plugin == record.name
                    else f"the plugin {said.plugin!r} says something else; each is believed for its own tools"
                )
                record.report(
                    "register_groups",
                    f"the tool group {group.name!r} says what {permission!r} means, and {other}",
                    "use another permission, or the same words",
                    is_error=False,
                    check="permissions.meaning-taken",
                )

    def _add_tool(self, entry: ToolEntry, record: PluginRecord) -> None:
        if record.name == BUILTIN_PLUGIN:
            source_type = ToolSourceType.BUILTIN
        else:
            source_type = ToolSourceType.TOOL_GROUP if entry.group else ToolSourceType.PLUGIN
        tool = entry.tool if entry.tool is not None else LazyTool(entry, record)
        try:
            self.registry.register(tool, ToolSourceInfo(source_type, entry.group, record.name, record.package))
        except DuplicateToolError as error:
            remedy = "rename the tool, or uninstall one of the two packages"
            record.report("register_tools", str(error), remedy, check="names.taken")
        else:
            record.tools.append(entry.definition.name)

    def _add_provider(self, registration: Registration, record: PluginRecord) -> None:
        if registration.name in self.provider_types:
            record.report(
                "register_providers",
                f"the provider type {registration.name!r} is taken; the first one stays",
                "use another name",
                check="names.provider-taken",
            )
            return
        self.provider_types[registration.name] = registration.value or LazyProviderFactory(
            partial(record.load_object, registration), partial(record.load_object_now, registration)
        )
        if "price_vendor" in registration.options:
            self.known_providers.price_vendors[registration.name] = registration.options["price_vendor"]
        if registration.options.get("is_local"):
            self.known_providers.local_types.add(registration.name)
        record.providers.append(registration.name)

    def _add_skill(self, registration: Registration, record: PluginRecord) -> None:
        folder = registration.value if registration.value is not None else Path(registration.options["folder"])
        self.skills.append(PluginSkill(folder, record))
        record.skills.append(registration.name)

    def _report_joining(self, group: str, tool_names: list[str], owner: PluginRecord) -> None:
        """Report the plugins whose tools belong to a group that another plugin declares."""
        for record in self.plugins:
            joining = [name for name in tool_names if name in record.tools]
            if record is owner or not joining:
                continue
            record.report(
                "register_tools",
                f"{len(joining)} tool{'s' if len(joining) > 1 else ''} of {record.package or record.name} "
                f"({', '.join(joining[:5])}{', ...' if len(joining) > 5 else ''}) joined the tool group {group!r} of "
                f"{owner.package or owner.name}",
                f"if you did not expect that: oneclaw plugins disable {record.name}",
                is_error=False,
                check="groups.joined",
            )


def set_hooks(hooks: Mapping[str, Mapping[str, Any]], record: PluginRecord) -> None:
    """Note which event and lifecycle hooks a plugin implements."""
    if hooks:
        from oneclaw_core.plugins.registration.entry import HookOptions

        record.hooks = {hook: HookOptions.from_dict(options) for hook, options in hooks.items()}


def _report_ignored_meanings(registry: ToolRegistry, record: PluginRecord) -> None:
    """Report which permissions a plugin explains that are not its own, once all tools are there."""
    for permission in registry.get_ignored_meanings(record.name):
        record.report(
            "register_groups",
            f"it says what {permission!r} means, which none of its tools declares and none of its groups is named "
            "after; this is ignored, but for its own tools",
            "declare it in required_permissions of the tool that needs it, or begin it with the name of a group",
            is_error=False,
            check="permissions.not-declared",
        )


def _in_listing_order(by_name: dict[str, Value]) -> dict[str, Value]:
    """Put OneClaw's own provider types or providers first."""
    own = {name: by_name[name] for name in PROVIDER_PLUGINS if name in by_name}
    return own | {name: value for name, value in by_name.items() if name not in own}


def add_program_tools(catalog: Catalog, tools: Iterable[Tool], group: str | ToolGroupDefinition | None) -> None:
    """Register tools; see :meth:`oneclaw_core.OneClaw.add_tools`."""
    registry = catalog.registry
    record = next((each for each in catalog.plugins if each.name == PROGRAM_PLUGIN), None)
    if record is None:
        record = PluginRecord(PROGRAM_PLUGIN, target="the embedding program", has_own_loop=False)
        catalog.plugins.append(record)
    name = group.name if isinstance(group, ToolGroupDefinition) else group
    for each in tools:
        own_group = name or getattr(each, "group", None)
        kind = ToolSourceType.TOOL_GROUP if own_group else ToolSourceType.PLUGIN
        registry.register(each, ToolSourceInfo(kind, own_group, PROGRAM_PLUGIN))
        record.tools.append(each.definition.name)
        if isinstance(group, ToolGroupDefinition):
            registry.register_group(group, PROGRAM_PLUGIN)
        elif own_group and registry.get_group_definition(own_group) is None:
            names = registry.get_tool_groups().get(own_group, [])
            registry.register_group(generated_group_definition(own_group, names), PROGRAM_PLUGIN)


def report_skill_problems(
    catalog: Catalog, skills: Sequence[PluginSkill] | None = None, *, is_thorough: bool = False
) -> None:
    """Check the skills of plugins, and report what is wrong to the records of the plugins that registered them.

    Args:
        catalog: everything that plugins brought.
        skills: those to check; by default all.
        is_thorough: compare the tools and files that a skill names with those there are.
    """
    registry = catalog.registry if is_thorough else None
    for skill in catalog.skills if skills is None else skills:
        for record, registration in _skill_checks(catalog.plugins):
            try:
                target: Callable[..., Iterable[Any]] = record.load_object_now(registration)
                problems = [each for each in target(skill.folder, registry) if isinstance(each, PluginProblem)]
            except PluginError as error:
                record.report(CHECK_HOOK, str(error), "upgrade or disable it")
            except Exception as error:  # noqa: BLE001  # foreign code
                cause = f"the check {registration.name} failed: {describe_error(error)}"
                record.report(CHECK_HOOK, cause, "report it to the plugin's author")
            else:
                for problem in problems:
                    skill.record.add(problem)


def _skill_checks(records: Iterable[PluginRecord]) -> Iterator[tuple[PluginRecord, Registration]]:
    for record in records:
        for registration in record.registrations:
            if registration.hook == CHECK_HOOK and registration.options.get("of") == SKILL_HOOK:
                yield record, registration


class LazyTool(DeferredTool):
    """A tool known by its entry, whose code is imported when it first runs.

    Attributes:
        entry: what is known about it.
    """

    def __init__(self, entry: ToolEntry, record: PluginRecord) -> None:
        super().__init__(entry.definition)
        self.entry = entry
        self._record = record

    def __repr__(self) -> str:
        return f"<tool {self.name} of plugin {self._record.name}>"

    async def _load(self) -> Tool:
        if self.entry.target is not None:
            module, _, attribute = str(self.entry.target).partition(":")
            target = FunctionTarget(module, attribute, self.entry.origin)
            return ManifestTool(self.definition, target)
        tool = (await self._record.load()).tools.get(self.name)
        if tool is None:
            raise PluginError(
                f"the plugin {self._record.name} does not register the tool {self.name!r} any more: upgrade "
                f"{self._record.distribution or 'it'}, or disable it with: oneclaw plugins disable "
                f"{self._record.name}"
            )
        return tool
