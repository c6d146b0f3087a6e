"""Facts about a plugin that the child processes report, as plain data."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003  # pydantic reads the annotations
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ParameterFacts:
    """A parameter of the function behind a tool.

    Attributes:
        name: as written.
        is_required: whether it has no default.
        is_positional_only: whether it cannot be given by name.
    """

    name: str
    is_required: bool
    is_positional_only: bool = False


@dataclass(frozen=True, slots=True)
class TargetFacts:
    """Result of importing the function that a manifest names.

    Attributes:
        place: ``module:attribute``.
        fault: why it cannot be called, ``None`` if it can; begins with ``module``, ``function`` or ``callable``.
        parameters: without those that take the ``ToolContext``; ``None`` if they cannot be told.
        context_names: the parameters that take it.
        takes_any: whether it takes any name (``**``).
        is_async: whether it is an async function.
    """

    place: str
    fault: str | None = None
    parameters: tuple[ParameterFacts, ...] | None = None
    context_names: tuple[str, ...] = ()
    takes_any: bool = False
    is_async: bool = False


@dataclass(frozen=True, slots=True)
class ToolFacts:
    """A tool that the plugin registered.

    Attributes:
        name: of the tool.
        description: what a model is told.
        parameters: its JSON Schema, ``None`` if JSON cannot hold it.
        required_permissions: as declared.
        timeout_seconds: as declared.
        group: its tool group.
        isolation: ``"process"`` or ``None``.
        target: of a tool from a manifest.
        is_asking: whether its code looks as if it asked for permissions itself.
    """

    name: str
    description: str
    parameters: Mapping[str, Any] | None
    required_permissions: tuple[str, ...] = ()
    timeout_seconds: float = 30
    group: str | None = None
    isolation: str | None = None
    target: TargetFacts | None = None
    is_asking: bool = False

    @property
    def where(self) -> str:
        """Its name in a finding."""
        return f"tool {self.name}"

    @property
    def properties(self) -> Mapping[str, Any]:
        """The schemas of its parameters by name."""
        found = (self.parameters or {}).get("properties")
        return found if isinstance(found, dict) else {}


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """A tool group that has tools of the plugin, or that it declares.

    Attributes:
        name: of the group.
        description: what a model is told.
        is_declared: whether the plugin gave it its texts.
        tools: how many tools it has.
    """

    name: str
    description: str
    is_declared: bool
    tools: int


@dataclass(frozen=True, slots=True)
class ProblemFacts:
    """A problem that the loader reported; see :class:`oneclaw_core.plugins.plugin.PluginProblem`."""

    where: str
    cause: str
    remedy: str
    is_error: bool
    check: str = ""
    pointer: str = ""


@dataclass(frozen=True, slots=True)
class StepFacts:
    """A step of loading: the import, a hook, the import of a function that a manifest names.

    Attributes:
        name: such as ``import`` or ``register_tools``.
        milliseconds: how long it took.
        printed: the beginning of what it printed on standard output.
        changes: what it changed of the process.
    """

    name: str
    milliseconds: float
    printed: str = ""
    changes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PluginFacts:
    """Everything that a plugin registered when it was loaded.

    Attributes:
        name: of its entry point.
        problems: what the loader reported.
        tools, groups, skills: what it registered.
        others: the names of providers, workers and everything else that it registered.
        files: the paths of the manifests and skills that it registered.
        meanings: of permissions, that its groups say.
    """

    name: str
    problems: tuple[ProblemFacts, ...] = ()
    tools: tuple[ToolFacts, ...] = ()
    groups: tuple[GroupFacts, ...] = ()
    skills: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    meanings: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """True if it registered nothing."""
        return not (self.tools or self.groups or self.skills or self.others)


@dataclass(frozen=True, slots=True)
class NeighbourFacts:
    """Another plugin that is installed, and the names it takes.

    Attributes:
        plugin: its name.
        package: its distribution.
        tools: their names.
        groups: their descriptions by name.
        providers: the provider types.
        meanings: of permissions, that its groups say.
    """

    plugin: str
    package: str | None
    tools: tuple[str, ...] = ()
    groups: Mapping[str, str] = field(default_factory=dict)
    providers: tuple[str, ...] = ()
    meanings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CallFacts:
    """One call of a tool, and what came of it.

    Attributes:
        tool: its name.
        case: which arguments, such as ``hostile text``.
        arguments: the beginning of their JSON.
        status: ``success`` or ``error``.
        error_type: of an error.
        text: the beginning of the result.
        size_characters: how long that is as a whole.
        printed: the beginning of what the call printed on standard output.
        changes: what it changed of the process.
        guarded: what it was kept from, such as ``write: /etc/passwd``.
        observed: hosts and programs that it used or asked for, such as ``host: a.example``.
        leaks: what came out that must not: ``key``, ``file`` or ``traceback``.
        raised: the type of the exception that the tool raised, ``None`` if it raised none.
        misfits: what of the result does not fit the schema that the tool declares.
    """

    tool: str
    case: str
    arguments: str
    status: str
    error_type: str | None = None
    text: str = ""
    size_characters: int = 0
    printed: str = ""
    changes: tuple[str, ...] = ()
    guarded: tuple[str, ...] = ()
    observed: tuple[str, ...] = ()
    leaks: tuple[str, ...] = ()
    raised: str | None = None
    misfits: tuple[str, ...] = ()
