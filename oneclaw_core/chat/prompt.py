"""What a model is sent."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from oneclaw_core.messages import Message, MessageType
from oneclaw_core.providers.base import ModelRequest
from oneclaw_core.tools.groups import active_tools, build_system_prompt_with_tool_groups
from oneclaw_core.tools.result import shown_part

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from oneclaw_core.agents import Agent
    from oneclaw_core.tools.registry import ToolRegistry


def system_prompt(agent: Agent, registry: ToolRegistry) -> str:
    """Put the system prompt together: the agent's instructions, then the list of tool groups.

    Args:
        agent: whose instructions.
        registry: whose groups; one without an enabled tool is not listed.
    """
    return build_system_prompt_with_tool_groups(agent.system_prompt, registry.get_available_group_definitions())


def shown_history(messages: Iterable[Message]) -> list[Message]:
    """Cut the results in a history to what a model is shown of them."""
    return [
        replace(message, content=shown_part(message.content, message.shown_characters))
        if message.type is MessageType.TOOL_RESULT and message.shown_characters is not None
        else message
        for message in messages
    ]


def model_request(
    agent: Agent, registry: ToolRegistry, model: str, session_id: str, history: Sequence[Message], groups: Sequence[str]
) -> ModelRequest:
    """Put together everything a model is sent.

    Args:
        agent: its instructions and parameters.
        registry: the tools there are.
        model: the model's name at its provider.
        session_id: the conversation.
        history: as it is shown to a model.
        groups: the loaded tool groups in the order of loading.
    """
    return ModelRequest(
        model=model,
        system_prompt=system_prompt(agent, registry),
        messages=tuple(history),
        tools=active_tools(registry, groups),
        session_id=session_id,
        parameters=agent.parameters,
    )
