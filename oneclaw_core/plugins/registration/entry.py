"""The catalogue entry of a plugin: everything that it registers, as JSON data that can be cached.

An installed plugin always reaches the registry by its entry, so that a listing imports no plugin.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, fields
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import PluginError
from oneclaw_core.system.redaction import redact
from oneclaw_core.types.tool_definition import ToolBehaviour, ToolDefinition
from oneclaw_core.types.tool_groups import ToolGroupDefinition

if TYPE_CHECKING:
    from collections.abc import Mapping

    import click

    from oneclaw_core.types.tool_definition import Tool


CHECK_HOOK = "register_checks"
SKILL_HOOK = "register_skills"
PRECONFIGURED_HOOK = "register_providers.preconfigured"
"""Names registrations of preconfigured providers, which are made in the hook ``register_providers``."""
SOURCE_HOOK = "register_tools.source"
"""Names registrations of tool sources, which are made in the hook ``register_tools``."""


MAX_TIMEOUT_SECONDS = 600.0
_STORED_OF_TOOL = ("group", "target", "origin")
_STORED_BEHAVIOUR = ("isolation", "asks_itself", "checks_own_arguments")


@dataclass(frozen=True, slots=True)
class PluginProblem:
    """Something about a plugin that its author or user should fix.

    Attributes:
        where: the step or hook, such as ``import`` or ``register_tools``.
        cause: what is wrong, on one line.
        remedy: what to do about it.
        is_error: whether something does not work because of it.
        check: what ``oneclaw plugins check`` calls it, ``""`` where ``pointer`` says that.
        pointer: JSON Pointer to the fault within a tool's definition, or within a manifest.
    """

    where: str
    cause: str
    remedy: str
    is_error: bool = True
    check: str = ""
    pointer: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the problem as JSON data."""
        return _as_dict(self)


def new_problem(
    where: str, cause: str, remedy: str, *, is_error: bool = True, check: str = "", pointer: str = ""
) -> PluginProblem:
    """Make a problem whose cause is one line without secrets; see :class:`PluginProblem`."""
    return PluginProblem(where, " ".join(redact(cause).split()), remedy, is_error, check, pointer)


class ReportsProblems:
    """Base of what has problems, which are reported to it."""

    __slots__ = ()

    def report(
        self, where: str, cause: str, remedy: str, *, is_error: bool = True, check: str = "", pointer: str = ""
    ) -> None:
        """Add a problem; see :class:`PluginProblem`."""
        self.add(new_problem(where, cause, remedy, is_error=is_error, check=check, pointer=pointer))

    def add(self, problem: PluginProblem) -> None:
        """Add a problem, unless it is known."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class HookOptions:
    """The way a plugin implements a hook: JSON data, known without importing the plugin.

    Attributes:
        argument_names: the arguments of the hook that the function takes.
        is_async: True for an async function.
        tools: the only tools, or tool groups, whose calls it is about; ``None`` for all.
        in_turns: True if it is about calls of turns alone.
        skips_read_only: True if it is not about calls of tools that change nothing.
        timeout_seconds: time limit of one call; ``None`` for the limit of the hook's kind.
        tryfirst, trylast, wrapper: as pluggy has them.
    """

    argument_names: tuple[str, ...] = ()
    is_async: bool = False
    tools: tuple[str, ...] | None = None
    timeout_seconds: float | None = None
    in_turns: bool = False
    skips_read_only: bool = False
    tryfirst: bool = False
    trylast: bool = False
    wrapper: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the options as JSON data."""
        return _as_dict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> HookOptions:
        """Read what :meth:`to_dict` returned."""
        tools = data["tools"]
        lists = {"argument_names": tuple(data["argument_names"]), "tools": None if tools is None else tuple(tools)}
        return cls(**{**data, **lists})

    def is_about(self, tool: str, group: str | None, *, is_in_turn: bool, is_read_only: bool = False) -> bool:
        """Return True if a call of a tool concerns the hook."""
        if (self.in_turns and not is_in_turn) or (self.skips_read_only and is_read_only):
            return False
        return self.tools is None or tool in self.tools or (group is not None and group in self.tools)


@dataclass(frozen=True, slots=True)
class Registration:
    """One thing that a plugin has registered.

    Attributes:
        hook: the registration hook, such as ``register_services``.
        plugin: the plugin's name.
        name: unique among what the plugin registers by this hook.
        target: where the object is, as ``module:attribute``; ``None`` if only the loaded plugin has it.
        options: what else was given, as JSON data.
        value: the object, where this process has it; not cached.
    """

    hook: str
    plugin: str
    name: str
    target: str | None
    options: Mapping[str, Any] = field(default_factory=dict)
    value: Any = field(default=None, compare=False, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the registration as JSON data, without its object."""
        return {"hook": self.hook, "name": self.name, "target": self.target, "options": dict(self.options)}


def target_name(value: object) -> str | None:
    """Return the name by which an object can be imported, ``None`` if it has none.

    Args:
        value: a name ``module:attribute``, or a function or class at the top of a module.

    Raises:
        PluginError: the value is a text of another form.
    """
    if isinstance(value, str):
        module, colon, attribute = value.partition(":")
        if not (module and colon and attribute) or not all(
            part.isidentifier() for part in (*module.split("."), *attribute.split("."))
        ):
            raise PluginError(f"{value!r} names no object: write it as 'package.module:attribute'")
        return value
    place = _place_of(value)
    return place if place is not None and _is_at(place, value) else None


def import_target(target: str) -> Any:
    """Import what an entry point or a registration names, as ``module`` or ``module:attribute``."""
    module, _, attribute = target.partition(":")
    imported = import_module(module.strip())
    return attrgetter(attribute.strip())(imported) if attribute else imported


def command_place(command: click.Command) -> str | None:
    """Return the name by which a click command can be imported, ``None`` if it has none."""
    place = _place_of(command.callback)
    return place if place is not None and _is_at(place, command) else None


def _place_of(value: object) -> str | None:
    """Return where a function or class says that it is."""
    where, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(where, str) or not isinstance(name, str) or where == "__main__":
        return None
    return f"{where}:{name}" if all(part.isidentifier() for part in name.split(".")) else None


def _is_at(place: str, value: object) -> bool:
    module, _, attribute = place.partition(":")
    try:
        return attrgetter(attribute)(sys.modules.get(module)) is value
    except AttributeError:
        return False


@dataclass(frozen=True, slots=True)
class ToolEntry:
    """A tool that a plugin registers.

    Attributes:
        definition: what a model is told about it.
        group: the tool group it belongs to, ``None`` for a core tool.
        target: the function of a manifest's tool, as ``module:attribute``; ``None`` if only the loaded plugin has it.
        origin: what names the target, for messages.
        tool: the object, where this process has it; not cached.
    """

    definition: ToolDefinition
    group: str | None = None
    target: str | None = None
    origin: str = ""
    tool: Tool | None = field(default=None, compare=False, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the tool as JSON data, its parameters as JSON text."""
        data = self.definition.to_dict() | {name: getattr(self, name) for name in _STORED_OF_TOOL}
        behaviour = self.definition.behaviour
        data |= {name: getattr(behaviour, name) for name in _STORED_BEHAVIOUR}
        return data | {"is_poll": True} if behaviour.is_poll else data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ToolEntry:
        """Read what :meth:`to_dict` returned; the definition was checked when it was described."""
        stored = {name: data[name] for name in _STORED_OF_TOOL}
        behaviour = ToolBehaviour(
            **{name: data[name] for name in _STORED_BEHAVIOUR}, is_poll=data.get("is_poll", False)
        )
        return cls(ToolDefinition.stored(data, behaviour), **stored)


@dataclass(slots=True)
class PluginEntry(ReportsProblems):
    """Everything that a plugin registers, and what is wrong with it.

    Attributes:
        name: of the plugin.
        tools: in the order of their registration.
        groups: metadata of tool groups, in the order of their registration.
        registrations: what else it registers, by name.
        manifests: the paths of the manifests it registers.
        hooks: the event and lifecycle hooks that it implements, each with its options as JSON data.
        problems: found while it was described.
        import_ms: how long importing it and calling its registration hooks took, in milliseconds.
    """

    name: str
    tools: list[ToolEntry] = field(default_factory=list)
    groups: list[ToolGroupDefinition] = field(default_factory=list)
    registrations: list[Registration] = field(default_factory=list)
    manifests: list[str] = field(default_factory=list)
    hooks: dict[str, dict[str, Any]] = field(default_factory=dict)
    problems: list[PluginProblem] = field(default_factory=list)
    import_ms: float | None = None

    def add(self, problem: PluginProblem) -> None:
        """Add a problem, unless it is known."""
        if problem not in self.problems:
            self.problems.append(problem)

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as JSON data; a tool that JSON cannot hold becomes a problem."""
        tools = []
        for each in self.tools:
            try:
                tools.append(each.to_dict())
            except (ValueError, TypeError, RecursionError) as error:
                cause = f"the parameters of tool {each.definition.name!r} are no JSON data: {error}"
                self.report("register_tools", cause, "correct the tool's definition", pointer="/parameters")
        return {
            "name": self.name,
            "tools": tools,
            "groups": [
                {
                    "name": each.name,
                    "display_name": each.display_name,
                    "description": each.description,
                    "permissions": dict(each.permissions),
                    **({"may_be_unlisted": True} if each.may_be_unlisted else {}),
                }
                for each in self.groups
            ],
            "registrations": [each.to_dict() for each in self.registrations],
            "manifests": self.manifests,
            "hooks": self.hooks,
            "problems": [each.to_dict() for each in self.problems],
            "import_ms": self.import_ms,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> PluginEntry:
        """Read what :meth:`to_dict` returned.

        Raises:
            KeyError, TypeError, ValueError, ToolDefinitionError: it is not an entry.
        """
        return cls(
            data["name"],
            [ToolEntry.from_dict(each) for each in data["tools"]],
            [ToolGroupDefinition(**each) for each in data["groups"]],
            [
                Registration(each["hook"], data["name"], each["name"], each["target"], each["options"])
                for each in data["registrations"]
            ],
            list(data["manifests"]),
            dict(data["hooks"]),
            [PluginProblem(**each) for each in data["problems"]],
            data["import_ms"],
        )


def _as_dict(value: HookOptions | PluginProblem) -> dict[str, Any]:
    return {each.name: getattr(value, each.name) for each in fields(value)}
