"""Calls of event hooks: pluggy orders the implementations, and the kind of the hook decides what their failures mean.

pluggy calls functions one after the other and waits for none. Event hooks can be async, have time limits, and belong to
plugins that may not be imported yet. So a stand-in for each implementation is registered with pluggy, which orders
them, and the implementations are awaited here. ``tryfirst`` and ``trylast``, wrappers and ``firstresult`` mean what
they mean in pluggy.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import pluggy

from oneclaw_core import hookspecs
from oneclaw_core.errors import PluginError
from oneclaw_core.hookspecs import HOOK_KINDS, HookKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from oneclaw_core.plugins.running.running_plugin import RunningPlugin

_log = logging.getLogger("oneclaw.plugins")
_mark = pluggy.HookimplMarker("oneclaw")


@dataclass(frozen=True, slots=True)
class HookOptions:
    """The way a plugin implements a hook, known without importing the plugin.

    Attributes:
        argument_names: the arguments of the hook that the function takes.
        is_async: True for an async function.
        tools: the only tools, or tool groups, whose calls it is about; ``None`` for all.
        timeout_seconds: time limit of one call; ``None`` for the limit of the hook's kind.
        in_turns: True if it is about calls of turns alone.
        skips_read_only: True if it is not about calls of tools that change nothing.
        tryfirst, trylast, wrapper: as pluggy has them.
    """

    argument_names: Sequence[str] = ()
    is_async: bool = False
    tools: Sequence[str] | None = None
    timeout_seconds: float | None = None
    in_turns: bool = False
    skips_read_only: bool = False
    tryfirst: bool = False
    trylast: bool = False
    wrapper: bool = False

    def is_about(self, tool: str, group: str | None, *, is_in_turn: bool, is_read_only: bool = False) -> bool:
        """Return True if a call of a tool concerns the hook."""
        if (self.in_turns and not is_in_turn) or (self.skips_read_only and is_read_only):
            return False
        return self.tools is None or tool in self.tools or (group is not None and group in self.tools)


class Step(NamedTuple):
    """A plugin's place among the implementations of a hook."""

    plugin: RunningPlugin
    options: HookOptions


class StandIn:
    """An implementation as pluggy knows it; the plugin is imported when the hook is first called."""

    def __init__(self, hook: str, step: Step, *, is_first: bool) -> None:
        def implementation() -> None: ...

        def wrapper() -> Any:
            yield

        options = step.options
        mark = _mark(
            tryfirst=options.tryfirst or is_first, trylast=options.trylast and not is_first, wrapper=options.wrapper
        )
        self.hook = hook
        self.step = step
        setattr(self, hook, mark(wrapper if options.wrapper else implementation))


class Planner(pluggy.PluginManager):
    """Orders stand-ins."""

    def parse_hookimpl_opts(self, plugin: Any, name: str) -> pluggy.HookimplOpts | None:
        """Look at the hook of a stand-in, and at no other attribute, which would take long."""
        return super().parse_hookimpl_opts(plugin, name) if name == plugin.hook else None


def plan(plugins: Iterable[RunningPlugin], first: Sequence[str]) -> dict[str, tuple[Step, ...]]:
    """Return the implementations of each event hook in the order of their calls, wrappers first.

    Args:
        plugins: of the open home.
        first: the names of plugins that the user wants before the others, in this order.
    """
    manager = Planner("oneclaw")
    places = {name: place for place, name in enumerate(first)}
    ordered = sorted(plugins, key=lambda each: (places.get(each.name, len(places)), each.name))
    steps = [
        (hook, Step(plugin, HookOptions(**options)))
        for plugin in ordered
        for hook, options in plugin.record.hooks.items()
        if HOOK_KINDS[hook] is not HookKind.LIFECYCLE
    ]

    def is_last(step: Step) -> bool:
        return step.options.trylast and step.plugin.name not in places

    # pluggy calls what was registered last before the others, but among those of trylast behind them.
    for hook, step in [
        *reversed([each for each in steps if not is_last(each[1])]),
        *filter(lambda it: is_last(it[1]), steps),
    ]:
        stand_in = StandIn(hook, step, is_first=step.plugin.name in places)
        manager.register(stand_in, f"{step.plugin.name} {hook}")
    called = {hook: getattr(manager.hook, hook).get_hookimpls() for hook in dict(steps)}
    return {hook: tuple(each.plugin.step for each in reversed(found)) for hook, found in called.items()}


def is_first_result(hook: str) -> bool:
    """Return True if the first result of a hook counts alone, and the others are not called."""
    return bool(getattr(hookspecs, hook).oneclaw_spec["firstresult"])


async def gather_results(
    hook: str, steps: Iterable[Step], arguments: Mapping[str, Any], seconds: float, *, fails_open: bool = True
) -> list[tuple[RunningPlugin, Any]]:
    """Call the implementations of a hook within its wrappers; return what they return, but no ``None``.

    A wrapper that fails is skipped.

    Args:
        hook: its name.
        steps: as :func:`plan` has them.
        arguments: all that the hook has, but for the context.
        seconds: the time limit of each call, unless the plugin or the user sets another.
        fails_open: True to log failures, and go on with the next plugin.

    Returns:
        The results, each with the plugin that returned it. What a wrapper returns has its plugin.

    Raises:
        PluginError: an implementation failed, and the hook fails closed.
    """
    entered: list[tuple[RunningPlugin, Any]] = []
    found: list[tuple[RunningPlugin, Any]] = []
    for step in steps:
        try:
            value = await step.plugin.call(hook, arguments, seconds)
        except PluginError as error:
            if not fails_open and not step.options.wrapper:
                for plugin, generator in reversed(entered):
                    await _leave(plugin, hook, seconds, generator.throw, error)
                raise
            _log.warning("%s", error)
            continue
        if step.options.wrapper:
            entered.append((step.plugin, value))
        elif value is not None:
            found.append((step.plugin, value))
            if is_first_result(hook):
                break
    for plugin, generator in reversed(entered):
        found = await _after(plugin, hook, seconds, generator, found)
    return found


async def _after(
    plugin: RunningPlugin, hook: str, seconds: float, generator: Any, found: list[tuple[RunningPlugin, Any]]
) -> list[tuple[RunningPlugin, Any]]:
    """Give a wrapper what the hook returned, and return what it makes of it; what it failed at stays as it is."""
    values = [value for _, value in found]
    is_single = is_first_result(hook)
    given = (values[0] if values else None) if is_single else values
    is_left, changed = await _leave(plugin, hook, seconds, generator.send, given)
    if not is_left or changed is given:
        return found
    if is_single:
        return [] if changed is None else [(plugin, changed)]
    owners = {id(value): owner for owner, value in found}
    return [(owners.get(id(value), plugin), value) for value in changed or ()]


async def _leave(
    plugin: RunningPlugin, hook: str, seconds: float, resume: Callable[[Any], Any], value: Any
) -> tuple[bool, Any]:
    try:
        return True, await plugin.resume(hook, resume, value, seconds)
    except PluginError as error:
        if error.__cause__ is not value:
            _log.warning("%s", error)
        return False, None
