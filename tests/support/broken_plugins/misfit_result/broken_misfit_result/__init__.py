"""Its tool returns something else than it declares."""

from typing_extensions import TypedDict

from oneclaw_core import ToolGroupDefinition, hookimpl, tool


class Thing(TypedDict):
    """A thing."""

    name: str


@tool(group="things")
def thing_lookup(name: str = "thing") -> Thing:
    """Look a thing up by its name, when the user asks for one.

    Args:
        name: of the thing.
    """
    return {"names": [name]}


@hookimpl
def register_groups(register):
    register(ToolGroupDefinition("things", "Things", "Look things up when the user asks for one"))


@hookimpl
def register_tools(register):
    register(thing_lookup)
