"""What a model is sent."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from oneclaw_core.providers.base import ModelRequest
from oneclaw_core.skills.listing import skills_section
from oneclaw_core.skills.skill import LOAD_SKILL
from oneclaw_core.tools.groups import build_system_prompt_with_tool_groups
from oneclaw_core.tools.load_tool_group import active_tools
from oneclaw_core.types.messages import Message, MessageType
from oneclaw_core.types.tool_result import shown_part

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from oneclaw_core.skills.skill import Skill
    from oneclaw_core.tools.registry import ToolRegistry
    from oneclaw_core.types.agents import Agent


def system_prompt(agent: Agent, registry: ToolRegistry, *, memory: str = "", skills: Sequence[Skill] = ()) -> str:
    """Put the system prompt together: the agent's instructions, memory, the lists of skills and of tool groups.

    Args:
        agent: whose instructions.
        registry: whose groups; one without an enabled tool for the agent is not listed.
        memory: what is remembered of the user.
        skills: those that can be loaded.
    """
    parts = (agent.system_prompt, memory, skills_section(tuple(skills)))
    base = "\n\n".join(part for part in parts if part.strip())
    return build_system_prompt_with_tool_groups(base, registry.selected(agent.selection).groups)


def shown_history(messages: Iterable[Message]) -> list[Message]:
    """Cut the results in a history to what a model is shown of them, and put them in the order of their calls.

    They were stored in the order in which they came, which a turn does not keep to either.
    """
    shown: list[Message] = []
    places: dict[str | None, int] = {}
    results: list[Message] = []
    for message in messages:
        if message.type is MessageType.TOOL_RESULT:
            cut = message.shown_characters is not None
            text = shown_part(message.content, message.shown_characters) if cut else message.content
            results.append(replace(message, content=text) if cut else message)
            continue
        if results:
            shown += _in_call_order(results, places)
            results = []
        if message.type is MessageType.TOOL_CALL:
            places[message.tool_call_id] = len(places)
        shown.append(message)
    return shown + _in_call_order(results, places)


def _in_call_order(results: list[Message], places: Mapping[str | None, int]) -> list[Message]:
    if len(results) > 1:
        results.sort(key=lambda result: places.get(result.tool_call_id, -1))
    return results


def model_request(
    agent: Agent,
    registry: ToolRegistry,
    model: str,
    session_id: str,
    history: Sequence[Message],
    groups: Sequence[str],
    *,
    memory: str = "",
    skills: Sequence[Skill] = (),
) -> ModelRequest:
    """Put together everything a model is sent.

    Args:
        agent: its instructions, parameters and selection of tools.
        registry: the tools there are.
        model: the model's name at its provider.
        session_id: the conversation.
        history: as it is shown to a model.
        groups: the loaded tool groups in the order of loading.
        memory: what is remembered of the user.
        skills: those there are; they are listed if the agent has the tool to load them.
    """
    tools = active_tools(registry, groups, agent.selection)
    can_load_skills = any(each.name == LOAD_SKILL for each in tools.core)
    return ModelRequest(
        model=model,
        system_prompt=system_prompt(agent, registry, memory=memory, skills=skills if can_load_skills else ()),
        messages=tuple(history),
        tools=tools,
        session_id=session_id,
        parameters=agent.parameters,
    )
