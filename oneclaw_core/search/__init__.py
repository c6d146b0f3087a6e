"""Ranking of texts by a query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core._lazy import lazy_names

if TYPE_CHECKING:  # for OneClaw's own plugins: nothing is promised
    from oneclaw_core.search.names import NameIndex as NameIndex
    from oneclaw_core.search.ranking import Findings as Findings
    from oneclaw_core.search.ranking import Hit as Hit
    from oneclaw_core.search.ranking import Passage as Passage
    from oneclaw_core.search.ranking import Source as Source
    from oneclaw_core.search.ranking import bm25 as bm25
    from oneclaw_core.search.words import folded as folded
    from oneclaw_core.search.words import is_unspaced as is_unspaced
    from oneclaw_core.search.words import pairs as pairs
    from oneclaw_core.search.words import parts as parts

__getattr__, __dir__, __all__ = lazy_names(__name__)
