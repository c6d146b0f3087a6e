"""What is known of an installed plugin, and what is wrong with it."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from oneclaw_core.errors import PluginError
from oneclaw_core.secrets import redact

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable
    from pathlib import Path

    import pluggy

    from oneclaw_core.plugins.implementations import HookOptions, LoadedPlugin
    from oneclaw_core.plugins.registrations import Registration

BUILTIN_PLUGIN = "builtin"

_log = logging.getLogger("oneclaw.plugins")


@dataclass(frozen=True, slots=True)
class PluginProblem:
    """Something about a plugin that its author or user should mend.

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


@dataclass(slots=True)
class PluginRecord:
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
        problems: what went wrong.
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
    problems: list[PluginProblem] = field(default_factory=list)
    loaded: LoadedPlugin | None = field(default=None, repr=False)
    manager: pluggy.PluginManager | None = field(default=None, repr=False)

    @property
    def status(self) -> str:
        """``disabled``, ``failed`` (nothing of it works), ``degraded`` (some does not) or ``ok``."""
        if self.is_disabled:
            return "disabled"
        if not any(problem.is_error for problem in self.problems):
            return "ok"
        registered = (self.tools, self.groups, self.providers, self.skills, self.registrations, self.hooks)
        return "degraded" if any(registered) else "failed"

    @property
    def package(self) -> str | None:
        """The distribution with its version, such as ``oneclaw-pdf 0.1.0``."""
        return f"{self.distribution} {self.version}" if self.distribution else None

    async def load(self) -> LoadedPlugin:
        """Return the imported plugin.

        Raises:
            PluginError: it cannot be imported.
        """
        if self.loaded is None:
            raise PluginError(f"plugin {self.name} is not loaded; disable it with: oneclaw plugins disable {self.name}")
        return self.loaded

    def report(
        self, where: str, cause: str, remedy: str, *, is_error: bool = True, check: str = "", pointer: str = ""
    ) -> None:
        """Note a problem, and log it."""
        problem = PluginProblem(where, " ".join(redact(cause).split()), remedy, is_error, check, pointer)
        if problem not in self.problems:
            self.problems.append(problem)
            level = logging.WARNING if is_error else logging.INFO
            _log.log(level, "plugin %s (%s): %s: %s", self.name, self.package or "?", where, problem.cause)


@dataclass(frozen=True, slots=True)
class PluginSkill:
    """The folder of a skill that a plugin registered; it is read when somebody asks for skills.

    Attributes:
        folder: with its ``SKILL.md``.
        record: the plugin.
    """

    folder: Path | Traversable
    record: PluginRecord
