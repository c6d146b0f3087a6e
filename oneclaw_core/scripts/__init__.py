"""Scripts: programs of a model that call tools, and can run again without doing anything twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core._lazy import lazy_names

if TYPE_CHECKING:  # for OneClaw's own plugins: nothing is promised
    from oneclaw_core.scripts.journal import script_documents as script_documents
    from oneclaw_core.scripts.script import Script as Script
    from oneclaw_core.scripts.script import begin_script as begin_script

__getattr__, __dir__, __all__ = lazy_names(__name__)
