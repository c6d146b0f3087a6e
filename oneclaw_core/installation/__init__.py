"""The plugins of an installation: their origins, their reviews, their skills and stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core._lazy import lazy_names

if TYPE_CHECKING:  # for OneClaw's own plugins: nothing is promised
    from oneclaw_core.installation.origins import PluginOrigins as PluginOrigins
    from oneclaw_core.installation.origins import package_of as package_of
    from oneclaw_core.installation.reviewing import declaration_of as declaration_of
    from oneclaw_core.installation.reviewing import reviewed_package as reviewed_package
    from oneclaw_core.installation.skill_checks import report_skill_problems as report_skill_problems
    from oneclaw_core.plugins.distributions import is_ours as is_ours

__getattr__, __dir__, __all__ = lazy_names(__name__)
