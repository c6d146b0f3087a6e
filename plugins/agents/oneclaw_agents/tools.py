"""The tools of the group ``agents``, as ``agents.json`` declares them, and what people use instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_agents.runs import KIND, Runs, Task
from oneclaw_core import AgentLimits, OneClawError, ToolContext, ToolResult, ToolSelection, UsageError
from oneclaw_core.tools import MAX_TURN_DEPTH, depth_within, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oneclaw_core import ChatCommandContext

DEFAULT_REQUESTS = 50
DEFAULT_SECONDS = 1800
DEFAULT_WAIT_SECONDS = 300
_FRAME_CHARACTERS = 200
_TITLE_CHARACTERS = 80
_NO_CONVERSATION = ToolResult.error("not_available", "Sub-agents belong to a conversation, and there is none here.")


async def spawn_agent(
    task: str,
    name: str = "agent",
    agent: str | None = None,
    tools: Sequence[str] | None = None,
    groups: Sequence[str] | None = None,
    output_schema: dict[str, Any] | None = None,
    max_requests: int = DEFAULT_REQUESTS,
    max_tokens: int | None = None,
    max_seconds: int = DEFAULT_SECONDS,
    *,
    context: ToolContext,
) -> ToolResult:
    """Start a sub-agent, which has at most the tools, permissions and limits of the agent that starts it.

    Args:
        task: what it is to do.
        name: a word for people.
        agent: the name of an agent, ``None`` for the agent of the conversation.
        tools: the only core tools, ``None`` for all of the conversation's.
        groups: the only tool groups, loaded at once; ``None`` for all of the conversation's.
        output_schema: JSON Schema of its answer; ``None`` for a text.
        max_requests: how often it may ask the model.
        max_tokens: how many tokens it may use.
        max_seconds: how long it may take.
        context: of the call.
    """
    if context.session_id is None:
        return _NO_CONVERSATION
    if depth_within(context) > MAX_TURN_DEPTH:
        return ToolResult.error(
            "validation_error", f"Agents run one another at most {MAX_TURN_DEPTH} deep: do the task yourself."
        )
    if not task.strip():
        return ToolResult.error("validation_error", "task must not be blank.")
    try:
        if agent is not None:
            agent = (await context.services.agents.get(agent)).name
        wanted = Task(
            text=task,
            name=name,
            agent=agent,
            selection=_selection(tools, groups, context),
            groups=None if groups is None else tuple(groups),
            limits=AgentLimits(max_tool_rounds=max_requests, turn_max_tokens=max_tokens),
            max_seconds=max_seconds,
            output_schema=output_schema,
        )
        run_id = await context.plugin.once(Runs).start(wanted, context, context.session_id)
    except UsageError as error:
        return ToolResult.error("validation_error", f"No sub-agent was started: {error}.")
    return ToolResult.success(f"Sub-agent {run_id} works. Get its answer with wait_for_agents.")


async def wait_for_agents(
    agents: Sequence[str] | None = None,
    seconds: int = DEFAULT_WAIT_SECONDS,
    any: bool = False,  # noqa: A002  # the model's word
    *,
    context: ToolContext,
) -> ToolResult:
    """Wait for sub-agents of the conversation.

    Args:
        agents: their ids; ``None`` for those whose answers the conversation does not have.
        seconds: how long to wait.
        any: True to wait for the first one only.
        context: of the call.
    """
    if context.session_id is None:
        return _NO_CONVERSATION
    runs = context.plugin.once(Runs)
    known = await runs.documents(context.session_id)
    unknown = [each for each in agents or () if each not in known]
    if unknown:
        return ToolResult.error("not_found", f"This conversation has no sub-agent {', '.join(unknown)[:300]!r}.")
    ids = list(agents) if agents is not None else [each for each in known if not known[each].get("is_told")]
    if not ids:
        return ToolResult.success("No sub-agent works, and you have all answers.")
    context.progress(f"waiting for {len(ids)} sub-agents")
    await runs.wait(context.session_id, ids, seconds, for_any=any)
    found = await runs.documents(context.session_id)
    ended = {each: found[each] for each in ids if found[each]["state"] != "running"}
    for document in ended.values():
        _take_marks(document, context)
    await runs.note_told(context.session_id, ended)
    shown = context.shown_characters  # None for a script, which gets all of it
    room = None if shown is None else max(shown // len(ids) - _FRAME_CHARACTERS, 500)
    return ToolResult.success("\n\n".join(_described(each, found[each], room) for each in ids))


async def stop_agent(agent: str, *, context: ToolContext) -> ToolResult:
    """Stop a sub-agent of the conversation.

    Args:
        agent: its id.
        context: of the call.
    """
    if context.session_id is None:
        return _NO_CONVERSATION
    known = await context.plugin.once(Runs).documents(context.session_id)
    if agent not in known:
        return ToolResult.error("not_found", f"This conversation has no sub-agent {agent[:100]!r}.")
    if known[agent]["state"] != "running":
        return ToolResult.success(f"Sub-agent {agent} does not work any more: {known[agent]['state']}.")
    try:
        await context.services.background.stop(agent)
    except OneClawError as error:
        return ToolResult.error("execution_error", f"{error}.")
    return ToolResult.success(f"Sub-agent {agent} is stopped.")


async def list_sub_agents(context: ToolContext) -> ToolResult:
    """List the sub-agents of the conversation.

    Args:
        context: of the call.
    """
    if context.session_id is None:
        return _NO_CONVERSATION
    known = await context.plugin.once(Runs).documents(context.session_id)
    lines = [
        f"{run_id}: {_state(document)}; {one_line(document['task'], _TITLE_CHARACTERS)}"
        for run_id, document in known.items()
    ]
    return ToolResult.success("\n".join(lines) or "There are no sub-agents.")


async def agents_command(context: ChatCommandContext, rest: str) -> str:
    """List the sub-agents of the home in a chat, or stop one."""
    background = context.services.background
    verb, _, run_id = rest.partition(" ")
    if verb == "stop" and run_id.strip():
        return f"stopped {(await background.stop(run_id.strip())).id}"
    if rest:
        raise UsageError("/agents lists the sub-agents; /agents stop ID stops one")
    found = [each for each in await background.all_work() if each.kind == KIND]
    lines = [f"{each.id}: {each.state}; {one_line(each.title, _TITLE_CHARACTERS)}" for each in found]
    return "\n".join(lines) or "no sub-agent works"


def _selection(tools: Sequence[str] | None, groups: Sequence[str] | None, context: ToolContext) -> ToolSelection:
    """Select what is named out of what the conversation has.

    Raises:
        UsageError: something is named that it does not have.
    """
    own = context.services.registry.toolset(context.selection)
    missing = [each for each in tools or () if not own.allows(each)]
    missing += [each for each in groups or () if not own.has_group(each)]
    if missing:
        raise UsageError(f"you can give a sub-agent only what you have, which {', '.join(missing)[:300]} is not")
    named = ToolSelection(None if tools is None else frozenset(tools), None if groups is None else frozenset(groups))
    return named.narrowed_to(context.selection)


def _take_marks(document: dict[str, Any], context: ToolContext) -> None:
    """Mark the result by what the sub-agent has read."""
    for kind, origin in document["marks"]:
        if kind == "private":
            context.mark_private(origin)
        elif kind in ("outside", "page"):
            context.mark_outside(origin)


def _state(document: dict[str, Any]) -> str:
    used = f"{document['requests']} requests, {document['tokens']:,} tokens"
    return f"{document['state']} ({used})"


def _described(run_id: str, document: dict[str, Any], room: int | None) -> str:
    if document["state"] == "running":
        return f"{run_id}: still works"
    lines = [f"{run_id}: {_state(document)}"]
    if document["error"]:
        lines.append(f"Without an answer: {document['error']}. What it did stands in session {run_id}.")
    answer = document["answer"]
    if answer:
        more = 0 if room is None else len(answer) - room
        lines += [answer[:room], f"[{more:,} more characters: wait for {run_id} alone]"] if more > 0 else [answer]
    return "\n".join(lines)
