"""The calls that loaded the groups of a request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.types.messages import MessageType, ToolCallStatus
from oneclaw_core.types.tool_groups import LOAD_TOOL_GROUP, requested_group

if TYPE_CHECKING:
    from oneclaw_core.types.model_requests import ModelRequest
    from oneclaw_core.types.tool_groups import LoadedGroup


def loading_calls(request: ModelRequest) -> dict[str | None, list[LoadedGroup]]:
    """Find the call that first loaded each active group.

    Args:
        request: with its messages and active tools.

    Returns:
        The groups by the id of that call; under ``None`` those whose call is not among the messages, because the
        history has been cut, in the order of loading. A call that loaded nothing new is not named.
    """
    missing = {group.name: group for group in request.tools.groups}
    found: dict[str | None, list[LoadedGroup]] = {}
    for message in request.messages:
        if (
            message.type is MessageType.TOOL_CALL
            and message.tool_name == LOAD_TOOL_GROUP
            and message.tool_status is ToolCallStatus.SUCCESS
        ):
            group = missing.pop(requested_group(message.tool_input) or "", None)
            if group is not None:
                found.setdefault(message.tool_call_id, []).append(group)
    if missing:
        found[None] = list(missing.values())
    return found
