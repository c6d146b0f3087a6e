"""OneClaw: a framework for tool-using AI agents whose tools come from plugins and are loaded on demand.

What is named here is public and stable: plugin authors and embedders import from ``oneclaw_core`` and nowhere below.
Names are imported when first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oneclaw_core.errors import (
        DuplicateToolError,
        NotFoundError,
        OneClawError,
        PermissionDeniedError,
        PluginError,
        ProviderAuthenticationError,
        ProviderError,
        ProviderRateLimitError,
        ProviderRequestError,
        ProviderUnavailableError,
        SessionBusyError,
        SettingsError,
        StoreDamagedError,
        StoreError,
        StoreVersionError,
        ToolDefinitionError,
        TurnDeadlineError,
        TurnError,
        TurnLimitError,
        UsageError,
    )
    from oneclaw_core.hookspecs import CONTRACT_VERSION, hookimpl
    from oneclaw_core.messages import Message, MessageType, TokenUsage, ToolCall, ToolCallStatus
    from oneclaw_core.providers.base import (
        ModelEvent,
        ModelInfo,
        ModelRequest,
        ModelResponse,
        Provider,
        ProviderConfig,
        RetryNotice,
        TextDelta,
    )
    from oneclaw_core.tools.context import ToolContext
    from oneclaw_core.tools.definition import Tool, ToolDefinition
    from oneclaw_core.tools.function import FunctionTool, tool
    from oneclaw_core.tools.groups import (
        ActiveTools,
        LoadToolGroupTool,
        ToolGroupDefinition,
        build_system_prompt_with_tool_groups,
        restore_loaded_groups,
    )
    from oneclaw_core.tools.manifest import parse_group_manifest
    from oneclaw_core.tools.paths import PathGuard
    from oneclaw_core.tools.registry import ToolRegistry, ToolSourceInfo, ToolSourceType
    from oneclaw_core.tools.result import ToolResult, ToolResultStatus

__version__ = "0.1.0"

_MODULE_OF = {
    name: module
    for module, names in {
        "errors": (
            "DuplicateToolError NotFoundError OneClawError PermissionDeniedError PluginError "
            "ProviderAuthenticationError ProviderError ProviderRateLimitError ProviderRequestError "
            "ProviderUnavailableError SessionBusyError SettingsError StoreDamagedError StoreError StoreVersionError "
            "ToolDefinitionError TurnDeadlineError TurnError TurnLimitError UsageError"
        ),
        "hookspecs": "CONTRACT_VERSION hookimpl",
        "messages": "Message MessageType TokenUsage ToolCall ToolCallStatus",
        "providers.base": (
            "ModelEvent ModelInfo ModelRequest ModelResponse Provider ProviderConfig RetryNotice TextDelta"
        ),
        "tools.context": "ToolContext",
        "tools.definition": "Tool ToolDefinition",
        "tools.function": "FunctionTool tool",
        "tools.groups": (
            "ActiveTools LoadToolGroupTool ToolGroupDefinition build_system_prompt_with_tool_groups "
            "restore_loaded_groups"
        ),
        "tools.manifest": "parse_group_manifest",
        "tools.paths": "PathGuard",
        "tools.registry": "ToolRegistry ToolSourceInfo ToolSourceType",
        "tools.result": "ToolResult ToolResultStatus",
    }.items()
    for name in names.split()
}

__all__ = [*sorted(_MODULE_OF), "__version__"]  # noqa: PLE0604  # names, every one


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
