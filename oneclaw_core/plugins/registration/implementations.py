"""The event and lifecycle hooks that a plugin implements: what is known without importing it, and the functions."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from oneclaw_core.plugins.hookspecs import HOOK_KINDS, HookKind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pluggy

    from oneclaw_core.plugins.registration.registrations import Registration
    from oneclaw_core.tools.definition import Tool

MAX_TIMEOUT_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class HookOptions:
    """The way a plugin implements a hook: JSON data, known without importing the plugin.

    Attributes:
        argument_names: the arguments of the hook that the function takes.
        is_async: True for an async function.
        tools: the only tools, or tool groups, whose calls it is about; ``None`` for all.
        timeout_seconds: time limit of one call; ``None`` for the limit of the hook's kind.
        order: -1 for ``tryfirst``, 1 for ``trylast``, else 0.
    """

    argument_names: tuple[str, ...] = ()
    is_async: bool = False
    tools: tuple[str, ...] | None = None
    timeout_seconds: float | None = None
    order: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the options as JSON data."""
        return {
            "argument_names": list(self.argument_names),
            "is_async": self.is_async,
            "tools": None if self.tools is None else list(self.tools),
            "timeout_seconds": self.timeout_seconds,
            "order": self.order,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> HookOptions:
        """Read what :meth:`to_dict` returned."""
        tools = data["tools"]
        return cls(
            tuple(data["argument_names"]),
            data["is_async"],
            None if tools is None else tuple(tools),
            data["timeout_seconds"],
            data["order"],
        )

    def is_about(self, tool: str, group: str | None) -> bool:
        """Return True if a call of a tool concerns the hook."""
        return self.tools is None or tool in self.tools or (group is not None and group in self.tools)


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

    @property
    def argument_names(self) -> tuple[str, ...]:
        """The arguments of the hook that the function takes."""
        return self.options.argument_names

    @property
    def is_async(self) -> bool:
        """True for an async function."""
        return self.options.is_async


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


def event_implementation(plugin: str, hook: str, mark: pluggy.HookImpl, known: tuple[str, ...]) -> Implementation:
    """Return a plugin's implementation of an event or lifecycle hook.

    Args:
        plugin: the plugin's name.
        hook: the hook's name.
        mark: pluggy's.
        known: the arguments of the hook.
    """
    return Implementation(plugin, hook, mark.function, _options(mark, known))


def hook_fault(hook: str, mark: pluggy.HookImpl) -> tuple[str, str] | None:
    """Return why an implementation of an event hook cannot be called and the remedy, ``None`` if it can."""
    function, is_around = mark.function, HOOK_KINDS[hook] is HookKind.AROUND
    if mark.wrapper or mark.hookwrapper:
        return "it is a hook wrapper", "implement the hook itself"
    if inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
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


def _options(mark: pluggy.HookImpl, known: tuple[str, ...]) -> HookOptions:
    given = getattr(mark.function, "oneclaw_options", None)
    given = given if isinstance(given, dict) else {}
    return HookOptions(
        # A parameter with a default that this version of the hook does not have keeps its default.
        argument_names=tuple(each for each in (*mark.argnames, *mark.kwargnames) if each in known),
        is_async=inspect.iscoroutinefunction(mark.function),
        tools=given.get("tools"),
        timeout_seconds=given.get("timeout_seconds"),
        order=-1 if mark.tryfirst else 1 if mark.trylast else 0,
    )
