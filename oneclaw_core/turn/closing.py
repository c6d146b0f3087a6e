"""Close async iterators of plugins, which may lack ``aclose``."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_Item = TypeVar("_Item")


def closing(items: AsyncIterator[_Item]) -> AbstractAsyncContextManager[AsyncIterator[_Item]]:
    """Close an iterator at the end, if it can be closed: plugins may write one without ``aclose``."""
    return aclosing(cast("Any", items)) if hasattr(items, "aclose") else nullcontext(items)
