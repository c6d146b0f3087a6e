"""A call of a server's tool: its time limit, its progress, and what its errors mean.

Works around the SDK's ``call_tool``, which lists the tools again, and loses a result that does not fit its schema.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from oneclaw_core import ToolResult
from oneclaw_mcp.cleaning import cleaned
from oneclaw_mcp.connection import ServerError, answer_adapter, describe, first_error
from oneclaw_mcp.messages import RAW, is_answer, is_lost_session
from oneclaw_mcp.results import content_parts, is_empty, shown_text, tool_result

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp import Client

    from oneclaw_core import ToolContext
    from oneclaw_mcp.connection import Connection
    from oneclaw_mcp.manifest import KnownTool

# However much progress a server reports.
MAX_CALL_SECONDS = 600.0
MAX_INPUT_ROUNDS = 10
_ERROR_TYPES = {-32602: "validation_error", -32601: "not_available"}


async def call_tool(
    connection: Connection, tool: KnownTool, arguments: dict[str, Any], context: ToolContext
) -> ToolResult:
    """Call a tool, and start its server for that if need be.

    Args:
        connection: of its server.
        tool: as it was accepted.
        arguments: checked against its schema.
        context: of the call.
    """
    server = connection.server
    context.mark_outside(f"the MCP server {server.name}")
    for is_last in (False, True):
        try:
            client = connection.running()
            if client is None:
                with context.paused():
                    client = await connection.started(context.progress)
        except ServerError as error:
            return ToolResult.error(error.error_type, str(error))
        try:
            async with connection.slots, connection.in_call(context):
                now = connection.tools.get(tool.wire)  # which may have changed while the call waited
                if now != tool.digest:
                    what = "has changed this tool" if now is not None else "does not have this tool as it was"
                    return ToolResult.error(
                        "not_available",
                        f"The MCP server {server.name} {what} since the user accepted it. Nothing was done. "
                        f"The user can look at the difference with: oneclaw mcp check {server.name}",
                    )
                answer = await _asked(connection, client, tool, arguments, context)
            return _with_sandbox(connection, await tool_result(server, tool, answer, context))
        except TimeoutError:
            return ToolResult.error(
                "timeout",
                f"The MCP server {server.name} has neither answered nor reported progress for "
                f"{server.call_seconds:g} s, or has taken more than {MAX_CALL_SECONDS:g} s. The call was cancelled, "
                "and may have had its effect. Do not repeat it without asking the user.",
            )
        except Exception as error:  # noqa: BLE001  # a library and a foreign server
            found = first_error(error)
            if is_lost_session(found) and not is_last:
                connection.disconnect()  # the server was restarted; it has refused the call before doing anything
                continue
            return _with_sandbox(connection, _error(connection, found))
    raise AssertionError  # the second round returns


def _with_sandbox(connection: Connection, result: ToolResult) -> ToolResult:
    """Add to a failed or empty result what the server sees: in a sandbox, files look as if they did not exist."""
    if not connection.is_in_sandbox or result.attachments:
        return result
    from oneclaw_mcp.sandboxing import sandbox_note

    if not result.is_success:
        text = f"{result.error_message}\n{sandbox_note(connection.server)}"
        return ToolResult.error(result.error_type or "execution_error", text)
    if not is_empty(result.result):
        return result
    return ToolResult.success(f"{result.text()}\n{sandbox_note(connection.server)}".lstrip())


async def read_resource(connection: Connection, uri: str | None, context: ToolContext) -> ToolResult:
    """Read a resource of a server, or list them.

    Args:
        connection: of the server.
        uri: of the resource; ``None`` to list them.
        context: of the call.
    """
    server = connection.server
    context.mark_outside(f"the MCP server {server.name}")
    try:
        with context.paused():
            client = await connection.started(context.progress)
        async with connection.slots, connection.in_call(context), asyncio.timeout(server.call_seconds):
            if uri is None:
                return ToolResult.success(await _listed_resources(client))
            found = await client.read_resource(uri)
        contents = [each.model_dump(by_alias=True, exclude_none=True, mode="json") for each in found.contents]
        blocks = [{"type": "resource", "resource": each} for each in contents]
        parts, pictures = await content_parts(server, blocks, context)
        text = "\n\n".join(part.text for part in parts)
        return ToolResult.success(await shown_text(server, text, context), pictures)
    except TimeoutError:
        return ToolResult.error(
            "timeout", f"The MCP server {server.name} has not answered in {server.call_seconds:g} s."
        )
    except Exception as error:  # noqa: BLE001  # a library and a foreign server
        return _error(connection, first_error(error))


async def _listed_resources(client: Client) -> str:
    """List the resources and the templates of URIs, of each the first page."""
    from mcp import MCPError

    named, is_more, refused = [], False, 0
    try:
        resources = await client.list_resources()
        named += [(str(each.uri), each.title or each.name, each.description) for each in resources.resources]
        is_more = bool(resources.next_cursor)
    except MCPError:
        refused += 1
    try:
        templates = await client.list_resource_templates()
        named += [
            (str(each.uri_template), each.title or each.name, each.description) for each in templates.resource_templates
        ]
    except MCPError:  # a server can have one kind without the other
        if refused:
            raise
    lines = [f"- {cleaned(uri, 500)}: {cleaned(name, 100)} {cleaned(text, 200)}".rstrip() for uri, name, text in named]
    more = "\n[there are more]" if is_more else ""
    return "\n".join(lines) + more if lines else "It lists no resources."


async def _asked(
    connection: Connection, client: Client, tool: KnownTool, arguments: dict[str, Any], context: ToolContext
) -> Any:
    """Send a call, with the answers to what the server asks; return its result as the server has sent it."""
    from mcp_types import CallToolRequest, CallToolRequestParams, InputRequiredResult

    loop = asyncio.get_running_loop()
    seconds, latest = connection.server.call_seconds, loop.time() + MAX_CALL_SECONDS
    responses: Any = None
    state: str | None = None
    for _ in range(MAX_INPUT_ROUNDS):
        async with asyncio.timeout(seconds) as limit:

            async def report(progress: float, total: float | None, message: str | None) -> None:
                limit.reschedule(min(loop.time() + seconds, latest))
                fraction = progress / total if total else None
                context.progress(cleaned(message, 200) or f"{progress:g} of {total or 'an unknown number'}", fraction)

            connection.limits[id(context)] = _prolonged(limit, seconds)
            request = CallToolRequest(
                params=CallToolRequestParams(
                    name=tool.wire, arguments=arguments, input_responses=responses, request_state=state
                )
            )
            answer: dict[str, Any] = await client.session.send_request(
                request,
                answer_adapter(),
                request_read_timeout_seconds=MAX_CALL_SECONDS,
                progress_callback=report,
            )
        connection.limits.pop(id(context), None)
        if RAW in answer:
            return answer[RAW]
        wanted = InputRequiredResult.model_validate(answer, by_name=False)
        responses, state = await connection.answers(wanted.input_requests or {}), wanted.request_state
    raise ServerError(f"The MCP server {connection.server.name} asked for more than {MAX_INPUT_ROUNDS} times.")


def _prolonged(limit: asyncio.Timeout, seconds: float) -> Callable[[bool], None]:
    """Return a function that stops the clock of a call, and starts it again."""

    def set_running(is_running: bool) -> None:
        limit.reschedule(asyncio.get_running_loop().time() + seconds if is_running else None)

    return set_running


def _error(connection: Connection, error: BaseException) -> ToolResult:
    """Return the result of a call that failed; an error that the server has answered is told as it is."""
    name = connection.server.name
    if isinstance(error, ServerError):
        return ToolResult.error(error.error_type, str(error))
    if connection.is_refused:
        if connection.has_ended:
            connection.disconnect()
        return ToolResult.error(
            "permission_denied",
            f"The MCP server {name} wants its user to sign in. The user can do that with: oneclaw mcp login {name}",
        )
    if is_answer(error) or is_lost_session(error):
        kind = _ERROR_TYPES.get(getattr(error, "code", 0), "execution_error")
        return ToolResult.error(kind, f"The MCP server {name} answered: {describe(error)}")
    said = ""
    what = f"The MCP server {name} has not answered the call: {connection.refusal}."
    if connection.has_ended or not connection.refusal:
        what = f"The MCP server {name} ended during the call, or its connection broke: {describe(error)}."
    if connection.has_ended:
        said = connection.last_words()
        connection.note_death()
    return ToolResult.error(
        "interrupted",
        f"{what} The call may have had its effect; the next one starts the server again if need be. Do not repeat this "
        f"one without asking the user.{' It ' + said if said else ''}",
    )
