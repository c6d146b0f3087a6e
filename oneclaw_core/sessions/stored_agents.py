"""The store of agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.sessions import agents
from oneclaw_core.sessions.store_part import StorePart

if TYPE_CHECKING:
    from collections.abc import Callable

    from oneclaw_core.types.agents import Agent


class StoredAgents(StorePart):
    """Agents that users and models created."""

    async def list_agents(self) -> list[Agent]:
        """List the stored agents, by their names in alphabetical order; built-in ones are not stored."""
        return await self._database.read(agents.listed)

    async def find_agent(self, name_or_id: str) -> Agent | None:
        """Find an agent, built in or stored, by its name, in any case, or its id."""
        return await self._database.read(agents.find_any, name_or_id)

    async def create_agent(self, agent: Agent) -> Agent:
        """Store a new agent and return it with its id.

        Raises:
            DuplicateError: the name is taken.
        """
        return await self._database.write(agents.create, agent)

    async def change_agent(self, name_or_id: str, change: Callable[[Agent], Agent]) -> Agent:
        """Change a stored agent and return it; its sessions follow a change of its name.

        Args:
            name_or_id: which agent.
            change: returns the new agent for the one that is stored now.

        Raises:
            NotFoundError: there is no such agent.
            ProtectedError: it is built in.
            DuplicateError: the new name is taken.
        """
        return await self._database.write(agents.change, name_or_id, change)

    async def delete_agent(self, name_or_id: str) -> tuple[Agent, int]:
        """Delete a stored agent and count its sessions, which continue with the General Assistant.

        Raises:
            NotFoundError: there is no such agent.
            ProtectedError: it is built in.
        """
        return await self._database.write(agents.remove, name_or_id)
