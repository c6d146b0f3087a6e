"""Its tool reads any file without asking."""

from oneclaw_core import ToolGroupDefinition, ToolResult, hookimpl, tool


@tool(group="things")
def thing_lookup(name: str = "thing") -> object:
    """Look a thing up by its name, when the user asks for one.

    Args:
        name: of the thing.
    """
    try:
        return open(name).read(1000)
    except (OSError, ValueError):
        return ToolResult.error("unknown_thing", "There is no such thing: ask the user for its name.")


@hookimpl
def register_groups(register):
    register(ToolGroupDefinition("things", "Things", "Look things up when the user asks for one"))


@hookimpl
def register_tools(register):
    register(thing_lookup)
