"""Put a mutant into a process: into functions that exist, or into a module before it is imported."""

from __future__ import annotations

import gc
import importlib
import pkgutil
from collections import defaultdict
from types import CodeType, FunctionType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def import_all(packages: Iterable[str]) -> None:
    """Import all modules of packages."""
    for package in packages:
        importlib.import_module(package)
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            importlib.import_module(module.name)


class Functions:
    """The functions of this process, found by their code."""

    def __init__(self) -> None:
        gc.unfreeze()
        self._by_code = defaultdict[tuple[str, CodeType], list[FunctionType]](list)
        for found in gc.get_objects():
            if type(found) is FunctionType and "/oneclaw_core/" in found.__code__.co_filename:
                self._by_code[found.__code__.co_filename, found.__code__].append(found)
        gc.freeze()

    def can_change(self, file: str, changed: dict[CodeType, CodeType]) -> bool:
        """True if the functions that a mutant changes exist, and can get its code."""
        return any(
            len(new.co_freevars) == len(old.co_freevars)
            for old, new in changed.items()
            if "<locals>" not in old.co_qualname and (file, old) in self._by_code
        )

    def change(self, file: str, changed: dict[CodeType, CodeType]) -> None:
        """Give functions other code; those that they define get it when they are run."""
        for old, new in changed.items():
            for function in self._by_code.get((file, old), ()):
                if len(new.co_freevars) == len(old.co_freevars):
                    function.__code__ = new
