"""The catalogue entry of a plugin: everything that it registers, as JSON data that can be cached.

An installed plugin always reaches the registry by its entry, so that a listing imports no plugin.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from oneclaw_core.plugins.registration.record import PluginProblem, new_problem
from oneclaw_core.plugins.registration.registrations import Registration
from oneclaw_core.tools.definition import ToolDefinition
from oneclaw_core.tools.toolset import ToolGroupDefinition

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_core.tools.definition import Tool


@dataclass(frozen=True, slots=True)
class ToolEntry:
    """A tool that a plugin registers.

    Attributes:
        definition: what a model is told about it.
        group: the tool group it belongs to, ``None`` for a core tool.
        target: the function of a manifest's tool, as ``module:attribute``; ``None`` if only the loaded plugin has it.
        origin: what names the target, for messages.
        isolation: ``"process"`` if it runs in a process of its own.
        asks_itself: True if its function asks for the permissions that it requires.
        checks_own_arguments: True if the executor leaves the arguments to the tool.
        tool: the object, where this process has it; not cached.
    """

    definition: ToolDefinition
    group: str | None = None
    target: str | None = None
    origin: str = ""
    isolation: str | None = None
    asks_itself: bool = False
    checks_own_arguments: bool = False
    tool: Tool | None = field(default=None, compare=False, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the tool as JSON data, its parameters as JSON text."""
        definition = self.definition
        return {
            "name": definition.name,
            "description": definition.description,
            "parameters": definition.parameters_text(),
            "required_permissions": list(definition.required_permissions),
            "timeout_seconds": definition.timeout_seconds,
            "group": self.group,
            "target": self.target,
            "origin": self.origin,
            "isolation": self.isolation,
            "asks_itself": self.asks_itself,
            "checks_own_arguments": self.checks_own_arguments,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ToolEntry:
        """Read what :meth:`to_dict` returned; the definition was checked when it was described."""
        definition = ToolDefinition.stored(
            data["name"],
            data["description"],
            data["parameters"],
            tuple(data["required_permissions"]),
            data["timeout_seconds"],
        )
        return cls(
            definition,
            data["group"],
            data["target"],
            data["origin"],
            data["isolation"],
            data["asks_itself"],
            data["checks_own_arguments"],
        )


@dataclass(slots=True)
class PluginEntry:
    """Everything that a plugin registers, and what is wrong with it.

    Attributes:
        name: of the plugin.
        tools: in the order of their registration.
        groups: metadata of tool groups, likewise.
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

    def report(
        self, where: str, cause: str, remedy: str, *, is_error: bool = True, check: str = "", pointer: str = ""
    ) -> None:
        """Note a problem."""
        problem = new_problem(where, cause, remedy, is_error=is_error, check=check, pointer=pointer)
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
            KeyError, TypeError, ValueError, ToolDefinitionError: it is no entry.
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
