"""The plugins of an installation: their origins, their reviews, their skills and stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core._lazy import lazy_names

if TYPE_CHECKING:  # for OneClaw's own plugins: nothing is promised
    from oneclaw_core.installation.origins import accept_plugins as accept_plugins
    from oneclaw_core.installation.reviewing import new_pages as new_pages
    from oneclaw_core.installation.sandboxed_look import Look as Look
    from oneclaw_core.installation.skill_checks import report_skill_problems as report_skill_problems

__getattr__, __dir__, __all__ = lazy_names(__name__)
