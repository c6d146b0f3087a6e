"""Records of installed plugins, and their tools, whose code is imported at the first use."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from oneclaw_core.errors import PluginError
from oneclaw_core.plugins.registration.entry import ReportsProblems

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from importlib.resources.abc import Traversable
    from pathlib import Path

    from oneclaw_core.capabilities.declaration import Declaration
    from oneclaw_core.plugins.catalogue.discovery import InstalledPlugin
    from oneclaw_core.plugins.registration.entry import HookOptions, PluginProblem, Registration
    from oneclaw_core.types.tool_definition import Tool


BUILTIN_PLUGIN = "builtin"
PROGRAM_PLUGIN = "program"
"""The name under which tools of an embedding program are listed."""
_NOT_REVIEWED = ("review.missing", "review.unreadable")

_log = logging.getLogger("oneclaw.plugins")


@dataclass(frozen=True, slots=True)
class Implementation:
    """A plugin's function for a hook.

    Attributes:
        plugin: the plugin's name.
        hook: the hook's name.
        function: sync or async.
        options: how it is called.
    """

    plugin: str
    hook: str
    function: Callable[..., Any]
    options: HookOptions


@dataclass(frozen=True, slots=True)
class LoadedPlugin:
    """An imported plugin.

    Attributes:
        name: of the plugin.
        implementations: of event and lifecycle hooks, by the hook's name.
        registrations: what it registered by name, with the objects where this process has them.
        tools: the objects of tools that no manifest declares, by name.
    """

    name: str
    implementations: Mapping[str, Implementation] = field(default_factory=dict)
    registrations: tuple[Registration, ...] = ()
    tools: Mapping[str, Tool] = field(default_factory=dict)


class RunningImport(Protocol):
    """An import that was started; waiting for it raises ``PluginError`` if it fails."""

    def wait(self) -> Any:
        """Return what was imported."""
        ...

    async def wait_async(self) -> Any:
        """Do the same without blocking the event loop."""
        ...


@dataclass(slots=True)
class PluginRecord(ReportsProblems):
    """A plugin that is installed, and what became of it.

    Attributes:
        name: of its entry point.
        distribution: the installed package, ``None`` if unknown.
        version: of the package.
        target: what the entry point names.
        is_disabled: whether the user disabled it.
        import_ms: how long importing it and calling its hooks took, in milliseconds.
        tools, groups, providers, skills: the names of what it registered.
        manifests: the paths of the manifests it registered.
        registrations: what else it registered, by name.
        hooks: the event and lifecycle hooks that it implements, and how.
        withheld: what it registered by names that belong to other distributions, such as ``tool read_file``.
        problems: what went wrong.
        start_import: starts the import of the plugin, or of an object of it, given its name ``module:attribute``.
        loaded: the imported plugin, where it was given as an object.
        known_causes: of problems that the user was already told about.
        has_own_loop: True if its async code runs on an event loop of its own; False for an object of the program.
        source: the tool source, as ``PLUGIN NAME``, that is listed like a plugin by this record; ``None`` for a plugin.
        installed: its entry point and files; ``None`` for a plugin that is not installed.
        declaration: what it may do of what its ``capabilities.json`` names; ``None`` where nothing is held to that.
    """

    name: str
    distribution: str | None = None
    version: str | None = None
    target: str = ""
    is_disabled: bool = False
    import_ms: float | None = None
    tools: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    providers: list[str] = field(default_factory=list)
    skills: list[str] = field(default_factory=list)
    manifests: list[str] = field(default_factory=list)
    registrations: list[Registration] = field(default_factory=list)
    hooks: dict[str, HookOptions] = field(default_factory=dict)
    withheld: list[str] = field(default_factory=list)
    problems: list[PluginProblem] = field(default_factory=list)
    start_import: Callable[[str | None], RunningImport] | None = field(default=None, repr=False)
    loaded: LoadedPlugin | None = field(default=None, repr=False)
    known_causes: frozenset[str] = frozenset()
    has_own_loop: bool = True
    source: str | None = None
    installed: InstalledPlugin | None = field(default=None, repr=False)
    declaration: Declaration | None = field(default=None, repr=False)
    _imports: dict[str | None, RunningImport] = field(default_factory=dict, repr=False)

    @property
    def status(self) -> str:
        """``disabled``, ``not reviewed``, ``failed`` (nothing of it works), ``degraded`` (some does not) or ``ok``."""
        if self.is_disabled:
            return "disabled"
        if any(problem.check in _NOT_REVIEWED for problem in self.problems):
            return "not reviewed"
        if not self.withheld and not any(problem.is_error for problem in self.problems):
            return "ok"
        registered = (
            self.tools,
            self.groups,
            self.providers,
            self.skills,
            self.registrations,
            self.hooks,
            self.withheld,
        )
        return "degraded" if any(registered) else "failed"

    @property
    def package(self) -> str | None:
        """The distribution with its version, such as ``oneclaw-pdf 0.1.0``."""
        return f"{self.distribution} {self.version}" if self.distribution else None

    async def load(self) -> LoadedPlugin:
        """Return the plugin, which is imported at its first use.

        Raises:
            PluginError: it cannot be imported.
        """
        return self.loaded or await self._import(None).wait_async()

    def load_now(self) -> LoadedPlugin:
        """Do the same in a program without an event loop."""
        return self.loaded or self._import(None).wait()

    async def load_object(self, registration: Registration) -> Any:
        """Return what the plugin registered by name.

        Raises:
            PluginError: it cannot be imported, or is not registered any more.
        """
        if registration.value is not None:
            return registration.value
        if registration.target is None:
            return _found(registration, await self.load())
        return await self._import(registration.target).wait_async()

    def load_object_now(self, registration: Registration) -> Any:
        """Do the same in a program without an event loop."""
        if registration.value is not None:
            return registration.value
        if registration.target is None:
            return _found(registration, self.load_now())
        return self._import(registration.target).wait()

    def add(self, problem: PluginProblem, *, is_logged: bool = True) -> None:
        """Note a problem, and log it unless the user was told about it before."""
        if problem in self.problems:
            return
        self.problems.append(problem)
        if not is_logged or problem.cause in self.known_causes:
            return
        about = f"plugin {self.name} ({self.package or '?'}): {problem.where}: {problem.cause}; {problem.remedy}"
        if problem.is_error:
            command = f"oneclaw plugins disable {self.name}"
            hint = "" if command in problem.remedy else f"; or disable the plugin with: {command}"
            _log.warning("%s%s", about, hint, extra={"is_shown_once": True})
        else:
            _log.info("%s", about)

    def _import(self, target: str | None) -> RunningImport:
        found = self._imports.get(target)
        if found is None:
            if self.start_import is None:
                raise PluginError(
                    f"the plugin {self.name} cannot be used: see oneclaw plugins list; disable it with: oneclaw "
                    f"plugins disable {self.name}"
                )
            found = self._imports[target] = self.start_import(target)
        return found


def _found(registration: Registration, loaded: LoadedPlugin) -> Any:
    for each in loaded.registrations:
        if (each.hook, each.name) == (registration.hook, registration.name):
            return each.value
    raise PluginError(
        f"the plugin {registration.plugin} does not register {registration.name!r} any more: upgrade it, or leave it "
        f"out with: oneclaw plugins disable {registration.plugin}"
    )


@dataclass(frozen=True, slots=True)
class PluginSkill:
    """The folder of a skill that a plugin registered; it is read when somebody asks for skills.

    Attributes:
        folder: with its ``SKILL.md``.
        record: the plugin.
    """

    folder: Path | Traversable
    record: PluginRecord
