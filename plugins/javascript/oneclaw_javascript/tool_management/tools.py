"""The four tools of the group ``js_tool_management``."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec

from oneclaw_core import (
    DuplicateError,
    NotFoundError,
    OneClawError,
    PermissionDeniedError,
    ProtectedError,
    ToolResult,
    UsageError,
)
from oneclaw_javascript.user_tools.registered import RegisteredTools

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from oneclaw_core import ToolContext
    from oneclaw_javascript.user_tools.changes import ToolChange
    from oneclaw_javascript.user_tools.user_tool import UserTool

_DESCRIPTION_CHARACTERS = 200
_WRITE_PERMISSION = "tools.write"

_Parameters = ParamSpec("_Parameters")

# The first that fits counts.
_ERROR_TYPES: tuple[tuple[type[OneClawError], str], ...] = (
    (DuplicateError, "duplicate_name"),
    (NotFoundError, "not_found"),
    (ProtectedError, "protected_tool"),
    (UsageError, "validation_error"),
    (OneClawError, "io_error"),
)


def _answering(tool: Callable[_Parameters, Awaitable[str]]) -> Callable[_Parameters, Awaitable[ToolResult]]:
    """Turn what is refused into error types.

    Args:
        tool: returns what the model is told.
    """

    @wraps(tool)
    async def answered(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> ToolResult:
        try:
            return ToolResult.success(await tool(*args, **kwargs))
        except PermissionDeniedError:
            raise
        except OneClawError as error:
            error_type = next(name for kind, name in _ERROR_TYPES if isinstance(error, kind))
            return ToolResult.error(error_type, _sentence(str(error)))

    return answered


@_answering
async def create_js_tool(
    name: str,
    description: str,
    parameters_schema: str | dict[str, Any],
    js_code: str,
    required_permissions: str = "",
    timeout_seconds: float = 30,
    tools: str = "",
    *,
    context: ToolContext,
) -> str:
    """Create a tool, once all of it is checked and the user agrees."""
    own = await RegisteredTools.of(context.services)
    change = await own.changes.creation(
        name.strip(),
        description,
        parameters_schema,
        js_code,
        required_permissions=required_permissions,
        timeout_seconds=timeout_seconds,
        tools=tools,
    )
    await context.ask_permission(_WRITE_PERMISSION, _shown(change), f"new tool {name.strip()}")
    await own.make(change)
    if not context.selection.allows(change.name, None):
        return f"Tool '{change.name}' is created. It is not among this agent's tools; others can call it at once."
    return f"Tool '{change.name}' is created. You can call it from your next answer on."


@_answering
async def list_user_tools(*, context: ToolContext) -> str:
    """List the user's tools by their names, then what is wrong in their folder."""
    tools = await RegisteredTools.of(context.services)
    lines = [_line(tool) for tool in sorted(tools.tools, key=lambda tool: tool.name)]
    if not lines:
        lines = ["The user has no tools yet; create_js_tool makes one."]
    if tools.is_disabled:
        lines.append("The user's own tools are disabled. The user can enable them with: oneclaw plugins enable user")
    if tools.problems:
        lines += ["", "Left out or to be fixed:"]
        lines += [f"- {problem.cause} (what to do: {problem.remedy})" for problem in tools.problems]
    return "\n".join(lines)


@_answering
async def update_js_tool(
    name: str,
    description: str | None = None,
    parameters_schema: str | dict[str, Any] | None = None,
    js_code: str | None = None,
    required_permissions: str | None = None,
    timeout_seconds: float | None = None,
    tools: str | None = None,
    *,
    context: ToolContext,
) -> str:
    """Change what is given of a tool, once all of it is checked and the user agrees."""
    own = await RegisteredTools.of(context.services)
    change = await own.changes.update(
        name.strip(),
        description=description,
        parameters=parameters_schema,
        code=js_code,
        required_permissions=required_permissions,
        timeout_seconds=timeout_seconds,
        tools=tools,
    )
    if change is None:
        return f"Nothing to change: tool '{name.strip()}' is as it was."
    await context.ask_permission(_WRITE_PERMISSION, _shown(change), f"tool {name.strip()}")
    await own.make(change)
    return f"Tool '{change.name}' is changed. The change counts from your next answer on."


@_answering
async def delete_js_tool(name: str, *, context: ToolContext) -> str:
    """Delete a tool, once the user agrees."""
    tools = await RegisteredTools.of(context.services)
    change = await tools.changes.deletion(name.strip())
    await context.ask_permission(_WRITE_PERMISSION, change.summary, f"deletion of tool {name.strip()}")
    await tools.make(change)
    return f"Tool '{change.name}' is deleted."


def _shown(change: ToolChange) -> str:
    """Return what the user decides on: what is done, and all of the code if it is new."""
    if change.code is None or change.code == change.replaces[1]:
        return change.summary
    return f"{change.summary}\n{change.code.decode()}"


def _line(tool: UserTool) -> str:
    description = " ".join(tool.definition.description.split())
    if len(description) > _DESCRIPTION_CHARACTERS:
        description = description[:_DESCRIPTION_CHARACTERS] + "..."
    group = f", tool group {tool.group}" if tool.group is not None else ""
    return f"- {tool.name}: {description} ({tool.file}{group})"


def _sentence(text: str) -> str:
    # A name at the beginning stays as it is.
    return text[:1].upper() + text[1:] if text.partition(" ")[0].isalpha() else text
