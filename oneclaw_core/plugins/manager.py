"""The plugin manager: pluggy validates hooks and calls the registration hooks of one plugin at a time."""

from __future__ import annotations

import inspect
import logging
import threading
import time
import warnings
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pluggy

from oneclaw_core import hookspecs
from oneclaw_core.config.plugin_settings import describe_settings
from oneclaw_core.errors import PluginError, describe_error
from oneclaw_core.hookspecs import HOOK_KINDS, WRAPPABLE_KINDS, HookKind
from oneclaw_core.plugins import isolation
from oneclaw_core.plugins.distributions import is_ours
from oneclaw_core.plugins.plugin import MAX_TIMEOUT_SECONDS, EventHook, Loaded, Plugin, PluginProblem
from oneclaw_core.plugins.registrars import REGISTRARS
from oneclaw_core.process.process_state import restored

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oneclaw_core.tools.registry import ToolRegistry

IMPORT = "import"
_log = logging.getLogger("oneclaw.plugins")


class PluginManager(pluggy.PluginManager):
    """The pluggy manager of one program.

    Args:
        registry: passed to ``register_tools``, for tools that need to know the others.

    Attributes:
        step: what each plugin does now: its import or a hook.
    """

    def __init__(self, registry: ToolRegistry) -> None:
        super().__init__("oneclaw")
        self.add_hookspecs(hookspecs)
        self.step: dict[str, str] = {}
        self._registry = registry
        self._lock = threading.Lock()

    def describe(self, plugin: Plugin) -> None:
        """Import a plugin and call its registration hooks; whatever goes wrong is among its problems."""
        started = time.perf_counter()
        self.step[plugin.name] = IMPORT
        plugin.registrations, plugin.hooks = [], {}
        loaded = None
        try:
            implementation = plugin.load_target()
        except BaseException as error:  # noqa: BLE001  # a foreign import may raise anything, such as SystemExit
            self._report(plugin, IMPORT, error, "import.exits" if isinstance(error, SystemExit) else "import.fails")
        else:
            loaded = self._registered(plugin, implementation)
        if loaded is not None:
            plugin.hooks = {name: dict(each.options) for name, each in loaded.hooks.items()}
        plugin.loaded = loaded if plugin.given is not None else None
        plugin.import_ms = (time.perf_counter() - started) * 1000
        describe_settings(plugin)

    def load(self, plugin: Plugin) -> Loaded:
        """Import a plugin for use: with its objects; problems were reported when it was described.

        Raises:
            PluginError: it cannot be used.
        """
        loading = replace(plugin, registrations=[], problems=[], known_causes=None)
        loaded = self._registered(loading, plugin.load_target())
        if loaded is None:
            faults = (each.cause for each in loading.problems if each.is_error or each.check == "hooks.none")
            raise PluginError(next(faults))
        return loaded

    def _registered(self, plugin: Plugin, implementation: Any) -> Loaded | None:
        """Have pluggy register a plugin, call its registration hooks, and have pluggy forget it."""
        if implementation is None:
            plugin.report(IMPORT, "the entry point names None", "name a module with hooks", check="import.nothing")
            return None
        implementation = _hashable(implementation)
        try:
            if not self._add(plugin, implementation):
                return None
            hooks = {
                caller.name: EventHook(caller.name, each.function, _options(each, caller.spec.argnames))
                for caller, each in self._implementations(implementation)
                if caller.spec is not None and HOOK_KINDS[caller.name] is not HookKind.REGISTRATION
            }
            self._call_registration_hooks(plugin, implementation)
        finally:
            with self._lock:
                # It may be registered in part, or under another name too.
                if self.is_registered(implementation):
                    self.unregister(implementation)
        rows = {(each.hook, each.name): each for each in reversed(plugin.registrations)}
        return Loaded(rows, hooks)

    def _add(self, plugin: Plugin, implementation: Any) -> bool:
        """Have pluggy validate a plugin; return False if it cannot be used."""
        with self._lock, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", DeprecationWarning)
            try:
                self.register(implementation, plugin.name)
            except Exception as error:  # noqa: BLE001  # pluggy looks into a foreign object
                remedy = "take only arguments that the hook has; see oneclaw_core.hookspecs"
                plugin.report("hooks", describe_error(error), remedy, check="hooks.arguments")
                return False
        for each in caught:  # its own words name the replacement
            remedy = "change it before the next contract version"
            plugin.report("hooks", str(each.message), remedy, is_error=False, check="hooks.deprecated")
        faults = list(self._faults(implementation))
        for fault in faults:
            plugin.add(fault)
        return not any(fault.is_error or fault.check == "hooks.none" for fault in faults)

    def _call_registration_hooks(self, plugin: Plugin, implementation: Any) -> None:
        implemented = {caller.name for caller, _ in self._implementations(implementation)}
        for registrar in [each for each in REGISTRARS if each.hook in implemented]:
            with self._lock:
                # Of this plugin alone: a hook that raises costs no other.
                call = self.subset_hook_caller(registrar.hook, self.get_plugins() - {implementation})
            self.step[plugin.name] = registrar.hook
            try:
                call(register=registrar(plugin, self._registry))
            except BaseException as error:  # noqa: BLE001  # a foreign hook may raise anything
                check = "hooks.exits" if isinstance(error, SystemExit) else "hooks.raises"
                self._report(plugin, registrar.hook, error, check)

    def _implementations(self, implementation: Any) -> Iterator[tuple[pluggy.HookCaller, pluggy.HookImpl]]:
        for caller in self.get_hookcallers(implementation) or ():
            for each in caller.get_hookimpls():
                if each.plugin is implementation:
                    yield caller, each

    def _faults(self, implementation: Any) -> Iterator[PluginProblem]:
        """Find what pluggy does not: hooks that are never called, or cannot be."""
        found = list(self._implementations(implementation))
        names = [caller.name for caller, _ in found]
        if not found:
            name = getattr(implementation, "__name__", None) or type(implementation).__name__
            remedy = "mark its functions with @oneclaw_core.hookimpl"
            yield _fault(f"{name} implements no hook", remedy, "hooks.none", is_error=False)
            return
        for name in (HOOK_KINDS.keys() & dir(implementation)) - set(names):
            function = inspect.getattr_static(implementation, name, None)
            if inspect.isfunction(function) or inspect.ismethod(function):
                cause = f"the function {name} is named like a hook, and is not marked as one: it is not called"
                remedy = "put @oneclaw_core.hookimpl before it, or rename it"
                yield _fault(cause, remedy, "hooks.unmarked", is_error=False)
        for name in sorted({name for name in names if names.count(name) > 1}):
            yield _fault(f"several of its functions implement the hook {name}", "make one of them", "hooks.event")
        for caller, each in found:
            if caller.has_spec():
                yield from _faults_of(caller.name, each)
            elif not each.optionalhook:
                reason = f"this OneClaw has no such hook (plugin contract {hookspecs.CONTRACT_VERSION})"
                remedy = f"{reason}: correct its name, or upgrade oneclaw-core"
                yield _fault(f"unknown hook {caller.name!r}", remedy, "hooks.unknown", is_error=False)

    def _report(self, plugin: Plugin, step: str, error: BaseException, check: str) -> None:
        _log.debug("%s of plugin %s", step, plugin.name, exc_info=error)
        plugin.report(step, isolation.raised_cause(error), plugin.remedy, check=check)


class Looker:
    """Looks at plugins in this process, each in a daemon thread with a time limit.

    Args:
        registry: passed to ``register_tools``.

    Attributes:
        manager: the plugin manager.
    """

    def __init__(self, registry: ToolRegistry) -> None:
        self._registry = registry
        self.manager = PluginManager(registry)

    def look(self, plugin: Plugin) -> None:
        """Find out what a plugin registers, and undo what the import of another's does to the process."""
        look = partial(self.manager.describe, plugin)
        with nullcontext() if is_ours(plugin) else restored(plugin):
            try:
                isolation.ForeignCall(look, f"look at {plugin.name}", isolation.LOAD_SECONDS).wait()
            except TimeoutError:
                step = self.manager.step[plugin.name]
                cause = f"it did not end within {isolation.LOAD_SECONDS:g} s"
                plugin.report(step, cause, plugin.remedy, check="import.hangs" if step == "import" else "hooks.hangs")
                self.manager = PluginManager(self._registry)  # the thread that goes on has the other one


class _ByIdentity:
    """Stands in for a plugin that has no hash, such as a dataclass: pluggy keeps plugins in sets."""

    def __init__(self, plugin: Any) -> None:
        self.__name__ = getattr(plugin, "__name__", type(plugin).__name__)
        for name in dir(plugin):
            if not name.startswith("__") and callable(inspect.getattr_static(plugin, name, None)):
                setattr(self, name, getattr(plugin, name))


def _hashable(implementation: Any) -> Any:
    try:
        hash(implementation)
    except Exception:  # noqa: BLE001  # a foreign object
        return _ByIdentity(implementation)
    return implementation


def _fault(cause: str, remedy: str, check: str, *, is_error: bool = True) -> PluginProblem:
    return PluginProblem("hooks", cause, remedy, is_error, check)


def _faults_of(hook: str, mark: pluggy.HookImpl) -> Iterator[PluginProblem]:
    kind, is_async = HOOK_KINDS[hook], inspect.iscoroutinefunction(mark.function)
    if kind is HookKind.REGISTRATION and is_async:
        yield _fault(f"the hook {hook} is an async function", "write it without async", "hooks.async")
    elif (fault := _wrapper_fault(kind, mark) or _function_fault(kind, mark, is_async=is_async)) is not None:
        yield _fault(f"the hook {hook} cannot be called: {fault[0]}", fault[1], "hooks.event")


def _wrapper_fault(kind: HookKind, mark: pluggy.HookImpl) -> tuple[str, str] | None:
    if mark.hookwrapper:
        return "it is a hook wrapper of the old form", "mark it with wrapper=True"
    if mark.wrapper and kind not in WRAPPABLE_KINDS:
        reason = "it has no others" if kind is HookKind.LIFECYCLE else "no plugin may overrule what another one does"
        return f"a {kind} hook takes no wrapper, because {reason}", "implement the hook itself"
    return None


def _function_fault(kind: HookKind, mark: pluggy.HookImpl, *, is_async: bool) -> tuple[str, str] | None:
    """Return why a function cannot be called as an event hook and the remedy, ``None`` if it can."""
    function, is_around = mark.function, kind is HookKind.AROUND
    if kind is HookKind.REGISTRATION:
        return None
    if inspect.isasyncgenfunction(function) or (inspect.isgeneratorfunction(function) and not mark.wrapper):
        return "it is a generator", "decorate it with contextlib.contextmanager" if is_around else "return a value"
    if is_around and is_async:
        return "it is an async function", "write it without async"
    given = getattr(function, "oneclaw_options", {})
    seconds, tools = given.get("timeout_seconds"), given.get("tools")
    if seconds is not None and not (isinstance(seconds, int | float) and 0 < seconds <= MAX_TIMEOUT_SECONDS):
        return f"its timeout_seconds is {seconds!r}", f"use a number above 0, at most {MAX_TIMEOUT_SECONDS:g}"
    if tools is not None and not all(isinstance(each, str) for each in tools):
        return "its tools are not names", "name tools or tool groups"
    return None


def _options(mark: pluggy.HookImpl, known: tuple[str, ...]) -> dict[str, Any]:
    """Return the options of an event hook as JSON data; what has its default is left out."""
    order = {name: getattr(mark, name) for name in ("tryfirst", "trylast", "wrapper")}
    given = {**getattr(mark.function, "oneclaw_options", {}), **order}
    return {
        # A parameter with a default that this version of the hook does not have keeps its default.
        "argument_names": [each for each in (*mark.argnames, *mark.kwargnames) if each in known],
        "is_async": inspect.iscoroutinefunction(mark.function),
        **{name: value for name, value in given.items() if value not in (None, False)},
    }
