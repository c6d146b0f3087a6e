"""The marks of a plugin's functions, read and checked against the hook specifications by pluggy."""

from __future__ import annotations

import inspect
import threading
import warnings
from inspect import signature
from typing import TYPE_CHECKING, Any

import pluggy

from oneclaw_core.errors import describe_error
from oneclaw_core.plugins import hookspecs
from oneclaw_core.plugins.hookspecs import HOOK_KINDS, HookKind
from oneclaw_core.plugins.registration.implementations import event_implementation, hook_fault

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_core.plugins.registration.entry import PluginEntry
    from oneclaw_core.plugins.registration.implementations import Implementation


class PluginContract:
    """The one pluggy manager, which reads marks and checks them; the hooks are called without it."""

    def __init__(self) -> None:
        self._manager = pluggy.PluginManager("oneclaw")
        self._manager.add_hookspecs(hookspecs)
        self._lock = threading.Lock()

    def marks(self, plugin: Any, entry: PluginEntry) -> dict[str, pluggy.HookImpl]:
        """Return the plugin's implementations, by the hook's name, and report what is wrong with them.

        Args:
            plugin: a module or an object.
            entry: gets the problems.
        """
        with self._lock:
            try:
                return self._read(plugin, entry)
            finally:
                # It may be registered in part, or under another name too.
                if self._manager.is_registered(plugin):
                    self._manager.unregister(plugin)

    def _read(self, plugin: Any, entry: PluginEntry) -> dict[str, pluggy.HookImpl]:
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", DeprecationWarning)
                self._manager.register(plugin, entry.name)
        except Exception as error:  # noqa: BLE001  # pluggy looks into a foreign object
            remedy = "take only arguments that the hook has; see oneclaw_core.plugins.hookspecs"
            entry.report("hooks", describe_error(error), remedy, check="hooks.arguments")
            return {}
        for warning in caught:
            # Its own words name the replacement.
            remedy = "change it before the next contract version"
            entry.report("hooks", str(warning.message), remedy, is_error=False, check="hooks.deprecated")
        callers = self._manager.get_hookcallers(plugin) or []
        marks = {caller.name: mark for caller in callers for mark in caller.get_hookimpls() if mark.plugin is plugin}
        if marks:
            self._check_unmarked(plugin, marks, entry)
        else:
            entry.report(
                "hooks",
                f"{getattr(plugin, '__name__', None) or type(plugin).__name__} implements no hook",
                "mark its functions with @oneclaw_core.hookimpl",
                is_error=False,
                check="hooks.none",
            )
        for caller in callers:
            self._check(caller.name, marks[caller.name], caller.has_spec(), entry)
        if any(problem.is_error for problem in entry.problems):
            return {}
        return {caller.name: marks[caller.name] for caller in callers if caller.has_spec()}

    def _check(self, name: str, mark: pluggy.HookImpl, is_known: bool, entry: PluginEntry) -> None:
        kind = HOOK_KINDS.get(name, HookKind.REGISTRATION)
        if not is_known:
            if not mark.optionalhook:
                entry.report(
                    "hooks",
                    f"unknown hook {name!r}",
                    f"this OneClaw has no such hook (plugin contract {hookspecs.CONTRACT_VERSION}): correct its name, "
                    "or upgrade oneclaw-core",
                    is_error=False,
                    check="hooks.unknown",
                )
        elif kind is not HookKind.REGISTRATION:
            fault = hook_fault(name, mark)
            if fault is not None:
                cause = f"the hook {name} cannot be called: {fault[0]}"
                entry.report("hooks", cause, fault[1], check="hooks.event")
        elif inspect.iscoroutinefunction(mark.function):
            entry.report(
                "hooks", f"the hook {name} is an async function", "write it without async", check="hooks.async"
            )
        elif mark.wrapper or mark.hookwrapper:
            entry.report("hooks", f"the hook {name} is a hook wrapper", "implement the hook", check="hooks.event")

    def _check_unmarked(self, plugin: Any, marks: dict[str, pluggy.HookImpl], entry: PluginEntry) -> None:
        """Report functions with the names of hooks that are never called; pluggy ignores them."""
        for name in vars(self._manager.hook):
            if name not in marks and inspect.isfunction(inspect.getattr_static(plugin, name, None)):
                entry.report(
                    "hooks",
                    f"the function {name} is named like a hook, and is not marked as one: it is not called",
                    "put @oneclaw_core.hookimpl before it, or rename it",
                    is_error=False,
                    check="hooks.unmarked",
                )


def implementations_of(plugin: str, marks: Mapping[str, pluggy.HookImpl]) -> dict[str, Implementation]:
    """Return the implementations of event and lifecycle hooks among a plugin's marks."""
    return {
        hook: event_implementation(plugin, hook, mark, tuple(signature(getattr(hookspecs, hook)).parameters))
        for hook, mark in marks.items()
        if HOOK_KINDS.get(hook, HookKind.REGISTRATION) is not HookKind.REGISTRATION
    }
