"""A cache of what is computed from objects that are costly to compare, such as the definitions of tools."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class IdentityCache(Generic[_Key, _Value]):
    """Computes a value for each object once, and keeps it for as long as the object lives.

    Args:
        compute: returns the value of an object; the value must not refer to the object.
    """

    def __init__(self, compute: Callable[[_Key], _Value]) -> None:
        self._compute = compute
        self._kept: dict[int, tuple[weakref.ref[_Key], _Value]] = {}

    def of(self, key: _Key) -> _Value:
        """Return the value of an object."""
        identity = id(key)
        found = self._kept.get(identity)
        if found is None:
            kept = self._kept
            # The callback runs before another object can have the same identity.
            reference = weakref.ref(key, lambda _: kept.pop(identity, None))
            found = kept[identity] = reference, self._compute(key)
        return found[1]
