"""Finding the plugins that a test chose, among the installed ones and those that it brings itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.installation.given_plugins import given_plugin, named_plugins
from oneclaw_core.plugins.loading import discover
from oneclaw_core.plugins.plugin import BUILTIN_PLUGIN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_core.plugins.plugin import Plugin

SCRIPTED_MODEL_PLUGIN = "scripted_model"
OFFLINE_PLUGIN = "offline"


def chosen_plugins(chosen: Iterable[object] | None) -> list[Plugin]:
    """Find the plugins to load: the built-in tools, the rules that answer without a script, then what was chosen.

    Args:
        chosen: names of installed plugins or packages, modules with hooks, or objects with hooks; ``None`` for
            everything that is installed.

    Raises:
        NotFoundError: there is no such plugin; the message names those there are.
    """
    installed: list[Plugin] = [*discover()]
    if chosen is None:
        return installed
    points = [point for point in installed if point.name in (BUILTIN_PLUGIN, OFFLINE_PLUGIN)]
    for each in [chosen] if isinstance(chosen, str) else chosen:
        found = (
            named_plugins(installed, each)
            if isinstance(each, str)
            else [given_plugin(each, target="given by the test", has_own_loop=True)]
        )
        points += [point for point in found if not any(point is each for each in points)]
    return points


def tested_plugins(records: Iterable[Plugin]) -> list[Plugin]:
    """Leave out plugins of every test, and tool sources listed by themselves: a test may want their tools broken."""
    others = (BUILTIN_PLUGIN, OFFLINE_PLUGIN, SCRIPTED_MODEL_PLUGIN)
    return [record for record in records if record.name not in others and record.source is None]


def check_plugins(records: Iterable[Plugin]) -> None:
    """Fail the test if a plugin has a problem; a part of it would be missing."""
    __tracebackhide__ = True
    for record in tested_plugins(records):
        problems = [problem for problem in record.problems if problem.is_error]
        if problems:
            lines = [f"\n  {each.where}: {each.cause}\n    what to do: {each.remedy}" for each in problems]
            raise AssertionError(
                f"the plugin {record.name} ({record.package or record.target}) is {record.status}:{''.join(lines)}"
            )
