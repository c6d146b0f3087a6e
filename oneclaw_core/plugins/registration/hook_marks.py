"""The marks of a plugin's functions, read and checked against the hook specifications by pluggy."""

from __future__ import annotations

import inspect
import threading
import warnings
from inspect import signature
from typing import TYPE_CHECKING, Any

import pluggy

from oneclaw_core import hookspecs
from oneclaw_core.errors import describe_error
from oneclaw_core.hookspecs import HOOK_KINDS, WRAPPABLE_KINDS, HookKind
from oneclaw_core.plugins.registration.entry import MAX_TIMEOUT_SECONDS, HookOptions
from oneclaw_core.plugins.registration.record import Implementation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_core.plugins.registration.entry import PluginEntry


class PluginContract:
    """The one pluggy manager, which reads marks and checks them; the hooks are called without it."""

    def __init__(self) -> None:
        self._manager = pluggy.PluginManager("oneclaw")
        self._manager.add_hookspecs(hookspecs)
        self._lock = threading.Lock()

    def marks(self, plugin: Any, entry: PluginEntry) -> dict[str, pluggy.HookImpl]:
        """Return the plugin's implementations, by the hook's name, and report what is wrong with them."""
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
            remedy = "take only arguments that the hook has; see oneclaw_core.hookspecs"
            entry.report("hooks", describe_error(error), remedy, check="hooks.arguments")
            return {}
        for warning in caught:
            # Its own words name the replacement.
            remedy = "change it before the next contract version"
            entry.report("hooks", str(warning.message), remedy, is_error=False, check="hooks.deprecated")
        callers = self._manager.get_hookcallers(plugin) or []
        own = [(caller.name, mark) for caller in callers for mark in caller.get_hookimpls() if mark.plugin is plugin]
        marks = dict(own)
        for name in sorted({name for name, _ in own if sum(name == other for other, _ in own) > 1}):
            cause = f"several of its functions implement the hook {name}"
            entry.report("hooks", cause, "make one of them", check="hooks.event")
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
            fault = _hook_fault(name, mark)
            if fault is not None:
                cause = f"the hook {name} cannot be called: {fault[0]}"
                entry.report("hooks", cause, fault[1], check="hooks.event")
        elif inspect.iscoroutinefunction(mark.function):
            entry.report(
                "hooks", f"the hook {name} is an async function", "write it without async", check="hooks.async"
            )
        elif fault := _wrapper_fault(name, mark):
            entry.report("hooks", f"the hook {name} cannot be called: {fault[0]}", fault[1], check="hooks.event")

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
        hook: Implementation(
            plugin, hook, mark.function, _options(mark, tuple(signature(getattr(hookspecs, hook)).parameters))
        )
        for hook, mark in marks.items()
        if HOOK_KINDS.get(hook, HookKind.REGISTRATION) is not HookKind.REGISTRATION
    }


def _hook_fault(hook: str, mark: pluggy.HookImpl) -> tuple[str, str] | None:
    """Return why an implementation of an event hook cannot be called and the remedy, ``None`` if it can."""
    function, is_around = mark.function, HOOK_KINDS[hook] is HookKind.AROUND
    if (fault := _wrapper_fault(hook, mark)) is not None:
        return fault
    if inspect.isasyncgenfunction(function) or (inspect.isgeneratorfunction(function) and not mark.wrapper):
        return "it is a generator", "decorate it with contextlib.contextmanager" if is_around else "return a value"
    options = _options(mark, ())
    if is_around and options.is_async:
        return "it is an async function", "write it without async"
    seconds = options.timeout_seconds
    if seconds is not None and not (isinstance(seconds, int | float) and 0 < seconds <= MAX_TIMEOUT_SECONDS):
        return f"its timeout_seconds is {seconds!r}", f"use a number above 0, at most {MAX_TIMEOUT_SECONDS:g}"
    if options.tools is not None and not all(isinstance(each, str) for each in options.tools):
        return "its tools are not names", "name tools or tool groups"
    return None


def _wrapper_fault(hook: str, mark: pluggy.HookImpl) -> tuple[str, str] | None:
    kind = HOOK_KINDS[hook]
    if mark.hookwrapper:
        return "it is a hook wrapper of the old form", "mark it with wrapper=True"
    if mark.wrapper and kind not in WRAPPABLE_KINDS:
        reason = (
            "no plugin may overrule what another one does" if kind is not HookKind.LIFECYCLE else "it has no others"
        )
        return f"a {kind} hook takes no wrapper, because {reason}", "implement the hook itself"
    return None


def _options(mark: pluggy.HookImpl, known: tuple[str, ...]) -> HookOptions:
    given = getattr(mark.function, "oneclaw_options", None)
    given = given if isinstance(given, dict) else {}
    return HookOptions(
        # A parameter with a default that this version of the hook does not have keeps its default.
        argument_names=tuple(each for each in (*mark.argnames, *mark.kwargnames) if each in known),
        is_async=inspect.iscoroutinefunction(mark.function),
        tools=given.get("tools"),
        timeout_seconds=given.get("timeout_seconds"),
        in_turns=bool(given.get("in_turns")),
        skips_read_only=bool(given.get("skips_read_only")),
        tryfirst=mark.tryfirst,
        trylast=mark.trylast,
        wrapper=mark.wrapper,
    )
