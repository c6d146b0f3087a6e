"""Import a mutant in the place of a module.

This holds in a process that has this folder on its path, and in those that it starts.
"""

import os
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

_FILE = os.environ.get("ONECLAW_MUTANT_OF", "")
_get_code = SourceFileLoader.get_code


def _mutated_code(self: Any, fullname: str) -> CodeType | None:
    if self.path != _FILE:
        return _get_code(self, fullname)
    return compile(Path(os.environ["ONECLAW_MUTANT"]).read_text(), _FILE, "exec", dont_inherit=True)


if _FILE:
    SourceFileLoader.get_code = _mutated_code  # type: ignore[method-assign]
