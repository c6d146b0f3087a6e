"""The user's own tools in listings, which start many times a day: nothing is imported where there are none."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oneclaw_core import SourceTools
    from oneclaw_core.plugins import ListingContext

PYTHON_SETTING = "user_tools_python"
_PYTHON_VARIABLE = "ONECLAW_USER_TOOLS_PYTHON"
# Values that the settings take for true.
_TRUE = frozenset({"1", "true", "t", "yes", "y", "on"})


def list_user_tools(context: ListingContext, tools: SourceTools) -> None:
    """Publish the current tools in a listing; imports nothing that takes time.

    Args:
        context: the home, and its settings.
        tools: publishes them.
    """
    if not (context.home / "tools").is_dir():
        return
    from oneclaw_javascript.user_tools.folder import UserTools

    variable, stored = context.environ.get(_PYTHON_VARIABLE), context.stored.get(PYTHON_SETTING)
    is_python_enabled = variable.strip().lower() in _TRUE if variable else stored is True
    UserTools(context.home, lambda: is_python_enabled).load(tools)
