"""What the hooks of a plugin are called with: each registration is attributed, checked, and harms no other."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from oneclaw_core.errors import DuplicateToolError, ToolDefinitionError
from oneclaw_core.plugins.named_registrars import SourceRegistrar, Target
from oneclaw_core.plugins.record import BUILTIN_PLUGIN, PluginRecord, PluginSkill
from oneclaw_core.tools.groups import ToolGroupDefinition, generated_group_definition
from oneclaw_core.tools.manifest import load_manifest
from oneclaw_core.tools.permission_meanings import KNOWN_PERMISSIONS
from oneclaw_core.tools.registry import ToolRegistry, ToolSourceInfo, ToolSourceType

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable
    from pathlib import Path

    from oneclaw_core.providers.base import Provider, ProviderConfig
    from oneclaw_core.tools.definition import Tool

ProviderFactory = Callable[["ProviderConfig"], "Provider"]

_SNAKE_CASE = re.compile(r"_?[a-z][a-z0-9_]*")


@dataclass(slots=True)
class ToolRegistrar:
    """What ``register_tools`` is called with.

    Attributes:
        registry: where the tools go, for tools that need to know the others.
    """

    registry: ToolRegistry
    _record: PluginRecord

    def __call__(self, tool: Tool, *, group: str | None = None) -> None:
        """Register a tool.

        Args:
            tool: a function decorated with ``@tool``, or a ``Tool`` object.
            group: the tool group it belongs to; none makes it a core tool, sent with every request.
        """
        group = group or getattr(tool, "group", None)
        if self._record.name == BUILTIN_PLUGIN:
            source_type = ToolSourceType.BUILTIN
        else:
            source_type = ToolSourceType.TOOL_GROUP if group else ToolSourceType.PLUGIN
        try:
            if group is not None:
                # The group's name is checked now, whether or not its metadata ever comes.
                generated_group_definition(group, ())
            self.registry.register(tool, ToolSourceInfo(source_type, group, self._record.name, self._record.package))
        except DuplicateToolError as error:
            remedy = "rename the tool, or uninstall one of the two packages"
            self._record.report("register_tools", str(error), remedy, check="names.taken")
        except ToolDefinitionError as error:
            check = "" if error.pointer else "hooks.not-a-tool"
            self._record.report(
                "register_tools", str(error), "mend the tool's definition", check=check, pointer=error.pointer
            )
        else:
            name = tool.definition.name
            self._record.tools.append(name)
            if not _SNAKE_CASE.fullmatch(name):
                cause = f"tool name {name!r} is not in snake_case"
                self._record.report(
                    "register_tools", cause, "rename the tool", is_error=False, check="names.not-snake-case"
                )

    def manifest(self, path: Path | Traversable, *, module: str | None = None) -> None:
        """Register what a JSON manifest declares.

        Args:
            path: the file, such as ``importlib.resources.files(__package__) / "pdf.json"``.
            module: where functions that are named without a module are looked up.
        """
        if isinstance(path, str):
            # It would mean another file in each directory that the program is started in.
            remedy = "give it as importlib.resources.files(__package__) / " + repr(path)
            cause = f"{path!r} is a text, and no path in the package"
            self._record.report("manifest", f"{cause}: {remedy}", remedy, check="manifests.unreadable")
            return
        self._record.manifests.append(str(path))
        manifest = load_manifest(path, default_module=module)
        for problem in manifest.problems:
            remedy = "mend the manifest; its JSON Schema helps an editor"
            check = "manifests.unreadable" if problem.entry is None else ""
            self._record.report(
                "manifest", str(problem), remedy, is_error=problem.is_error, check=check, pointer=problem.pointer
            )
        if manifest.group is not None:
            GroupRegistrar(self.registry, self._record)(manifest.group)
        for tool in manifest.tools:
            self(tool, group=manifest.group.name if manifest.group else None)

    def source(
        self,
        name: str,
        target: Target,
        *,
        starts: Literal["call", "turn"] = "call",
        start_seconds: float = 30.0,
    ) -> None:
        """Register a tool source, for tools that are known only at run time.

        Args:
            name: unique within the plugin.
            target: function of a ``PluginContext`` that makes a ``ToolSource``.
            starts: when a source whose tools are known from an earlier time starts: with the first ``call`` of one, or
                with the first ``turn`` or call of any tool. A source that has published nothing yet starts then, too.
            start_seconds: how long the start may take.
        """
        if starts not in ("call", "turn") or not 0 < start_seconds <= 3600:
            cause = f"the tool source {name!r} needs starts='call' or starts='turn', and start_seconds from 0 to 3600"
            self._record.report("register_tools", cause, "correct it", check="hooks.options")
            return
        SourceRegistrar(self._record).add(name, target, starts=starts, start_seconds=start_seconds)


@dataclass(slots=True)
class GroupRegistrar:
    """What ``register_groups`` is called with."""

    _registry: ToolRegistry
    _record: PluginRecord

    def __call__(self, group: ToolGroupDefinition) -> None:
        """Register a group's metadata; of two plugins that declare one group, the first one's stay."""
        if not isinstance(group, ToolGroupDefinition):
            cause = f"{group!r} is no ToolGroupDefinition"
            self._record.report("register_groups", cause, "make one", check="groups.not-a-group")
            return
        self._look_at_permissions(group)
        if self._registry.register_group(group, self._record.name):
            self._record.groups.append(group.name)
            return
        first = self._registry.get_group_definition(group.name)
        texts = (group.display_name, group.description)
        if first is not None and (first.display_name, first.description) != texts:
            self._record.report(
                "register_groups",
                f"the tool group {group.name!r} is declared already, with another text; the first one stays, "
                "and tools of both belong to it",
                "use another group name, or the same display name and description",
                is_error=False,
                check="groups.taken",
            )

    def _look_at_permissions(self, group: ToolGroupDefinition) -> None:
        """Report what the registry will not take of what a group says about permissions."""
        for permission, meaning in group.permissions.items():
            if permission in KNOWN_PERMISSIONS:
                self._record.report(
                    "register_groups",
                    f"the tool group {group.name!r} says what {permission!r} means, which is OneClaw's own; this is "
                    "ignored",
                    "leave it out, or explain a permission of your own",
                    is_error=False,
                    check="permissions.not-own",
                )
                continue
            said = self._registry.get_permission_meaning(permission, self._record.name)
            if said is not None and said.text != meaning:
                other = (
                    "another group says something else; the first one stays"
                    if said.plugin == self._record.name
                    else f"the plugin {said.plugin!r} says something else; each is believed for its own tools"
                )
                self._record.report(
                    "register_groups",
                    f"the tool group {group.name!r} says what {permission!r} means, and {other}",
                    "use another permission, or the same words",
                    is_error=False,
                    check="permissions.meaning-taken",
                )


def report_ignored_meanings(registry: ToolRegistry, record: PluginRecord) -> None:
    """Report which permissions a plugin explains that are not its own, once all its tools are there.

    Args:
        registry: where the tools are.
        record: of the plugin.
    """
    for permission in registry.get_ignored_meanings(record.name):
        record.report(
            "register_groups",
            f"it says what {permission!r} means, which none of its tools declares and none of its groups is named "
            "after; this is ignored, but for its own tools",
            "declare it in required_permissions of the tool that needs it, or begin it with the name of a group",
            is_error=False,
            check="permissions.not-declared",
        )


@dataclass(slots=True)
class ProviderRegistrar:
    """What ``register_providers`` is called with."""

    _provider_types: dict[str, ProviderFactory]
    _record: PluginRecord

    def __call__(self, type_name: str, factory: ProviderFactory) -> None:
        """Register a provider type.

        Args:
            type_name: of the wire format, such as ``openai_compatible``.
            factory: makes a provider from its configuration.
        """
        if type_name in self._provider_types:
            self._record.report(
                "register_providers",
                f"the provider type {type_name!r} is taken; the first one stays",
                "use another name",
                check="names.provider-taken",
            )
        else:
            self._provider_types[type_name] = factory
            self._record.providers.append(type_name)


@dataclass(slots=True)
class SkillRegistrar:
    """What ``register_skills`` is called with."""

    _skills: list[PluginSkill]
    _record: PluginRecord

    def __call__(self, folder: Path | Traversable) -> None:
        """Register a skill; what its ``SKILL.md`` says is read when somebody asks for skills.

        Args:
            folder: such as ``importlib.resources.files(__package__) / "skills" / "pdf-report"``.
        """
        try:
            name = folder.name
            has_document = folder.joinpath("SKILL.md").is_file()
        except (AttributeError, TypeError, OSError):
            remedy = "pass a Path, or what importlib.resources.files gives"
            self._record.report("register_skills", f"{folder!r} is no folder", remedy, check="skills.missing")
            return
        if not has_document:
            remedy = "write one, and include it in the package"
            self._record.report("register_skills", f"{folder} has no SKILL.md", remedy, check="skills.missing")
        elif any(each.folder == folder for each in self._skills):
            cause = f"{folder} is registered twice"
            self._record.report("register_skills", cause, "do it once", is_error=False, check="skills.twice")
        else:
            self._skills.append(PluginSkill(folder, self._record))
            self._record.skills.append(name)
