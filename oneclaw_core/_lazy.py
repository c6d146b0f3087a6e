"""Public names of a package, imported when they are first used."""

from __future__ import annotations

import sys
from importlib import import_module

TYPE_CHECKING = False  # typing takes long to import, and the supervisor of programs imports this
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def lazy_names(
    package: str, names_by_module: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return the ``__getattr__``, ``__dir__`` and ``__all__`` of a package that imports its names on first use.

    Args:
        package: the package's ``__name__``.
        names_by_module: the names of each module, separated by spaces; modules are relative to the package, and begin
            with a dot if they are beside it.
    """
    module_of = {name: module for module, names in names_by_module.items() for name in names.split()}

    def get(name: str) -> Any:
        module = module_of.get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f".{module}", package), name)
        setattr(sys.modules[package], name, value)
        return value

    names = sorted(module_of)
    return get, lambda: names, names
