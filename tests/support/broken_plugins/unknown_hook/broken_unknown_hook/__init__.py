"""One of its hooks is misspelled."""

from oneclaw_core import ToolGroupDefinition, hookimpl, tool


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


@hookimpl
def register_tolls(register):
    pass
