"""The core tool ``create_agent``: making an agent, and having it do a task at once."""

from __future__ import annotations

import shlex
from contextlib import aclosing
from typing import TYPE_CHECKING

from oneclaw_core import OneClawError, ToolResult, ToolSelection, UsageError
from oneclaw_core.tools import LOAD_TOOL_GROUP, MAX_TURN_DEPTH, depth_within

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_core import Agent, ToolContext, ToolRegistry

EVERYTHING = "*"


async def create_agent(
    name: str,
    system_prompt: str,
    description: str = "",
    model: str | None = None,
    tools: list[str] | None = None,
    groups: list[str] | None = None,
    task: str | None = None,
    *,
    context: ToolContext,
) -> ToolResult:
    """Make an agent, which has at most the tools of the agent that makes it.

    Args:
        name: not that of another agent.
        system_prompt: its instructions.
        description: one line for people.
        model: ``PROVIDER/MODEL``, the default if absent.
        tools: names of core tools and of single tools of groups, ``*`` for all core tools.
        groups: names of tool groups, ``*`` for all. What is not named, the agent does not have; with neither, it has
            the tools of the agent that makes it.
        task: what it is to do at once, in a separate session.
        context: of the call.

    Returns:
        That it is made, and its answer to the task; ``validation_error``, ``creation_failed`` or ``task_failed``.
    """
    task = (task or "").strip()
    if task and depth_within(context) > MAX_TURN_DEPTH:
        return ToolResult.error(
            "validation_error",
            f"Agents run one another at most {MAX_TURN_DEPTH} deep: leave task out, and do the task yourself.",
        )
    try:
        selection = _selection(tools, groups, context.selection, context.services.registry)
        outer = context.turn.outer_agents() if context.turn is not None else ()
        agent = await context.services.agents.create(
            name,
            system_prompt,
            makers=(context.agent_name, *outer),
            description=description,
            model=(model or "").strip() or None,
            selection=selection,
        )
    except UsageError as error:
        return ToolResult.error("validation_error", f"No agent was created: {error}")
    except OneClawError as error:
        return ToolResult.error("creation_failed", f"No agent was created: {error}")
    created = f"Agent '{agent.name}' is created (id {agent.id})."
    if not task:
        return ToolResult.success(
            f"{created} This conversation goes on without it. "
            f"The user can talk to it with: oneclaw chat --agent {shlex.quote(agent.name)}"
        )
    try:
        session, answer = await _run(agent, task, context)
    except OneClawError as error:
        return ToolResult.error("task_failed", f"{created} But it did not finish the task: {error}")
    return ToolResult.success(f"{created} It did the task in session {session}. Its answer:\n\n{answer or '(none)'}")


async def _run(agent: Agent, task: str, context: ToolContext) -> tuple[str, str]:
    """Run an agent on a task; gives the session and the final answer."""
    context.progress(f"{agent.name} begins")
    session = answer = ""
    async with aclosing(context.send_message(task, agent=agent.id)) as events:
        async for event in events:
            said = event.to_dict()
            if said["event"] == "tool_call":
                context.progress(f"{agent.name} calls {said['name']}")
            elif said["event"] == "turn_finished":
                session, answer = said["session"], said["text"]
    return session, answer


def _selection(
    tools: Iterable[str] | None, groups: Iterable[str] | None, own: ToolSelection, registry: ToolRegistry
) -> ToolSelection:
    """Select what is named for the new agent, out of what the one that makes it has.

    Raises:
        UsageError: something is named that this one does not have; unknown names are left for later.
    """
    own = own if own.within is None else _flat(own, registry)
    if tools is None and groups is None:
        return own
    named = ToolSelection.naming(tools or (), groups or ())
    seen = registry.toolset(own)
    missing = [name for name in named.tools or () if registry.get_tool(name) is not None and not seen.allows(name)]
    known = [name for name in named.groups or () if registry.get_group_definition(name) is not None]
    missing += [name for name in known if not own.allows_whole_group(name)]
    if missing:
        raise UsageError(
            f"you can give an agent only what you have yourself, which {', '.join(sorted(missing))} is not"
        )
    return ToolSelection(
        own.tools if EVERYTHING in (tools or ()) else named.tools,
        own.groups if EVERYTHING in (groups or ()) else named.groups,
    )


def _flat(selection: ToolSelection, registry: ToolRegistry) -> ToolSelection:
    """Name one by one what is in a selection that depends on others."""
    seen = registry.toolset(selection)
    groups = {each.name for each in registry.get_all_group_definitions() if selection.allows_whole_group(each.name)}
    tools = set()
    for name in registry.get_all_tool_names():
        source = registry.get_source_info(name)
        is_single = source is None or source.group_name not in groups
        if is_single and name != LOAD_TOOL_GROUP and seen.allows(name):  # that one comes by itself
            tools.add(name)
    return ToolSelection(frozenset(tools), frozenset(groups))
