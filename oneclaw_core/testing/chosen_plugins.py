"""Finding the plugins that a test chose, among the installed ones and those that it brings itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import NotFoundError
from oneclaw_core.plugins.loading import discover
from oneclaw_core.plugins.record import BUILTIN_PLUGIN
from oneclaw_core.user_tools.user_tool import USER_PLUGIN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_core.plugins.loading import EntryPoint
    from oneclaw_core.plugins.record import PluginRecord

SCRIPTED_MODEL_PLUGIN = "scripted_model"


@dataclass(frozen=True, slots=True)
class GivenPlugin:
    """Stands in for the entry point of a plugin that is not installed.

    Attributes:
        name: of the plugin.
        plugin: a module, or any object with hooks.
        value: where it comes from, for listings.
    """

    name: str
    plugin: Any
    value: str = "given by the test"
    dist: Any = None

    def load(self) -> Any:
        """Give the plugin."""
        return self.plugin


def chosen_plugins(chosen: Iterable[object] | None) -> list[EntryPoint]:
    """Find the plugins to load: the built-in tools, then what was chosen.

    Args:
        chosen: names of installed plugins or packages, modules with hooks, or objects with hooks; ``None`` for
            everything that is installed.

    Raises:
        NotFoundError: there is no such plugin; the message names those there are.
    """
    installed: list[EntryPoint] = [*discover()]
    if chosen is None:
        return installed
    points = [point for point in installed if point.name == BUILTIN_PLUGIN]
    for each in [chosen] if isinstance(chosen, str) else chosen:
        found = _named(installed, each) if isinstance(each, str) else [GivenPlugin(_name_of(each), each)]
        points += [point for point in found if not any(point is each for each in points)]
    return points


def tested_plugins(records: Iterable[PluginRecord]) -> list[PluginRecord]:
    """Leave out what is there in every test, and the user's own tools, which a test may want to be broken."""
    others = (BUILTIN_PLUGIN, SCRIPTED_MODEL_PLUGIN, USER_PLUGIN)
    return [record for record in records if record.name not in others]


def check_plugins(records: Iterable[PluginRecord]) -> None:
    """Fail the test if a plugin has a problem; a part of it would be missing."""
    __tracebackhide__ = True
    for record in tested_plugins(records):
        problems = [problem for problem in record.problems if problem.is_error]
        if problems:
            lines = [f"\n  {each.where}: {each.cause}\n    what to do: {each.remedy}" for each in problems]
            raise AssertionError(
                f"the plugin {record.name} ({record.package or record.target}) is {record.status}:{''.join(lines)}"
            )


def _named(installed: Iterable[EntryPoint], name: str) -> list[EntryPoint]:
    wanted = name.strip()
    points = [
        point for point in installed if wanted in (point.name, getattr(getattr(point, "dist", None), "name", None))
    ]
    if not points:
        names = ", ".join(point.name for point in installed)
        raise NotFoundError(
            f"no plugin {wanted!r} is installed; installed are: {names}. Install the package that is tested, such as "
            "by: pip install --editable ."
        )
    return points


def _name_of(plugin: object) -> str:
    return str(getattr(plugin, "__name__", None) or type(plugin).__name__).rpartition(".")[2]
