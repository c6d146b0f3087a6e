"""Its tool shows its traceback to the model."""

import traceback

from oneclaw_core import ToolGroupDefinition, ToolResult, hookimpl, tool


@tool(group="things")
def thing_lookup(name: str = "thing") -> object:
    """Look a thing up by its name, when the user asks for one.

    Args:
        name: of the thing.
    """
    try:
        return {"thing": 1}[name]
    except KeyError:
        return ToolResult.error("unknown_thing", traceback.format_exc())


@hookimpl
def register_groups(register):
    register(ToolGroupDefinition("things", "Things", "Look things up when the user asks for one"))


@hookimpl
def register_tools(register):
    register(thing_lookup)
