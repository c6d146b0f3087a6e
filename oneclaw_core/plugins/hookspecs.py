"""The former place of :mod:`oneclaw_core.hookspecs`."""

import warnings
from typing import Any

from oneclaw_core import hookspecs


def __getattr__(name: str) -> Any:
    value = getattr(hookspecs, name)
    text = f"{__name__} is {hookspecs.__name__} now; version 0.4 removes the old name"
    warnings.warn(text, DeprecationWarning, stacklevel=2)
    return value
