"""Ranking of texts by a query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core._lazy import lazy_names

if TYPE_CHECKING:
    from oneclaw_core.search.ranking import bm25 as bm25

_NAMES = {
    "ranking": "bm25",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _NAMES)
