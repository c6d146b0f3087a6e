"""Registrars for tools, tool groups, providers and skills. They attribute and validate each registration."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from oneclaw_core.errors import PluginError, ToolDefinitionError
from oneclaw_core.plugins.registration.entry import (
    PRECONFIGURED_HOOK,
    SKILL_HOOK,
    SOURCE_HOOK,
    Registration,
    ToolEntry,
    target_name,
)
from oneclaw_core.plugins.registration.named_registrars import NAMED_REGISTRARS, Registrar, Target
from oneclaw_core.tools.earlier_behaviour import behaviour_advice, earlier_behaviour
from oneclaw_core.tools.manifest import load_manifest
from oneclaw_core.tools.manifest_tool import FunctionTarget
from oneclaw_core.tools.registry import ToolRegistry, definition_of
from oneclaw_core.types.tool_definition import check_name
from oneclaw_core.types.tool_groups import ToolGroupDefinition

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable
    from pathlib import Path

    from oneclaw_core.providers.known import ProviderFactory
    from oneclaw_core.types.tool_definition import Tool


_SNAKE_CASE = re.compile(r"_?[a-z][a-z0-9_]*")
_ANY = re.compile(r"(?s).+")


@dataclass(slots=True)
class ToolRegistrar(Registrar):
    """Registrar passed to ``register_tools``.

    Attributes:
        registry: where the tools go, for tools that need to know the others.
    """

    hook: ClassVar = "register_tools"
    registry: ToolRegistry

    def __call__(self, tool: Tool, *, group: str | None = None) -> None:
        """Register a tool.

        Args:
            tool: a function decorated with ``@tool``, or a ``Tool`` object.
            group: the tool group it belongs to; none makes it a core tool, sent with every request.
        """
        group = group or getattr(tool, "group", None)
        try:
            if group is not None:
                check_name(group, "tool group")
            definition = definition_of(tool)
        except ToolDefinitionError as error:
            check = "" if error.pointer else "hooks.not-a-tool"
            self._entry.report(
                "register_tools", str(error), "correct the tool's definition", check=check, pointer=error.pointer
            )
            return
        name = definition.name
        if not _SNAKE_CASE.fullmatch(name):
            cause = f"tool name {name!r} is not in snake_case"
            self._entry.report("register_tools", cause, "rename the tool", is_error=False, check="names.not-snake-case")
        earlier = earlier_behaviour(tool, tool.definition)
        if earlier:
            advice = behaviour_advice(name, earlier)
            remedy = "change it before version 0.4"
            self._entry.report("register_tools", advice, remedy, is_error=False, check="hooks.deprecated")
        target = getattr(tool, "target", None)
        place, origin = (
            (f"{target.module}:{target.attribute}", target.origin) if isinstance(target, FunctionTarget) else (None, "")
        )
        self._entry.tools.append(ToolEntry(definition, group, place, origin, tool))

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
            self._entry.report("manifest", cause, remedy, check="manifests.unreadable")
            return
        self._entry.manifests.append(str(path))
        manifest = load_manifest(path, default_module=module)
        for problem in manifest.problems:
            remedy = "correct the manifest; its JSON Schema helps an editor"
            check = "manifests.unreadable" if problem.entry is None else ""
            self._entry.report(
                "manifest", str(problem), remedy, is_error=problem.is_error, check=check, pointer=problem.pointer
            )
        if manifest.group is not None:
            GroupRegistrar(self._entry)(manifest.group)
        for tool in manifest.tools:
            self(tool, group=manifest.group.name if manifest.group else None)

    def source(
        self,
        name: str,
        target: Target,
        *,
        starts: Literal["call", "turn", "open"] = "call",
        start_seconds: float = 30.0,
        listing: str | None = None,
        listed_as: str | None = None,
    ) -> None:
        """Register a tool source, for tools that are known only at run time.

        Args:
            name: unique within the plugin.
            target: function of a ``PluginContext`` that makes a ``ToolSource``.
            starts: when a source whose tools are known from an earlier time starts: with the first ``call`` of one,
                with the first ``turn`` or call of any tool, or when the home is opened. A source that has published
                nothing yet starts at the first turn or call, too.
            start_seconds: how long the start may take.
            listing: name ``module:attribute`` of a function of a ``ListingContext`` and ``SourceTools`` that publishes
                the current tools, for a source that finds them in a moment, such as in files. Listings call it; they
                show the tools that the source published last without it. Nothing is stored for such a source.
            listed_as: name under which the tools are listed and disabled like a plugin; by default the plugin's. Such a
                source comes after those without one.
        """
        options: dict[str, Any] = {"starts": starts, "start_seconds": start_seconds}
        if starts not in ("call", "turn", "open") or not 0 < start_seconds <= 3600:
            cause = f"the tool source {name!r} needs starts='call', 'turn' or 'open', and start_seconds from 0 to 3600"
            self._report(cause, "correct it", "hooks.options")
            return
        if listed_as is not None:
            if not _SNAKE_CASE.fullmatch(listed_as):
                cause = f"the tool source {name!r} has listed_as={listed_as!r}, which is not in snake_case"
                self._report(cause, "use another name", "hooks.options")
                return
            options["listed_as"] = listed_as
        if listing is not None:
            try:
                options["listing"] = target_name(listing)
            except PluginError as error:
                self._report(str(error), "correct the name", "hooks.target")
                return
        self._add(name, target, hook=SOURCE_HOOK, **options)


class GroupRegistrar(Registrar):
    """Registrar passed to ``register_groups``."""

    hook: ClassVar = "register_groups"

    def __call__(self, group: ToolGroupDefinition) -> None:
        """Register a group's metadata; of two packages that declare one group, those of the owner of its name stay."""
        if isinstance(group, ToolGroupDefinition):
            self._entry.groups.append(group)
        else:
            self._report(f"{group!r} is not a ToolGroupDefinition", "make one", "groups.not-a-group")


class ProviderRegistrar(Registrar):
    """Registrar passed to ``register_providers``."""

    hook: ClassVar = "register_providers"

    def __call__(
        self,
        type_name: str,
        factory: ProviderFactory | str,
        *,
        price_vendor: str | None = None,
        is_local: bool = False,
    ) -> None:
        """Register a provider type.

        Args:
            type_name: of the wire format, such as ``openai_compatible``.
            factory: makes a provider from its configuration; an object, or its name ``module:attribute``.
            price_vendor: the name in ``genai-prices`` of the vendor at the type's own address, for costs.
            is_local: True if the type has no service, and so neither an address nor a key.
        """
        options: dict[str, Any] = {"price_vendor": price_vendor} if price_vendor is not None else {}
        if is_local:
            options["is_local"] = True
        self._add(str(type_name), factory, pattern=_ANY, **options)

    def preconfigured(
        self,
        name: str,
        *,
        type_name: str | None = None,
        key_variable: str | None = None,
        base_url: str | None = None,
        base_url_variable: str | None = None,
    ) -> None:
        """Register a provider that users need not add.

        Args:
            name: the first part of ``PROVIDER/MODEL``.
            type_name: its provider type, by default the one of its name.
            key_variable: the environment variable with its key; by default ``<NAME>_API_KEY``.
            base_url: its address, by default the type's own.
            base_url_variable: the environment variable that replaces the address.
        """
        options = {
            "type": type_name or name,
            "key_variable": key_variable,
            "base_url": base_url,
            "base_url_variable": base_url_variable,
        }
        self._entry.registrations.append(Registration(PRECONFIGURED_HOOK, self._entry.name, name, None, options))


class SkillRegistrar(Registrar):
    """Registrar passed to ``register_skills``."""

    hook: ClassVar = SKILL_HOOK

    def __call__(self, folder: Path | Traversable) -> None:
        """Register a skill; its ``SKILL.md`` is read when skills are asked for.

        Args:
            folder: such as ``importlib.resources.files(__package__) / "skills" / "pdf-report"``.
        """
        try:
            name = folder.name
            has_document = folder.joinpath("SKILL.md").is_file()
        except (AttributeError, TypeError, OSError):
            remedy = "pass a Path, or what importlib.resources.files gives"
            self._report(f"{folder!r} is not a folder", remedy, "skills.missing")
            return
        known = [each.value for each in self._entry.registrations if each.hook == self.hook]
        if not has_document:
            remedy = "write one, and include it in the package"
            self._report(f"{folder} has no SKILL.md", remedy, "skills.missing")
        elif folder in known:
            cause = f"{folder} is registered twice"
            self._entry.report(self.hook, cause, "do it once", is_error=False, check="skills.twice")
        else:
            options = {"folder": str(folder)}
            self._entry.registrations.append(Registration(self.hook, self._entry.name, name, None, options, folder))


REGISTRARS: tuple[type[Registrar], ...] = (ProviderRegistrar, SkillRegistrar, *NAMED_REGISTRARS)
"""The registrars of the hooks that need nothing but the plugin's entry, in the order of the calls."""
