"""The directory that the program was started in: trust in it, and the files in it that models follow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core._lazy import lazy_names

if TYPE_CHECKING:  # for OneClaw's own plugins: nothing is promised
    from oneclaw_core.project.trust import SKILL_DIRECTORIES as SKILL_DIRECTORIES
    from oneclaw_core.project.trust import Project as Project

__getattr__, __dir__, __all__ = lazy_names(__name__)
