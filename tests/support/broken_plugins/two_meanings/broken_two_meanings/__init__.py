"""Two of its groups explain one permission, each in its own words."""

from oneclaw_core import ToolGroupDefinition, hookimpl, tool


@tool(group="things", required_permissions=["things.look"])
def thing_lookup(name: str) -> str:
    """Look a thing up by its name, when the user asks for one.

    Args:
        name: of the thing.
    """
    return name[:20]


@tool(group="others", required_permissions=["things.look"])
def other_lookup(name: str) -> str:
    """Look another thing up by its name, when the user asks for what is no thing.

    Args:
        name: of the other thing.
    """
    return name[:20]


@hookimpl
def register_groups(register):
    text = "Look things up when the user asks for one"
    register(ToolGroupDefinition("things", "Things", text, {"things.look": "look things up"}))
    text = "Find other things when the user asks for some"
    register(ToolGroupDefinition("others", "Others", text, {"things.look": "find other things"}))


@hookimpl
def register_tools(register):
    register(thing_lookup)
    register(other_lookup)
