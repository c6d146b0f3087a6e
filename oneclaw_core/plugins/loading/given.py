"""Plugins that a program gives as modules or objects, or chooses among the installed ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import NotFoundError
from oneclaw_core.plugins.loading.load_plugins import discover

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_core.plugins.loading.load_plugins import EntryPoint


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
    value: str = "given by the program"
    dist: Any = None

    def load(self) -> Any:
        """Return the plugin."""
        return self.plugin


def given_plugins(plugins: Iterable[object]) -> list[EntryPoint]:
    """Return entry points of plugins.

    Args:
        plugins: entry points, names of installed plugins or packages, modules with hooks, or objects with hooks.

    Raises:
        NotFoundError: there is no such plugin; the message names those there are.
    """
    points: list[Any] = []
    for each in [plugins] if isinstance(plugins, str) else plugins:
        if isinstance(each, str):
            points += [point for point in named_plugins(discover(), each) if point not in points]
        elif _is_entry_point(each):
            points.append(each)
        else:
            points.append(GivenPlugin(plugin_name(each), each))
    return points


def named_plugins(installed: Iterable[EntryPoint], name: str) -> list[EntryPoint]:
    """Return the installed plugins of that name, or of the package of that name.

    Raises:
        NotFoundError: there is none; the message names those there are.
    """
    wanted, installed = name.strip(), list(installed)
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


def plugin_name(plugin: object) -> str:
    """Return the name of a plugin that is given as a module or object."""
    return str(getattr(plugin, "__name__", None) or type(plugin).__name__).rpartition(".")[2]


def _is_entry_point(value: object) -> bool:
    return all(hasattr(value, name) for name in ("name", "value", "load"))
