"""The hooks of plugins on a call, and the context of the plugin that a tool is from, as running a tool needs them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

    from oneclaw_core.contract.context import PluginContext
    from oneclaw_core.permissions.requests import RequirePermission
    from oneclaw_core.types.tools import ToolResult


class AroundCall(Protocol):
    """An async context manager around the tool, which is told the result."""

    async def __aenter__(self) -> object: ...

    def set_result(self, result: ToolResult) -> None:
        """Note how the work ended, before it is left."""
        ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...


class CallHooks(Protocol):
    """The hooks of plugins on one call."""

    arguments: Mapping[str, Any]

    async def rewrite(
        self, arguments: dict[str, Any], faults_of: Callable[[dict[str, Any]], list[str]]
    ) -> dict[str, Any]:
        """Have plugins rewrite the arguments; raise ``PluginError`` if the call must not run."""
        ...

    async def check(self, ask: RequirePermission) -> None:
        """Ask the gates; raise ``PermissionDeniedError`` if the call must not run."""
        ...

    def around(self) -> AroundCall:
        """Return a context manager to enter around the tool."""
        ...

    async def rewrite_result(self, result: ToolResult) -> ToolResult:
        """Have plugins rewrite the result of a call that ran."""
        ...

    def decided(self, permission: str, subject: str | None, *, is_granted: bool, decided_by: str) -> None:
        """Tell observers of a decision on a permission."""
        ...

    def finished(self, result: ToolResult) -> None:
        """Tell observers of the result."""
        ...


class PluginsOfCalls(Protocol):
    """The plugins at work, as running a tool needs them."""

    def are_about(self, tool: str, group: str | None, *, is_in_turn: bool, is_read_only: bool = False) -> bool:
        """Return True if a call of a tool concerns any hook."""
        ...

    def of_call(self, **about: Any) -> CallHooks:
        """Return the hooks on a call, described as in ``CallInfo``."""
        ...

    async def context_of_tool(self, plugin: str | None) -> PluginContext | None:
        """Return the context for a tool of a plugin, which is started first; ``None`` for a tool of no plugin.

        Raises:
            PluginError: the plugin cannot be started now.
        """
        ...
