"""A plugin and what it registers: the two nouns that the rest of OneClaw knows plugins by.

``Catalog.plugins`` holds every plugin, and ``Plugin.registrations`` one row for each thing that it registers: tools and
groups too. They are data, known without importing the plugin.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, fields
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple

from oneclaw_core.secrets.redaction import redact
from oneclaw_core.types.tool_groups import ToolGroupDefinition
from oneclaw_core.types.tools import ToolBehaviour, ToolDefinition

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from importlib.resources.abc import Traversable
    from pathlib import Path

    from oneclaw_core.capabilities.declaration import Declaration
    from oneclaw_core.plugins.isolation import ForeignCall

BUILTIN_PLUGIN, BUILTIN_TARGET = "builtin", "oneclaw_core.builtin"
PROGRAM_PLUGIN = "program"
"""The name under which tools of an embedding program are listed."""
GROUP_HOOK, TOOL_HOOK, PROVIDER_HOOK = "register_groups", "register_tools", "register_providers"
SKILL_HOOK, SETTINGS_HOOK, CHECK_HOOK = "register_skills", "register_settings", "register_checks"
PRECONFIGURED_HOOK = "register_providers.preconfigured"
"""Names registrations of preconfigured providers, which are made in the hook ``register_providers``."""
SOURCE_HOOK, MANIFEST_HOOK = "register_tools.source", "register_tools.manifest"
"""Name registrations of tool sources and manifests, which are made in the hook ``register_tools``."""
COMMAND_GROUPS = frozenset(
    {"agents", "config", "groups", "keys", "models", "permissions", "plugins", "providers", "serve"}
    | {"sessions", "tools"}
)
"""The groups of OneClaw's own commands that plugins can extend."""
MAX_TIMEOUT_SECONDS = 600.0

LEFT_ALONE = "import.kills"
"""The check of a plugin that has ended a process, and is not imported again by itself."""
DOES_NOT_WORK = ("failed", "left alone", "not reviewed")
"""States of plugins of which nothing works."""
_NOT_REVIEWED = ("review.missing", "review.changed", "review.unreadable")
_MERGED_HOOKS = frozenset({GROUP_HOOK, TOOL_HOOK, PROVIDER_HOOK, PRECONFIGURED_HOOK, SKILL_HOOK, MANIFEST_HOOK})
_BEHAVIOUR = tuple(each.name for each in fields(ToolBehaviour) if each.name != "checked_schema")
_log = logging.getLogger("oneclaw.plugins")


@dataclass(frozen=True, slots=True)
class PluginProblem:
    """Something about a plugin that its author or user should fix.

    Attributes:
        where: the step or hook, such as ``import`` or ``register_tools``.
        cause: what is wrong, made one line without secrets.
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

    def __post_init__(self) -> None:
        object.__setattr__(self, "cause", " ".join(redact(self.cause).split()))

    def to_dict(self) -> dict[str, Any]:
        """Return the problem as JSON data."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


@dataclass(frozen=True, slots=True)
class Registration:
    """One thing that a plugin registers, such as a tool, a tool group or a command.

    Attributes:
        hook: the registration hook, such as ``register_services``.
        plugin: the plugin's name.
        name: unique among what the plugin registers by this hook.
        target: where the object is, as ``module:attribute``; ``None`` if only the loaded plugin has it.
        options: what else was given, as JSON data; of a tool ``group``, the name of its tool group.
        value: the object, where this process has it; not cached.
        definition: of a tool.
    """

    hook: str
    plugin: str
    name: str
    target: str | None
    options: Mapping[str, Any] = field(default_factory=dict)
    value: Any = field(default=None, compare=False, repr=False)
    definition: ToolDefinition | None = None

    @property
    def group(self) -> str | None:
        """The tool group of a tool; ``None`` for a core tool."""
        return self.options.get("group")

    @property
    def group_definition(self) -> ToolGroupDefinition:
        """The metadata of a tool group that is registered."""
        return ToolGroupDefinition.stored(self.name, **self.options)

    def to_dict(self) -> dict[str, Any]:
        """Return the registration as JSON data, without its object.

        Raises:
            ValueError, TypeError: JSON cannot hold it.
        """
        data = {"hook": self.hook, "name": self.name, "target": self.target, "options": dict(self.options)}
        if self.definition is not None:
            behaviour = {name: getattr(self.definition.behaviour, name) for name in _BEHAVIOUR}
            data["definition"] = self.definition.to_dict()
            data["behaviour"] = {name: value for name, value in behaviour.items() if value}
        return data

    @classmethod
    def from_dict(cls, plugin: str, data: Mapping[str, Any]) -> Registration:
        """Read what :meth:`to_dict` returned.

        Raises:
            KeyError, TypeError: it is something else.
        """
        definition = None
        if "definition" in data:
            definition = ToolDefinition.stored(data["definition"], ToolBehaviour(**data["behaviour"]))
        return cls(data["hook"], plugin, data["name"], data["target"], data["options"], definition=definition)


class EventHook(NamedTuple):
    """A plugin's function for an event or lifecycle hook.

    Attributes:
        hook: its name.
        function: sync or async.
        options: how it is called, as JSON data; see :class:`~oneclaw_core.plugins.running.calling.HookOptions`.
    """

    hook: str
    function: Callable[..., Any]
    options: Mapping[str, Any]


class Loaded(NamedTuple):
    """An imported plugin: its registrations with their objects, by hook and name, and its event hooks, by name."""

    registrations: Mapping[tuple[str, str], Registration]
    hooks: Mapping[str, EventHook]


@dataclass(slots=True)
class Plugin:
    """A plugin: where it is installed, what it registers, and what became of it.

    Attributes:
        name: of its entry point.
        target: what the entry point names, as ``module`` or ``module:attribute``.
        distribution: the installed package, ``None`` if unknown.
        version: of the package.
        metadata_problem: why the package does not go with this OneClaw, or cannot be read; ``None`` if all is well.
        files: that what it registers depends on.
        tree: the directory of its code where that can change without being installed again, else ``""``.
        registrations: what it registers, in this order; without what is ``withheld``.
        hooks: the event and lifecycle hooks that it implements, each with its options as JSON data.
        problems: what went wrong.
        import_ms: how long importing it and calling its registration hooks took, in milliseconds.
        is_disabled: True if the user disabled it.
        tools, groups, providers, skills: the names of what a catalog took of it.
        withheld: what it registered by names that belong to other distributions, such as ``tool read_file``.
        known_causes: of problems that the user was already told about; ``None`` to log none.
        has_own_loop: True if its async code runs on a separate event loop; False for an object of the program.
        source: the tool source, as ``PLUGIN NAME``, that is listed like a plugin; ``None`` for a plugin.
        given: returns the object with the hooks, for a plugin that is not installed.
        importer: imports the plugin, or an object of it, given its name ``module:attribute``.
        imports: of the plugin and its objects that were begun, see :mod:`oneclaw_core.plugins.first_use`.
        loaded: the imported plugin, where this process has it.
        declaration: what it may do of what its ``capabilities.json`` names; ``None`` where nothing is held to that.
    """

    name: str
    target: str = ""
    distribution: str | None = None
    version: str | None = None
    metadata_problem: PluginProblem | None = None
    files: tuple[str, ...] = ()
    tree: str = ""
    registrations: list[Registration] = field(default_factory=list)
    hooks: dict[str, dict[str, Any]] = field(default_factory=dict)
    problems: list[PluginProblem] = field(default_factory=list)
    import_ms: float | None = None
    is_disabled: bool = False
    tools: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    providers: list[str] = field(default_factory=list)
    skills: list[str] = field(default_factory=list)
    withheld: list[str] = field(default_factory=list)
    known_causes: frozenset[str] | None = frozenset()
    has_own_loop: bool = True
    source: str | None = None
    given: Callable[[], Any] | None = field(default=None, repr=False)
    importer: Callable[[str | None], Any] | None = field(default=None, repr=False)
    imports: dict[str | None, ForeignCall[Any]] = field(default_factory=dict, repr=False)
    loaded: Loaded | None = field(default=None, repr=False)
    declaration: Declaration | None = field(default=None, repr=False)

    @property
    def is_builtin(self) -> bool:
        """True for the built-in tools."""
        return self.name == BUILTIN_PLUGIN and self.target.partition(":")[0] == BUILTIN_TARGET

    @property
    def is_installed(self) -> bool:
        """True if it was found among the installed packages."""
        return self.given is None and self.source is None and self.name != PROGRAM_PLUGIN

    @property
    def is_unusable(self) -> bool:
        """True if it is not to be imported: it failed before, or was made for another OneClaw."""
        steps = ("import", "compatibility", "hooks")
        return self.is_unreviewed or any(each.is_error and each.where in steps for each in self.problems)

    @property
    def is_unreviewed(self) -> bool:
        """True if it is not to be loaded because the user has not reviewed it."""
        return any(each.check in _NOT_REVIEWED for each in self.problems)

    @property
    def status(self) -> str:
        """``disabled``, ``not reviewed``, ``left alone``, ``failed``, ``degraded`` or ``ok``.

        One that has ended the program is left alone. Of a degraded plugin some parts work, of a failed one none.
        """
        if self.is_disabled:
            return "disabled"
        if self.is_unreviewed:
            return "not reviewed"
        if any(each.check == LEFT_ALONE for each in self.problems):
            return "left alone"
        if not self.withheld and not any(problem.is_error for problem in self.problems):
            return "ok"
        others = [each for each in self.registrations if each.hook not in _MERGED_HOOKS]
        registered = (self.tools, self.groups, self.providers, self.skills, others, self.hooks, self.withheld)
        return "degraded" if any(registered) else "failed"

    @property
    def manifests(self) -> list[str]:
        """The paths of the manifests that it registers."""
        return [each.name for each in self.registrations if each.hook == MANIFEST_HOOK]

    @property
    def package(self) -> str | None:
        """The distribution with its version, such as ``oneclaw-pdf 0.1.0``."""
        return f"{self.distribution} {self.version}" if self.distribution else None

    @property
    def remedy(self) -> str:
        """The advice about a plugin that does not work."""
        return f"upgrade {self.distribution or 'its package'}, or disable it with: oneclaw plugins disable {self.name}"

    def take(self, other: Plugin) -> None:
        """Take over what another object knows of the same plugin."""
        self.registrations, self.hooks, self.import_ms = list(other.registrations), dict(other.hooks), other.import_ms
        for each in other.problems:
            self.add(each)

    def load_target(self) -> Any:
        """Import what the entry point names."""
        return self.given() if self.given is not None else import_target(self.target)

    def report(
        self, where: str, cause: str, remedy: str, *, is_error: bool = True, check: str = "", pointer: str = ""
    ) -> None:
        """Add a problem; see :class:`PluginProblem`."""
        self.add(PluginProblem(where, cause, remedy, is_error, check, pointer))

    def add(self, problem: PluginProblem, *, is_logged: bool = True) -> None:
        """Note a problem, and log it unless the user was told about it before."""
        if problem in self.problems:
            return
        self.problems.append(problem)
        if not is_logged or self.known_causes is None or problem.cause in self.known_causes:
            return
        about = f"plugin {self.name} ({self.package or '?'}): {problem.where}: {problem.cause}; {problem.remedy}"
        if problem.is_error:
            command = f"oneclaw plugins disable {self.name}"
            hint = "" if command in problem.remedy else f"; or disable the plugin with: {command}"
            _log.warning("%s%s", about, hint, extra={"is_shown_once": True})
        else:
            _log.info("%s", about)

    def to_dict(self) -> dict[str, Any]:
        """Return what can be cached of the plugin, as JSON data; a tool that JSON cannot hold becomes a problem."""
        rows = []
        for each in self.registrations:
            try:
                rows.append(each.to_dict())
            except (ValueError, TypeError, RecursionError) as error:
                cause = f"the parameters of tool {each.name!r} are no JSON data: {error}"
                self.report(TOOL_HOOK, cause, "correct the tool's definition", pointer="/parameters")
        problem = self.metadata_problem
        return {name: getattr(self, name) for name in _STORED} | {
            "metadata_problem": None if problem is None else problem.to_dict(),
            "registrations": rows,
            "problems": [each.to_dict() for each in self.problems],
            "known_causes": sorted(self.known_causes or ()),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Plugin:
        """Read what :meth:`to_dict` returned.

        Raises:
            KeyError, TypeError, ValueError: it is something else.
        """
        plugin = cls(**{name: data[name] for name in _STORED})
        plugin.files, plugin.hooks = tuple(plugin.files), dict(plugin.hooks)
        plugin.known_causes = frozenset(data["known_causes"])
        if data["metadata_problem"] is not None:
            plugin.metadata_problem = PluginProblem(**data["metadata_problem"])
        plugin.registrations = [Registration.from_dict(plugin.name, each) for each in data["registrations"]]
        plugin.problems = [PluginProblem(**each) for each in data["problems"]]
        return plugin


_STORED = ("name", "target", "distribution", "version", "files", "tree", "hooks", "import_ms")


class PluginSkill(NamedTuple):
    """The folder of a skill that a plugin registered; it is read when somebody asks for skills.

    Attributes:
        folder: with its ``SKILL.md``.
        record: the plugin.
    """

    folder: Path | Traversable
    record: Plugin


def import_target(target: str) -> Any:
    """Import what an entry point or a registration names, as ``module`` or ``module:attribute``."""
    return resolve_name(target if ":" in target else f"{target}:")
