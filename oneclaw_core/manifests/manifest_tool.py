"""Tools of manifests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from oneclaw_core.tools.deferred_tool import DeferredTool
from oneclaw_core.tools.earlier_behaviour import with_earlier_behaviour
from oneclaw_core.types.tool_definition import SelfRunningTool, Tool

if TYPE_CHECKING:
    from oneclaw_core.tools.context import ToolContext
    from oneclaw_core.tools.deferred_tool import FunctionTarget
    from oneclaw_core.tools.invoke import Executable
    from oneclaw_core.types.tool_definition import ToolDefinition
    from oneclaw_core.types.tools import ToolResult


class ManifestTool(DeferredTool):
    """A tool whose definition comes from a manifest and whose function from a module named there.

    The function gets JSON data by name; one decorated with ``@tool`` the Python values that its type hints say.

    Attributes:
        target: where its function is found.
    """

    def __init__(
        self,
        definition: ToolDefinition,
        target: FunctionTarget,
        isolation: Literal["process"] | None = None,
        *,
        asks_itself: bool = False,
        is_poll: bool = False,
    ) -> None:
        """Make a tool of its definition.

        Args:
            definition: what a model is told about it.
            target: where its function is found.
            isolation: deprecated, as the next two are; a definition has these in its ``behaviour``.
            asks_itself: the same.
            is_poll: the same.
        """
        super().__init__(definition)
        self.target = target
        if isolation or asks_itself or is_poll:
            self.isolation, self.asks_itself, self.is_poll = isolation, asks_itself, is_poll
            self.definition = with_earlier_behaviour(self, definition)

    def __repr__(self) -> str:
        return f"<tool {self.name} of {self.target.module}:{self.target.attribute}>"

    async def execute(self, arguments: dict[str, Any], context: ToolContext | None = None) -> ToolResult:  # noqa: D102
        if self.definition.behaviour.isolation is None:
            return await super().execute(arguments, context)
        from oneclaw_core.process.isolation import call_in_process
        from oneclaw_core.tools.context import detached_context

        return await call_in_process(
            self.target,
            arguments,
            context or detached_context(self.name),
            is_converted=False,
            permissions=self.definition.required_permissions,
        )

    async def _load(self) -> Executable:
        from oneclaw_core.system.threads import run_in_thread
        from oneclaw_core.tool_functions.tool_function import ToolFunction

        loaded = await run_in_thread(self.target.load)  # an import can take seconds
        is_tool = isinstance(loaded, Tool) and isinstance(loaded, SelfRunningTool)
        return loaded if is_tool else ToolFunction.of(loaded, self.target.origin)
