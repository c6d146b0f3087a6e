"""The tools for agents; the core tool ``create_agent`` makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_config.answers import answering, ask_to_change, listed, required
from oneclaw_core import UsageError

if TYPE_CHECKING:
    from oneclaw_core import Agent, ToolContext

_PROMPT_CHARACTERS = 100
_PROMPTS = "the prompts of agents"


@answering()
async def list_agents(offset: int = 0, *, context: ToolContext) -> str:
    """List the agents, the built-in one first."""
    agents = await context.services.agents.list()
    if not all(agent.is_builtin for agent in agents):
        context.mark_private(_PROMPTS)
    lines = [f"- {_described(agent)}" for agent in agents]
    return listed(lines, offset, context, "list_agents")


@answering("update_failed")
async def update_agent(
    agent_id: str,
    name: str | None = None,
    description: str | None = None,
    system_prompt: str | None = None,
    preferred_provider_id: str | None = None,
    preferred_model_id: str | None = None,
    *,
    context: ToolContext,
) -> str:
    """Change what is given of an agent."""
    agents = context.services.agents
    agent = await agents.get(required("agent_id", agent_id))
    changes: dict[str, Any] = {}
    if name is not None:
        changes["name"] = required("name", name)
    if description is not None:
        changes["description"] = description
    if system_prompt is not None:
        changes["system_prompt"] = required("system_prompt", system_prompt)
    if preferred_provider_id is not None or preferred_model_id is not None:
        changes["model"] = await _preferred(agent, preferred_provider_id, preferred_model_id, context)
    changes = {key: value for key, value in changes.items() if getattr(agent, key) != value}
    if not changes:
        return f"Nothing to change: agent '{agent.name}' is as it was."
    await agents.check_update(agent.id, **changes)
    shown = "; ".join(f"{key}: {_short(getattr(agent, key))} -> {_short(value)}" for key, value in changes.items())
    await ask_to_change(context, f"change the agent '{agent.name}': {shown}", f"agent {agent.name}")
    changed = await agents.update(agent.id, **changes)
    return f"Agent '{changed.name}' is changed: {', '.join(changes)}."


@answering("deletion_failed")
async def delete_agent(agent_id: str, *, context: ToolContext) -> str:
    """Delete an agent; its sessions go on with the General Assistant."""
    agents = context.services.agents
    agent = await agents.get(required("agent_id", agent_id))
    await agents.check_deletion(agent.id or agent.name)
    await ask_to_change(context, f"delete the agent '{agent.name}'", f"deletion of agent {agent.name}")
    _, sessions = await agents.delete(agent.id)
    moved = f" Its {sessions} sessions go on with the General Assistant." if sessions else ""
    return f"Agent '{agent.name}' is deleted.{moved}"


async def _preferred(agent: Agent, provider_id: str | None, model_id: str | None, context: ToolContext) -> str | None:
    """Put the preferred model together; empty texts take it away."""
    old_provider, _, old_model = (agent.model or "").partition("/")
    provider = old_provider if provider_id is None else provider_id.strip()
    model = old_model if model_id is None else model_id.strip()
    if not provider and not model:
        return None
    if not provider or not model:
        raise UsageError(
            "preferred_provider_id and preferred_model_id go together: give both, or empty texts for both to take the "
            "preference away"
        )
    await context.services.configuration.models.check_model(f"{provider}/{model}")
    return f"{provider}/{model}"


def _described(agent: Agent) -> str:
    prompt = " ".join(agent.system_prompt.split())
    cut = prompt[:_PROMPT_CHARACTERS] + ("..." if len(prompt) > _PROMPT_CHARACTERS else "")
    parts = [
        f"{agent.name} (id {agent.id or agent.name}{', built in' if agent.is_builtin else ''})",
        agent.description or None,
        f"prefers {agent.model}" if agent.model else None,
        f"prompt: {cut}",
    ]
    return "; ".join(part for part in parts if part)


def _short(value: object) -> str:
    text = "none" if value is None else str(value)
    return repr(text if len(text) <= 200 else text[:200] + "...")
