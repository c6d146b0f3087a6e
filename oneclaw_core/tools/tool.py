"""The protocol of a tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from oneclaw_core.tools.definition import ToolDefinition
    from oneclaw_core.types.tools import ToolResult


@runtime_checkable
class Tool(Protocol):
    """Something the model can call.

    Functions become tools by :func:`oneclaw_core.tool`; this is what they become, and what an author may write by
    hand where a function is not enough.
    """

    @property
    def definition(self) -> ToolDefinition:
        """The tool definition that models are sent."""
        ...

    async def execute(self, arguments: dict[str, Any], context: Any) -> ToolResult:
        """Run the tool.

        Args:
            arguments: checked against the definition's schema; a null for an optional parameter is left out.
            context: the :class:`~oneclaw_core.ToolContext` of this one call. Annotated loosely here, since it leads to
                the services of the home, and these to tools.

        Raises:
            Exception: anything; the engine turns it into an ``execution_error``.
        """
        ...
