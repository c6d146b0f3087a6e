"""It ends the program at its end, with a status of its own."""

import atexit
import os

from oneclaw_core import ToolGroupDefinition, hookimpl, tool

atexit.register(os._exit, 9)


@tool(group="things")
def thing_lookup(name: str) -> str:
    """Look a thing up by its name, when the user asks for one.

    Args:
        name: of the thing.
    """
    return name[:20]


@hookimpl
def register_groups(register):
    register(ToolGroupDefinition("things", "Things", "Look things up when the user asks for one"))


@hookimpl
def register_tools(register):
    register(thing_lookup)
