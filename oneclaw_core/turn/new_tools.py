"""Tell a model of tools that came to be after its session began, where the conversation stands."""

from __future__ import annotations

import json
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING

from oneclaw_core.types.messages import Message, MessageType, ToolCallStatus
from oneclaw_core.types.tool_groups import LOAD_TOOL_GROUP, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_core.types.tool_definition import ToolDefinition


def loads_of_new_tools(tools: Iterable[ToolDefinition]) -> list[Message]:
    """Write an answer that loads each tool as a group of one, with the results.

    The core tools, with which a request begins, stay as they were.

    Returns:
        Entries to append to the history: the answer, its calls, their results. No model has made them.
    """
    calls, results = [], []
    for each in tools:
        about = Message(type=MessageType.TOOL_CALL, tool_call_id=f"call_{uuid.uuid4().hex}", tool_name=LOAD_TOOL_GROUP)
        calls.append(replace(about, tool_input=json.dumps({"group_name": each.name})))
        text = f"The tool {each.name} is new and can be called from now on: {one_line(each.description)}"
        results.append(replace(about, type=MessageType.TOOL_RESULT, content=text, tool_status=ToolCallStatus.SUCCESS))
    return [Message(type=MessageType.ASSISTANT), *calls, *results]
