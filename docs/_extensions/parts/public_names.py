"""Public names of `oneclaw_core` and its public packages with their docstrings.

The block lists the names.
"""

from __future__ import annotations

import inspect
from importlib import import_module

from oneclaw_core import hookspecs


def markdown(arguments: list[str], lines: list[str]) -> str:
    """Write an entry for each name in the block, of the module that is given; ``hooks`` gives the plugin contract."""
    if arguments == ["hooks"]:
        entries = [f".. autofunction:: {hookspecs.__name__}.{name}" for name in hook_names()]
    else:
        module = arguments[0] if arguments else "oneclaw_core"
        entries = [_entry(module, name) for line in lines for name in line.split()]
    return "```{eval-rst}\n" + "\n\n".join(entries) + "\n```\n"


def hook_names() -> list[str]:
    """Name the hooks in the order of the contract."""
    return list(hookspecs.HOOK_KINDS)


def _entry(module: str, name: str) -> str:
    value = getattr(import_module(module), name)
    place = f"{module}.{name}"
    if inspect.isclass(value) and issubclass(value, Exception):
        return f".. autoexception:: {place}\n   :show-inheritance:\n   :members:"
    if inspect.isclass(value) and value.__module__.partition(".")[0] != module.partition(".")[0]:
        return f".. autoclass:: {place}\n   :no-index:"  # it is described where it is from
    if inspect.isclass(value):
        return f".. autoclass:: {place}\n   :members:\n   :special-members: __call__"
    if inspect.isfunction(value):
        return f".. autofunction:: {place}"
    if isinstance(value, bytes | dict | frozenset | int | str):
        # autodata would take the docstring of the type.
        return f".. py:data:: {place}\n   :type: {type(value).__name__}"
    return f".. autodata:: {place}"
