"""Tools of tool sources and of the program in the registry: published in one step, in the order of the sources."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from oneclaw_core.contract.tool_source import GroupTools, KnownTool, SourceGroup, SourceTool
from oneclaw_core.errors import DuplicateToolError, PluginError, ToolDefinitionError, describe_error
from oneclaw_core.plugins.plugin import PROGRAM_PLUGIN, SOURCE_HOOK, Plugin, PluginProblem, Registration
from oneclaw_core.secrets.redaction import redact
from oneclaw_core.tools.registry import RegisteredTool, UnreadGroup, definition_of
from oneclaw_core.types.tool_groups import ToolGroupDefinition, generated_group_definition
from oneclaw_core.types.tools import Tool, ToolDefinition, ToolSourceInfo, ToolSourceType, check_name

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from oneclaw_core.plugins.catalog import Catalog
    from oneclaw_core.tools.registry import ToolRegistry


class PublishedTools:
    """All that tool sources have published, in one registry.

    The tools of a source keep their place among those of the others, whenever they change. So the same tools are always
    sent in the same order, and of two tools of one name always the same one is left out.

    Args:
        registry: gets the tools, behind those that plugins registered.
        records: the plugins; gets the records of sources that are listed like plugins.
    """

    def __init__(self, registry: ToolRegistry, records: list[Plugin]) -> None:
        self.registry = registry
        self._records = records
        self._sources: list[PublishedBySource] = []

    def add(self, record: Plugin, where: str) -> PublishedBySource:
        """Add a source behind the others.

        Args:
            record: of its plugin; gets the names of its tools and its problems.
            where: the source, in messages.
        """
        source = PublishedBySource(self, record, where)
        self._sources.append(source)
        return source

    def add_all(self, disabled: Collection[str] = ()) -> list[tuple[Registration, PublishedBySource]]:
        """Add the sources of all plugins; those that are listed under another name come last.

        Args:
            disabled: names of plugins that the user has disabled.
        """
        found = [
            (registration, record)
            for record in self._records
            if not record.is_disabled
            for registration in record.registrations
            if registration.hook == SOURCE_HOOK
        ]
        found.sort(key=lambda each: "listed_as" in each[0].options)
        added = []
        for registration, record in found:
            name = registration.options.get("listed_as")
            if name is not None:
                source = f"{registration.plugin} {registration.name}"
                record = Plugin(name, target=record.target, is_disabled=name in disabled, source=source)
            added.append((registration, self.add(record, source_label(registration))))
            self.list_record(record)
        return added

    def list_record(self, record: Plugin) -> None:
        """List the record of a source among the plugins as long as it has anything to show."""
        if record.source is None:
            return
        is_listed = any(each is record for each in self._records)
        is_shown = bool(record.tools or record.groups or record.problems or record.is_disabled)
        if is_shown and not is_listed:
            self._records.append(record)
        elif is_listed and not is_shown:
            self._records.remove(record)

    def renew(self, changed: PublishedBySource) -> None:
        """Register the tools of a source that has changed, and of those behind it, anew."""
        later = self._sources[self._sources.index(changed) :]
        for source in later:
            source.withdraw()
        for source in later:
            source.register()


class PublishedBySource:
    """The tools of one source. Implements :class:`~oneclaw_core.contract.tool_source.SourceTools`.

    Attributes:
        record: of the plugin.
        where: the source, in messages.
        tools: the tools that are registered, by name.
        groups: the names of the groups whose metadata come from this source.
        run: runs a function in the thread that the registry belongs to.
        changed: called when the source has published something else.
    """

    def __init__(self, published: PublishedTools, record: Plugin, where: str) -> None:
        self.record = record
        self.where = where
        self.tools: dict[str, SourceTool] = {}
        self.groups: list[str] = []
        self._unread: dict[str, SourceGroup] = {}
        self.run: Callable[[Callable[[], None]], None] = lambda function: function()
        self.changed: Callable[[], None] = lambda: None
        self._published = published
        self._registry = published.registry
        self._wanted: tuple[SourceTool, ...] = ()
        self._wanted_groups: tuple[SourceGroup, ...] = ()
        self._said: tuple[PluginProblem, ...] = ()
        self._faults: tuple[PluginProblem, ...] = ()
        self._left_out: tuple[PluginProblem, ...] = ()
        self._reported: list[PluginProblem] = []

    @property
    def wanted(self) -> tuple[SourceTool, ...]:
        """All tools that the source published, those that were left out as well."""
        return self._wanted

    @property
    def wanted_groups(self) -> tuple[SourceGroup, ...]:
        """All groups that it published."""
        return self._wanted_groups

    def publish(
        self,
        tools: Iterable[Tool | SourceTool],
        groups: Iterable[ToolGroupDefinition | SourceGroup] = (),
        problems: Iterable[PluginProblem] = (),
    ) -> None:
        """Replace everything that the source has published, in one step.

        Raises:
            PluginError: something is of another type; nothing has changed.
        """
        new_tools = tuple(each if isinstance(each, SourceTool) else SourceTool(each) for each in tools)
        new_groups = tuple(each if isinstance(each, SourceGroup) else SourceGroup(each) for each in groups)
        new_problems = tuple(problems)
        for wrong in (each.definition for each in new_groups if not isinstance(each.definition, ToolGroupDefinition)):
            raise PluginError(f"{wrong!r} is not a ToolGroupDefinition")
        for other in (each for each in new_problems if not isinstance(each, PluginProblem)):
            raise PluginError(f"{other!r} is not a PluginProblem")
        self.run(lambda: self._replace(new_tools, new_groups, new_problems))

    def known(self) -> tuple[KnownTool, ...]:
        """Return the tools that the source published last, possibly in an earlier process."""
        read = (replace(each, group=of.definition.name) for of in self._wanted_groups for each in _read(of).tools)
        found = ((each, _definition_of(each)) for each in (*self._wanted, *read))
        return tuple(
            KnownTool(definition, _group_of(each), each.origin) for each, definition in found if definition is not None
        )

    def problems(self) -> tuple[PluginProblem, ...]:
        """Return the problems that are listed now."""
        return tuple(self._reported)

    def set_disabled(self, is_disabled: bool) -> None:
        """Withdraw the tools while the user has disabled the source, and register them again afterwards."""
        if self.record.is_disabled != is_disabled:
            self.record.is_disabled = is_disabled
            self._published.renew(self)

    def report(self, problems: Iterable[PluginProblem]) -> None:
        """Replace what OneClaw finds wrong with the source, and leave its tools as they are."""
        self._faults = tuple(problems)
        self._report()

    def _replace(
        self, tools: tuple[SourceTool, ...], groups: tuple[SourceGroup, ...], problems: tuple[PluginProblem, ...]
    ) -> None:
        if (tools, groups, problems) == (self._wanted, self._wanted_groups, self._said):
            return
        self._wanted, self._wanted_groups, self._said = tools, groups, problems
        self._published.renew(self)
        self.changed()

    def withdraw(self) -> None:
        """Take the tools and groups out of the registry."""
        names = {*self.tools, *(name for group in self._unread.values() for name in group.tool_names)}
        for name in self.tools:
            self._registry.unregister(name)
        for group in self._unread:
            self._registry.unregister_unread(group)
        for group in self.groups:
            self._registry.unregister_group(group)
        record = self.record
        record.tools = [name for name in record.tools if name not in names]
        record.groups = [name for name in record.groups if name not in self.groups]
        self.tools, self.groups, self._unread = {}, [], {}

    def register(self) -> None:
        """Put what was published into the registry, and report what is left out."""
        if self.record.is_disabled:
            self._left_out = ()
            self._report()
            return
        self._left_out = (*self._register_tools(), *self._register_unread(), *self._register_groups())
        self._generate_groups()
        self.record.tools += self.tools
        for group in self._unread.values():
            self.record.tools += group.tool_names
        self.record.groups += self.groups
        self._report()

    def _report(self) -> None:
        problems = [
            replace(each, cause=" ".join(redact(each.cause).split()))
            for each in (() if self.record.is_disabled else (*self._faults, *self._said, *self._left_out))
        ]
        record, before = self.record, self._reported
        record.problems = [each for each in record.problems if each not in before]
        for problem in problems:
            if problem in before:  # it stands in the log
                record.problems.append(problem)
            else:
                record.report(problem.where, problem.cause, problem.remedy, is_error=problem.is_error)
        self._reported = problems
        self._published.list_record(record)

    def _register_tools(self) -> Iterator[PluginProblem]:
        for each in self._wanted:
            group, definition = _group_of(each), _definition_of(each)
            name = definition.name if definition is not None else ""
            prefix = f"{each.origin}: " if each.origin else ""
            try:
                if group is not None:
                    check_name(group, "tool group")
                self._registry.register(each.tool, self._source_of(each, group))
            except DuplicateToolError:
                cause = f"{prefix}there is a tool {name!r} already, from {self._holder(name)}; this one is left out"
                yield PluginProblem(self.where, cause, "give one of the two another name")
            except ToolDefinitionError as error:
                yield PluginProblem(self.where, f"{prefix}{error}", "correct the tool's definition")
            except Exception as error:  # noqa: BLE001  # a foreign object; the other tools are still to be registered
                yield PluginProblem(self.where, f"{prefix}{type(error).__name__}", "correct the tool's definition")
            else:
                self.tools[name] = each

    def _source_of(self, each: SourceTool | None, group: str | None) -> ToolSourceInfo:
        kind = each.type if each is not None else None
        return ToolSourceInfo(
            kind or (ToolSourceType.TOOL_GROUP if group is not None else ToolSourceType.PLUGIN),
            group,
            self.record.name,
            self.record.package,
            each is None or each.is_bound,
            is_supplied=True,
        )

    def _register_unread(self) -> Iterator[PluginProblem]:
        """Register the groups that are read when they are needed."""
        unread: dict[str, UnreadGroup] = {}
        others = self._registry.unread_groups()
        for group in self._wanted_groups:
            if group.read is None or not group.tool_names:
                continue
            name = group.definition.name
            if name in unread or name in others:
                cause = f"{_prefix(group)}the tools of the group {name!r} are left out"
                yield PluginProblem(self.where, cause, "give it another name")
                continue
            unread[name] = UnreadGroup(group.tool_names, self._source_of(None, name), partial(self._read_group, group))
            self._unread[name] = group
        for name, taken in self._registry.register_unread(unread).items() if unread else ():
            group = self._unread[name]
            self._unread[name] = replace(
                group, tool_names=tuple(each for each in group.tool_names if each not in taken)
            )
            shown = ", ".join(taken[:10])
            cause = f"{_prefix(group)}there are tools of these names already, these are left out: {shown}"
            yield PluginProblem(self.where, cause, "give them other names")

    def _read_group(self, group: SourceGroup) -> dict[str, RegisteredTool]:
        """Read the tools of a group, which take the place of their names."""
        name = group.definition.name
        listed = self._unread.pop(name, group)
        try:
            contents = _read(group)
            tools = {definition_of(each.tool).name: replace(each, group=name) for each in contents.tools}
            self._registry.register_group(replace(group.definition, permissions=contents.permissions), self.record.name)
        except Exception as error:  # noqa: BLE001  # foreign code; the group has no tools then
            cause = f"{_prefix(group)}the tools of the group {name!r} cannot be read: {describe_error(error)}"
            self._left_out = (*self._left_out, PluginProblem(self.where, cause, "see the log"))
            self._report()
            tools = {}
        # A name can belong to another tool, and a tool can have come since the names were published.
        tools = {tool: each for tool, each in tools.items() if self._registry.is_unread(tool, name)}
        gone = set(listed.tool_names) - tools.keys()
        self.record.tools = [tool for tool in self.record.tools if tool not in gone]
        self.tools |= tools
        return {
            tool: RegisteredTool(each.tool, definition_of(each.tool), self._source_of(each, name))
            for tool, each in tools.items()
        }

    def _register_groups(self) -> Iterator[PluginProblem]:
        with_tools = {_group_of(each) for each in self.tools.values()} | self._unread.keys()
        registry, plugin = self._registry, self.record.name
        for group in self._wanted_groups:
            definition = group.definition
            name = definition.name
            if name not in with_tools and group.open is None:
                continue
            first = registry.get_group_definition(name)
            if first is None:
                yield from self._other_meanings(definition, _prefix(group))
                registry.register_group(definition, plugin)
                if name not in with_tools:
                    registry.set_group_opener(name, group.open)
                self.groups.append(name)
            elif first != definition:
                cause = (
                    f"{_prefix(group)}there is a tool group {name!r} already; its description stays, and these tools "
                    "belong to it"
                )
                yield PluginProblem(self.where, cause, "use another group name", is_error=False)

    def _other_meanings(self, group: ToolGroupDefinition, prefix: str) -> Iterator[PluginProblem]:
        """Find the permissions that a group explains otherwise than one before it."""
        plugin = self.record.name
        for permission, meaning in group.permissions.items():
            said = self._registry.get_permission_meaning(permission, plugin)
            if said is not None and said.plugin == plugin and said.text != meaning:
                cause = f"{prefix}{permission!r} is explained already, with other words; those stay"
                yield PluginProblem(self.where, cause, "use another permission, or the same words", is_error=False)

    def _generate_groups(self) -> None:
        """Describe the groups that have no metadata."""
        by_group: dict[str, list[str]] = {}
        for name, each in self.tools.items():
            group = _group_of(each)
            if group is not None:
                by_group.setdefault(group, []).append(name)
        for group, names in by_group.items():
            if self._registry.register_group(generated_group_definition(group, names)):
                self.groups.append(group)

    def _holder(self, name: str) -> str:
        if name in self.tools:
            return self.tools[name].origin or self.where
        source = self._registry.get_source_info(name)
        return source.distribution or source.plugin or str(source.type) if source is not None else "another"


def _prefix(group: SourceGroup) -> str:
    """Return where a group comes from, for a message."""
    return f"{group.origin}: " if group.origin else ""


def source_label(registration: Registration) -> str:
    """Name a source in messages."""
    return f"tool source {registration.name!r}"


def _read(group: SourceGroup) -> GroupTools:
    return GroupTools(()) if group.read is None else group.read()


def _group_of(each: SourceTool) -> str | None:
    try:
        return each.group or getattr(each.tool, "group", None)
    except Exception:  # noqa: BLE001  # a foreign object, which is about to be reported
        return None


def _definition_of(each: SourceTool) -> ToolDefinition | None:
    try:
        definition = each.tool.definition
    except Exception:  # noqa: BLE001  # the same
        return None
    return definition if isinstance(definition, ToolDefinition) else None


def add_program_tools(catalog: Catalog, tools: Iterable[Tool], group: str | ToolGroupDefinition | None) -> None:
    """Register tools; see :meth:`oneclaw_core.OneClaw.add_tools`."""
    registry = catalog.registry
    plugin = next((each for each in catalog.plugins if each.name == PROGRAM_PLUGIN), None)
    if plugin is None:
        plugin = Plugin(PROGRAM_PLUGIN, target="the embedding program", has_own_loop=False)
        catalog.plugins.append(plugin)
    name = group.name if isinstance(group, ToolGroupDefinition) else group
    for each in tools:
        own_group = name or getattr(each, "group", None)
        kind = ToolSourceType.TOOL_GROUP if own_group else ToolSourceType.PLUGIN
        registry.register(each, ToolSourceInfo(kind, own_group, PROGRAM_PLUGIN))
        plugin.tools.append(each.definition.name)
        if isinstance(group, ToolGroupDefinition):
            registry.register_group(group, PROGRAM_PLUGIN)
        elif own_group and registry.get_group_definition(own_group) is None:
            names = registry.get_tool_groups().get(own_group, [])
            registry.register_group(generated_group_definition(own_group, names), PROGRAM_PLUGIN)
