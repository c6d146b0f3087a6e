"""Public names for plugins that read or make tools of functions, beside `tool` of ``oneclaw_core``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core._lazy import lazy_names

if TYPE_CHECKING:
    from oneclaw_core.tool_functions.function import FunctionTool as FunctionTool

if TYPE_CHECKING:  # for OneClaw's own plugins: nothing is promised
    from oneclaw_core.tool_functions.parameters import context_parameters as context_parameters
    from oneclaw_core.tool_functions.parameters import signature_of as signature_of

__getattr__, __dir__, __all__ = lazy_names(__name__)
