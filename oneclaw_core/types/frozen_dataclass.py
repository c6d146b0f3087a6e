"""Frozen dataclasses with slots, by their former name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, dataclass_transform


@dataclass_transform(frozen_default=True)
def frozen_dataclass(cls: Any = None, /, *, kw_only: bool = False) -> Any:
    """Make a class a frozen dataclass with slots."""
    made = dataclass(frozen=True, slots=True, kw_only=kw_only)
    return made if cls is None else made(cls)
