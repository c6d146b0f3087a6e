"""The tools that a running tool may call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.tools.calls.available import unavailable_tool, unknown_tool
from oneclaw_core.types.tool_groups import FIND_TOOL_GROUPS, LOAD_TOOL_GROUP

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_core.tools.calls.call import Call
    from oneclaw_core.tools.registry import RegisteredTool, ToolRegistry

# Calls that change which tools a session has belong to the session.
_OF_THE_SESSION = frozenset({LOAD_TOOL_GROUP, FIND_TOOL_GROUPS})
_RUNS_SCRIPTS = "js_eval"


class CallableTools:
    """Finds the tools that the tool of a call may call.

    Args:
        registry: the tools there are.
        outer: the call.
    """

    def __init__(self, registry: ToolRegistry, outer: Call) -> None:
        self._registry = registry
        self._outer = outer

    def find(self, name: str) -> RegisteredTool | None:
        """Return a tool; ``None`` if there is none of that name."""
        return self._outer.caller.own_tools.get(name) or self._registry.find(name)

    def names(self) -> tuple[str, ...]:
        """Return the names of all tools that can be called now."""
        caller = self._outer.caller
        found = dict.fromkeys((*caller.active.names, *caller.own_tools))
        return tuple(each for each in found if self._problem(each) is None)

    def problems(self, names: Iterable[str]) -> dict[str, str]:
        """Return why tools cannot be called, by their names; those that can are left out."""
        found = {name: self._problem(name) for name in names}
        return {name: problem for name, problem in found.items() if problem is not None}

    def only_for_models(self, name: str) -> str | None:
        """Return why only a model may call a tool, ``None`` if others may too."""
        if name in _OF_THE_SESSION:
            return f"Tool '{name}' cannot be called by a script: call it by itself, then run the script."
        if name in (_RUNS_SCRIPTS, self._outer.asked.name):
            return f"Tool '{name}' cannot be called by a script."
        found = self.find(name)
        if found is not None and found.definition.behaviour.is_poll:
            return f"Tool '{name}' waits for something, so a script cannot call it: call it by itself."
        return None

    def _problem(self, name: str) -> str | None:
        """Return why a tool cannot be called now, ``None`` if it can."""
        caller, found = self._outer.caller, self.find(name)
        if found is None:
            return unknown_tool(self._registry, name, caller)
        return self.only_for_models(name) or unavailable_tool(
            self._registry, name, found.source, caller, self._outer.loaded
        )
