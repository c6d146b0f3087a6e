"""The plugins that a program gives, as names of installed ones or as objects with hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import NotFoundError
from oneclaw_core.plugins.loading import discover, plugin_of
from oneclaw_core.plugins.plugin import Plugin

if TYPE_CHECKING:
    from collections.abc import Iterable


def given_plugin(
    implementation: Any, name: str = "", *, target: str = "given by the program", has_own_loop: bool = False
) -> Plugin:
    """Return the plugin of a module, or of any object with hooks.

    Args:
        implementation: the module or object.
        name: of the plugin; by default that of the module or class.
        target: where it comes from, for listings.
        has_own_loop: True to run its async code as that of an installed plugin, not on the program's event loop.
    """
    named = str(getattr(implementation, "__name__", None) or type(implementation).__name__).rpartition(".")[2]
    return Plugin(name or named, target, given=lambda: implementation, has_own_loop=has_own_loop)


def given_plugins(plugins: Iterable[object]) -> list[Plugin]:
    """Return plugins that a program gives.

    Args:
        plugins: entry points, names of installed plugins or packages, modules with hooks, or objects with hooks.

    Raises:
        NotFoundError: there is no such plugin; the message names those there are.
    """
    found: list[Plugin] = []
    for each in [plugins] if isinstance(plugins, str) else plugins:
        if isinstance(each, str):
            found += [it for it in named_plugins(discover(), each) if it not in found]
        else:
            found.append(plugin_of(each) if _is_entry_point(each) else given_plugin(each))  # type: ignore[arg-type]
    return found


def named_plugins(installed: Iterable[Plugin], name: str) -> list[Plugin]:
    """Return the installed plugins of that name, or of the package of that name.

    Raises:
        NotFoundError: there is none; the message names those there are.
    """
    wanted, installed = name.strip(), list(installed)
    found = [each for each in installed if wanted in (each.name, each.distribution)]
    if not found:
        names = ", ".join(each.name for each in installed)
        raise NotFoundError(
            f"no plugin {wanted!r} is installed; installed are: {names}. Install the package that is tested, such as "
            "by: pip install --editable ."
        )
    return found


def _is_entry_point(value: object) -> bool:
    return isinstance(value, Plugin) or all(hasattr(value, name) for name in ("name", "value", "load"))
