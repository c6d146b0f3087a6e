"""Public names of `oneclaw_core` and `oneclaw_core.testing` with their docstrings.

The block lists names. ``plugins.*`` stands for all names that come from `oneclaw_core.plugins` and its modules.
"""

from __future__ import annotations

import inspect
from importlib import import_module

from oneclaw_core.plugins import hookspecs


def markdown(arguments: list[str], lines: list[str]) -> str:
    """An entry for each name in the block, of the module that is given; ``hooks`` gives the plugin contract."""
    if arguments == ["hooks"]:
        entries = [f".. autofunction:: {hookspecs.__name__}.{name}" for name in hook_names()]
    else:
        module = arguments[0] if arguments else "oneclaw_core"
        entries = [_entry(module, name) for name in listed_names(module, lines)]
    return "```{eval-rst}\n" + "\n\n".join(entries) + "\n```\n"


def listed_names(module: str, lines: list[str]) -> list[str]:
    """Return the names that a block lists, with those of packages in the order of their modules.

    Args:
        module: that exports the names.
        lines: of the block.
    """
    words = [word for line in lines for word in line.split()]
    return [name for word in words for name in (_names_below(module, word[:-2]) if word.endswith(".*") else [word])]


def hook_names() -> list[str]:
    """Name the hooks in the order of the contract."""
    return list(hookspecs.HOOK_KINDS)


def _names_below(module: str, package: str) -> list[str]:
    places: dict[str, str] = import_module(module)._NAMES
    below = {place: names for place, names in places.items() if f"{place}.".startswith(f"{package}.")}
    found = [(place, name) for place, names in below.items() for name in names.split()]
    return [name for _, name in sorted(found)]


def _entry(module: str, name: str) -> str:
    value = getattr(import_module(module), name)
    place = f"{module}.{name}"
    if inspect.isclass(value) and issubclass(value, Exception):
        return f".. autoexception:: {place}\n   :show-inheritance:\n   :members:"
    if inspect.isclass(value):
        return f".. autoclass:: {place}\n   :members:\n   :special-members: __call__"
    if inspect.isfunction(value):
        return f".. autofunction:: {place}"
    return f".. autodata:: {place}"
