"""Tell a model of tools that came to be after its session began, where the conversation stands."""

from __future__ import annotations

import json
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING

from oneclaw_core.types.messages import Message, MessageType, ToolCallStatus
from oneclaw_core.types.model_requests import ToolLoading
from oneclaw_core.types.tool_groups import LOAD_TOOL_GROUP, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_core.turn.state import Answer, Ask, TurnState
    from oneclaw_core.types.steps import Handler
    from oneclaw_core.types.tools import ToolDefinition


async def new_tools_told(ask: Ask, run: Handler[Ask, Answer]) -> Answer:
    """Tell the model of core tools that came to be in the session where the conversation stands, if it can be.

    They are told like loaded groups, each by a call of ``load_tool_group`` that no model has made, so that the core
    tools, with which a request begins, stay as they were.
    """
    turn = ask.turn
    if ask.purpose == "answer" and (new := _new_tools(turn)):
        turn.session.groups += [each.name for each in new]
        turn.session.history += [
            replace(each, tool_status=ToolCallStatus.SUCCESS) if each.type is MessageType.TOOL_CALL else each
            for each in await turn.store.append(turn.session_id, loads_of_new_tools(new))
        ]
    return await run(ask)


def _new_tools(turn: TurnState) -> list[ToolDefinition]:
    """Return the core tools that the session did not begin with, where the model can be told of them in place."""
    model, registry, began_with = turn.model, turn.parts.registry, turn.session.prompt.core_tools()
    core = turn.active_tools().core
    if began_with is None or all(each.name in began_with for each in core):
        return []
    is_in_place = model.tool_loading is ToolLoading.DISPATCH or (
        model.loads_natively and model.tool_loading is not ToolLoading.APPEND
    )
    if not is_in_place or all(each.name != LOAD_TOOL_GROUP for each in core):
        return []
    return [each for each in core if each.name not in began_with and registry.get_group_definition(each.name) is None]


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
