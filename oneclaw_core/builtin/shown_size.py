"""How much of a tool's result a model is shown, so that a tool can choose what that is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.errors import OneClawError

if TYPE_CHECKING:
    from oneclaw_core.tools.context import ToolContext


async def shown_characters(context: ToolContext) -> int | None:
    """Tell how many characters of the result of a call a model is going to be shown.

    Args:
        context: of the call.

    Returns:
        ``None`` for all of them, outside a conversation.
    """
    if context.session_id is None:
        return None
    try:
        return (await context.app.settings()).tool_result_max_characters
    except OneClawError:  # no reason to lose what the call has given
        from oneclaw_core.settings import load_settings

        return load_settings({}, {}).tool_result_max_characters
