"""Public names of a package, imported when they are first used."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module

OWN_NAMES = "if TYPE_CHECKING:  # for OneClaw's own plugins: nothing is promised"
TYPE_CHECKING = False  # typing takes long to import, and the supervisor of programs imports this
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def lazy_names(package: str, *moved_to: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return the ``__getattr__``, ``__dir__`` and ``__all__`` of a package that imports its names on first use.

    The names are those that the package imports for type checkers, each on a line ``from MODULE import NAME as NAME``.
    Those after the line ``OWN_NAMES`` can be imported, and are in none of the lists: they are not public.

    Args:
        package: the package's ``__name__``.
        moved_to: packages that have names which were in this one before. Such a name is still found here, with a
            ``DeprecationWarning``, and is in none of the lists. A package of another distribution may be missing: then
            a ``ModuleNotFoundError`` names the distribution.
    """
    spec: Any = sys.modules[package].__spec__
    module_of: dict[str, str] = {}
    own: set[str] = set()
    is_own = False
    for line in spec.loader.get_data(spec.origin).decode().splitlines():
        words = line.split()
        is_own = is_own or line == OWN_NAMES
        if line.startswith("    from ") and len(words) == 6:
            module_of[words[5]] = words[1]
            own.update(words[5:] if is_own else ())

    def get(name: str) -> Any:
        module = module_of.get(name)
        if module is None:
            for other in moved_to if not name.startswith("_") else ():
                value = getattr(_import_package(other, f"{package}.{name}"), name, None)
                if value is not None:
                    text = f"{package}.{name} is {other}.{name} now; version 0.4 removes the old name"
                    warnings.warn(text, DeprecationWarning, stacklevel=2)
                    return value
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(module), name)
        setattr(sys.modules[package], name, value)
        return value

    names = sorted(module_of.keys() - own)
    return get, lambda: names, names


def _import_package(package: str, wanted: str) -> Any:
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        text = f"{wanted} is not there; pip install {package.replace('_', '-')} if you mean the name that moved there"
        raise ModuleNotFoundError(text, name=package) from None
