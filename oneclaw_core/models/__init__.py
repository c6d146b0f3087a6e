"""Choose the model that is asked, make requests ones for it, and ask the next one if it fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core._lazy import lazy_names

if TYPE_CHECKING:  # for OneClaw's own plugins: nothing is promised
    from oneclaw_core.models.left_out import EFFORT as EFFORT
    from oneclaw_core.models.left_out import FILE as FILE
    from oneclaw_core.models.left_out import LIMIT_NAMES as LIMIT_NAMES
    from oneclaw_core.models.left_out import MOST_OUTPUT as MOST_OUTPUT
    from oneclaw_core.models.left_out import MOST_TOOLS as MOST_TOOLS
    from oneclaw_core.models.left_out import NEIGHBOURS as NEIGHBOURS
    from oneclaw_core.models.left_out import OUTPUT as OUTPUT
    from oneclaw_core.models.left_out import PARAMETER as PARAMETER
    from oneclaw_core.models.left_out import REASONING as REASONING
    from oneclaw_core.models.left_out import STREAM_OPTIONS as STREAM_OPTIONS
    from oneclaw_core.models.left_out import TOOLS as TOOLS
    from oneclaw_core.models.left_out import answer_limit as answer_limit
    from oneclaw_core.models.left_out import digest_of as digest_of

__getattr__, __dir__, __all__ = lazy_names(__name__)
