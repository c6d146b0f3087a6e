"""Describing a plugin: import it, call its registration hooks, and note in its entry what they register."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import PluginError, describe_error
from oneclaw_core.plugins.registration.entry import PluginEntry, import_target
from oneclaw_core.plugins.registration.hook_marks import implementations_of
from oneclaw_core.plugins.registration.record import LoadedPlugin
from oneclaw_core.plugins.registration.registrars import REGISTRARS, GroupRegistrar, SkillRegistrar, ToolRegistrar

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.resources.abc import Traversable
    from pathlib import Path

    import pluggy

    from oneclaw_core.plugins.registration.hook_marks import PluginContract
    from oneclaw_core.plugins.registration.named_registrars import Registrar
    from oneclaw_core.tools.registry import ToolRegistry
    from oneclaw_core.types.tool_definition import Tool

IMPORT = "import"

_log = logging.getLogger("oneclaw.plugins")


class Description:
    """One import of a plugin, with its registration hooks.

    Attributes:
        entry: what it registers, and what is wrong with it.
        step: what runs now: the import or a hook.
        tell: called with each step before it runs.
    """

    def __init__(
        self,
        name: str,
        load: Callable[[], Any],
        contract: PluginContract,
        registry: ToolRegistry,
        package: str | None = None,
    ) -> None:
        self.entry = PluginEntry(name)
        self.step = IMPORT
        self.tell: Callable[[str], None] = lambda step: None
        self._load = load
        self._contract = contract
        self._registry = registry
        self._package = package
        self._marks: dict[str, pluggy.HookImpl] = {}

    def make(self) -> PluginEntry:
        """Import the plugin and call all registration hooks; whatever goes wrong is among the entry's problems."""
        started = time.perf_counter()
        if self._import():
            entry = self.entry
            self._call(GroupRegistrar(entry))
            self._call(ToolRegistrar(entry, self._registry))
            for registrar in REGISTRARS:
                self._call(registrar(entry))
            self._describe_settings()
            entry.hooks = {hook: each.options.to_dict() for hook, each in self._implementations().items()}
        self.entry.import_ms = (time.perf_counter() - started) * 1000
        return self.entry

    def load(self) -> LoadedPlugin:
        """Import the plugin for use: with its functions and objects, but without checking its definitions again.

        Raises:
            PluginError: it cannot be imported.
        """
        if not self._import():
            problem = next(each for each in self.entry.problems if each.is_error or each.check == "hooks.none")
            raise PluginError(problem.cause)
        collector = _ObjectCollector(self.entry, self._registry)
        self._call(collector)
        for registrar in REGISTRARS:
            if registrar is not SkillRegistrar:
                self._call(registrar(self.entry))
        return LoadedPlugin(self.entry.name, self._implementations(), tuple(self.entry.registrations), collector.tools)

    def loaded(self) -> LoadedPlugin:
        """Return the plugin that :meth:`make` has imported."""
        tools = {each.definition.name: each.tool for each in reversed(self.entry.tools) if each.tool is not None}
        return LoadedPlugin(self.entry.name, self._implementations(), tuple(self.entry.registrations), tools)

    def report_hang(self, seconds: float) -> None:
        """Report that the step that runs now did not end."""
        is_import = self.step == IMPORT
        check = "import.hangs" if is_import else "hooks.hangs"
        cause = f"it did not end within {seconds:g} s"
        self.entry.report(self.step, cause, leaving_out(self.entry.name, self._package), check=check)

    def _import(self) -> bool:
        try:
            plugin = self._load()
        except BaseException as error:  # noqa: BLE001  # a foreign import may raise anything, such as SystemExit
            check = "import.exits" if isinstance(error, SystemExit) else "import.fails"
            self._report(IMPORT, error, check)
            return False
        if plugin is None:
            self.entry.report(IMPORT, "the entry point names None", "name a module with hooks", check="import.nothing")
            return False
        self._marks = self._contract.marks(plugin, self.entry)
        return bool(self._marks)

    def _call(self, register: Registrar) -> None:
        hook = register.hook
        mark = self._marks.get(hook)
        if mark is None:
            return
        self.step = hook
        self.tell(hook)
        known = {"register": register, "cli": register}
        try:
            mark.function(*(known[name] for name in mark.argnames))
        except BaseException as error:  # noqa: BLE001  # a foreign hook may raise anything
            self._report(hook, error, "hooks.exits" if isinstance(error, SystemExit) else "hooks.raises")

    def _describe_settings(self) -> None:
        """Note the fields of the plugin's settings, so that none of the program's listings imports the model."""
        registrations = self.entry.registrations
        for place, registration in enumerate(registrations):
            if registration.hook != "register_settings" or "schema" in registration.options:
                continue
            from oneclaw_core.plugins.registration.settings import with_schema

            self.step = registration.hook
            try:
                model = registration.value
                if model is None:
                    model = import_target(registration.target or "")
                registrations[place] = with_schema(registration, model)
            except BaseException as error:  # noqa: BLE001  # a foreign import may raise anything
                self.entry.report(
                    registration.hook, raised_cause(error), "register one pydantic model", check="hooks.target"
                )
                del registrations[place]
            return  # there is one at most

    def _report(self, step: str, error: BaseException, check: str) -> None:
        _log.debug("%s of plugin %s", step, self.entry.name, exc_info=error)
        self.entry.report(step, raised_cause(error), leaving_out(self.entry.name, self._package), check=check)

    def _implementations(self) -> dict[str, Any]:
        return implementations_of(self.entry.name, self._marks)


def raised_cause(error: BaseException) -> str:
    """Return what a plugin raised, as the cause of a problem."""
    if isinstance(error, KeyboardInterrupt):
        return "it raised KeyboardInterrupt, though Ctrl-C was not pressed"
    return str(error) if isinstance(error, PluginError) else describe_error(error)


def leaving_out(name: str, package: str | None) -> str:
    """Return the remedy for a plugin that does not work."""
    return f"upgrade {package or 'its package'}, or disable it with: oneclaw plugins disable {name}"


@dataclass(slots=True)
class _ObjectCollector(ToolRegistrar):
    """Registrar that only keeps tools, for a plugin whose entry is known."""

    tools: dict[str, Tool] = field(default_factory=dict)

    def __call__(self, tool: Tool, *, group: str | None = None) -> None:  # the entry says it
        """Keep a tool."""
        name = getattr(tool, "name", None)
        self.tools.setdefault(name if isinstance(name, str) else tool.definition.name, tool)

    def manifest(self, path: Path | Traversable, *, module: str | None = None) -> None:
        """Leave out a manifest, whose tools need no object."""
