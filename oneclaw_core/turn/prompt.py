"""What a model is sent."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from oneclaw_core.providers.base import ModelRequest
from oneclaw_core.tools.groups import build_system_prompt_with_tool_groups
from oneclaw_core.tools.load_tool_group import active_tools
from oneclaw_core.types.messages import Message, MessageType
from oneclaw_core.types.text import shown_part

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from oneclaw_core.plugins.contract.arguments import PromptSection
    from oneclaw_core.tools.registry import ToolRegistry
    from oneclaw_core.types.agents import Agent


def system_prompt(
    agent: Agent, registry: ToolRegistry, *, kept_sections: str = "", current_sections: Sequence[PromptSection] = ()
) -> str:
    """Put the system prompt together: the agent's instructions, sections of plugins, the list of tool groups.

    Args:
        agent: whose instructions.
        registry: whose groups; one without an enabled tool for the agent is not listed.
        kept_sections: sections that are kept with the session.
        current_sections: sections as they are now; left out if they are about a core tool that the agent lacks.
    """
    selected = registry.selected(agent.selection)
    core = {each.name for each in selected.core_tools}
    current = (each.text for each in current_sections if each.core_tool is None or each.core_tool in core)
    base = "\n\n".join(part for part in (agent.system_prompt, kept_sections, *current) if part.strip())
    return build_system_prompt_with_tool_groups(base, selected.groups)


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
    kept_sections: str = "",
    current_sections: Sequence[PromptSection] = (),
) -> ModelRequest:
    """Put together everything a model is sent.

    Args:
        agent: its instructions, parameters and selection of tools.
        registry: the tools there are.
        model: the model's name at its provider.
        session_id: the conversation.
        history: as it is shown to a model.
        groups: the loaded tool groups in the order of loading.
        kept_sections: sections of the system prompt that are kept with the session.
        current_sections: sections of it as they are now.
    """
    tools = active_tools(registry, groups, agent.selection)
    return ModelRequest(
        model=model,
        system_prompt=system_prompt(agent, registry, kept_sections=kept_sections, current_sections=current_sections),
        messages=tuple(history),
        tools=tools,
        session_id=session_id,
        parameters=agent.parameters,
    )
