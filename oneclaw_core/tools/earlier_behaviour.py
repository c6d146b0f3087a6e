"""Behaviour of tools as attributes of the tool, as version 0.2 read it; version 0.4 removes this module."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_core.types.tool_definition import ToolDefinition

_ATTRIBUTES = {"asks_itself": True, "checks_own_arguments": True, "is_poll": True, "isolation": "process"}


def earlier_behaviour(tool: object, definition: ToolDefinition) -> dict[str, Any]:
    """Return the behaviour that a tool declares by its attributes, and not in its definition.

    Args:
        tool: the tool, whose class may be from another package.
        definition: its definition.

    Returns:
        The attributes that 0.2 read, with their values; other values of them had no effect.
    """
    # A tool that answers for any attribute, such as a mock, declares nothing.
    places = [vars(each) for each in (*type(tool).__mro__, tool) if hasattr(each, "__dict__")]
    there = [name for name in _ATTRIBUTES if any(name in each for each in places)]
    found = {name: getattr(tool, name) for name in there}
    behaviour = definition.behaviour
    return {
        name: value
        for name, value in found.items()
        if (value is True or value == "process") and value == _ATTRIBUTES[name] != getattr(behaviour, name)
    }


def behaviour_advice(name: str, attributes: Iterable[str]) -> str:
    """Return the text of a warning about a tool that declares its behaviour by attributes."""
    new = ", ".join(f"{each}={_ATTRIBUTES[each]!r}" for each in attributes)
    return (
        f"the tool {name!r} says {new} by attributes of the tool; version 0.4 does not read them: "
        f"give its ToolDefinition behaviour=ToolBehaviour({new}), of oneclaw_core.tools"
    )


def with_earlier_behaviour(tool: object, definition: ToolDefinition) -> ToolDefinition:
    """Return a tool's definition with the behaviour that the tool declares by attributes.

    A ``DeprecationWarning`` names the tool and the new way.
    """
    earlier = earlier_behaviour(tool, definition)
    if not earlier:
        return definition
    warnings.warn(behaviour_advice(definition.name, earlier), DeprecationWarning, stacklevel=3)
    return replace(definition, behaviour=replace(definition.behaviour, **earlier))
