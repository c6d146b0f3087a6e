"""The four tools of the group ``js_tool_management``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_javascript.tool_management.answers import WRITE_PERMISSION, answering
from oneclaw_javascript.user_tools.registered import RegisteredTools

if TYPE_CHECKING:
    from oneclaw_core import ToolContext
    from oneclaw_javascript.user_tools.user_tool import UserTool

_DESCRIPTION_CHARACTERS = 200


@answering
async def create_js_tool(
    name: str,
    description: str,
    parameters_schema: str | dict[str, Any],
    js_code: str,
    required_permissions: str = "",
    timeout_seconds: float = 30,
    *,
    context: ToolContext,
) -> str:
    """Create a tool, once all of it is checked and the user agrees."""
    tools = await RegisteredTools.of(context.services)
    change = await tools.changes.creation(
        name.strip(),
        description,
        parameters_schema,
        js_code,
        required_permissions=required_permissions,
        timeout_seconds=timeout_seconds,
    )
    await context.ask_permission(WRITE_PERMISSION, change.summary)
    await tools.make(change)
    if not context.selection.allows(change.name, None):
        return f"Tool '{change.name}' is created. It is not among this agent's tools; others can call it at once."
    return f"Tool '{change.name}' is created. You can call it from your next answer on."


@answering
async def list_user_tools(*, context: ToolContext) -> str:
    """List the user's tools by their names, then what is wrong in their folder."""
    tools = await RegisteredTools.of(context.services)
    lines = [_line(tool) for tool in sorted(tools.tools, key=lambda tool: tool.name)]
    if not lines:
        lines = ["The user has no tools of their own; create_js_tool makes one."]
    if tools.is_disabled:
        lines.append("The user's own tools are disabled. The user can enable them with: oneclaw plugins enable user")
    if tools.problems:
        lines += ["", "Left out or to be mended:"]
        lines += [f"- {problem.cause} (what to do: {problem.remedy})" for problem in tools.problems]
    return "\n".join(lines)


@answering
async def update_js_tool(
    name: str,
    description: str | None = None,
    parameters_schema: str | dict[str, Any] | None = None,
    js_code: str | None = None,
    required_permissions: str | None = None,
    timeout_seconds: float | None = None,
    *,
    context: ToolContext,
) -> str:
    """Change what is given of a tool, once all of it is checked and the user agrees."""
    tools = await RegisteredTools.of(context.services)
    change = await tools.changes.update(
        name.strip(),
        description=description,
        parameters=parameters_schema,
        code=js_code,
        required_permissions=required_permissions,
        timeout_seconds=timeout_seconds,
    )
    if change is None:
        return f"Nothing to change: tool '{name.strip()}' is as it was."
    await context.ask_permission(WRITE_PERMISSION, change.summary)
    await tools.make(change)
    return f"Tool '{change.name}' is changed. The change counts from your next answer on."


@answering
async def delete_js_tool(name: str, *, context: ToolContext) -> str:
    """Delete a tool, once the user agrees."""
    tools = await RegisteredTools.of(context.services)
    change = await tools.changes.deletion(name.strip())
    await context.ask_permission(WRITE_PERMISSION, change.summary)
    await tools.make(change)
    return f"Tool '{change.name}' is deleted."


def _line(tool: UserTool) -> str:
    description = " ".join(tool.definition.description.split())
    if len(description) > _DESCRIPTION_CHARACTERS:
        description = description[:_DESCRIPTION_CHARACTERS] + "..."
    group = f", tool group {tool.group}" if tool.group is not None else ""
    return f"- {tool.name}: {description} ({tool.file}{group})"
