"""Sub-agents in parallel, questions to the user and a to-do list for OneClaw."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from oneclaw_core import hookimpl

if TYPE_CHECKING:
    from oneclaw_core import ChatCommandRegistrar, CommandRegistrar, SettingsRegistrar, ToolRegistrar


@hookimpl
def register_tools(register: ToolRegistrar) -> None:
    """Declare a core tool and the tool groups; their functions are imported when they first run."""
    register.manifest(files(__name__) / "create_agent.json")
    register.manifest(files(__name__) / "agents.json")
    register.manifest(files(__name__) / "session.json")


@hookimpl
def register_settings(register: SettingsRegistrar) -> None:
    """Register the limits."""
    register("oneclaw_agents.settings:AgentSettings")


@hookimpl
def register_chat_commands(register: ChatCommandRegistrar) -> None:
    """Register what people look at in a chat."""
    register("agents", "oneclaw_agents.tools:agents_command", help="List the sub-agents; /agents stop ID stops one.")
    register("todo", "oneclaw_agents.session:show_todos", help="Show the to-do list of this conversation.")


@hookimpl
def register_commands(register: CommandRegistrar) -> None:
    """Add ``oneclaw background`` and the commands of ``oneclaw agents``."""
    register(
        "background",
        "oneclaw_agents.background:background",
        help="List and stop sub-agents and commands in the background.",
    )
    register(
        "list", "oneclaw_agents.listing:list_agents", help="List all agents, the built-in one first.", parent="agents"
    )
    register("show", "oneclaw_agents.listing:show", help="Show an agent with its tools.", parent="agents")
    register("create", "oneclaw_agents.commands:create", help="Make an agent.", parent="agents")
    register("edit", "oneclaw_agents.commands:edit", help="Change an agent.", parent="agents")
    register("delete", "oneclaw_agents.commands:delete", help="Delete an agent.", parent="agents")
