"""End a tool call by itself before its timeout, which could not say whether anything was changed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace import changes
from oneclaw_google_workspace.failures import how_to_look
from oneclaw_google_workspace.problems import GoogleError

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from oneclaw_core import ToolContext

# Less than a request leaves, which says more about what was sent.
MARGIN_SECONDS = 1.0
_CLEAN_UP_SECONDS = 0.5


async def in_call_time(context: ToolContext, work: Coroutine[Any, Any, Any]) -> Any:
    """Run the work of a tool call for as long as the call may take; what the user is asked meanwhile does not count.

    Args:
        context: of the call.
        work: what the tool does.

    Returns:
        What it returns.

    Raises:
        GoogleError: the time is up; ``unknown_outcome`` if a change was sent.
    """
    task = asyncio.ensure_future(work)
    try:
        while not task.done():
            left = context.remaining_seconds() - MARGIN_SECONDS
            if left <= 0:
                break
            await asyncio.wait({task}, timeout=min(left, 1.0))
        if task.done():
            return task.result()
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=_CLEAN_UP_SECONDS)
    raise _out_of_time()


def _out_of_time() -> GoogleError:
    sent = changes.sent()
    if not sent:
        return GoogleError(
            "timeout", "The time of this call was up, and nothing was changed. Try again with less at once."
        )
    return GoogleError(
        "unknown_outcome",
        "The time of this call was up after a change was sent, so it may have been done, in whole or in part. "
        f"{how_to_look(sent[-1])} before trying again.",
    )
