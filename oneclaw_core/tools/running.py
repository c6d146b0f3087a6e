"""Run one tool with a timeout; isolate exceptions and hangs."""

from __future__ import annotations

import asyncio
import inspect
import logging
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import OAuthError, PermissionDeniedError
from oneclaw_core.process.threads import run_in_thread, watched_threads
from oneclaw_core.types.tools import ToolResult

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from oneclaw_core.plugins.running.around import Around
    from oneclaw_core.tools.call_services import RunningCall
    from oneclaw_core.tools.context import ToolContext
    from oneclaw_core.tools.tool import Tool

# How long a cancelled tool may take to clean up before it is left to itself.
CLEAN_UP_SECONDS = 2.0
MAX_ERROR_CHARACTERS = 2000

_log = logging.getLogger("oneclaw.engine")


async def run_tool(
    tool: Tool,
    arguments: dict[str, Any],
    context: ToolContext,
    running: RunningCall,
    timeout_seconds: float,
    around: Around | None = None,
) -> ToolResult:
    """Run a tool as a separate task, so that one that ignores being cancelled is left behind.

    Args:
        tool: what to run.
        arguments: checked.
        context: for the tool.
        running: keeps the time.
        timeout_seconds: how long that is, to say it.
        around: entered in the task that runs the tool; ``None`` for nothing.

    Returns:
        Its result; ``timeout``, ``permission_denied`` or ``execution_error`` if it did not come to one.
    """
    with watched_threads() as threads:
        work = invoke(tool, arguments, context)
        task = asyncio.create_task(work if around is None else _within(around, work))
    try:
        while not task.done():
            remaining = running.remaining_seconds()
            if remaining is not None and remaining <= 0:
                await _cancel(task, context.tool_name)
                has_ended = task.done() and not threads.are_left
                return _timed_out(context.tool_name, timeout_seconds, has_ended=has_ended)
            waited: set[asyncio.Future[Any]] = {task, running.changed()}
            await asyncio.wait(waited, timeout=remaining, return_when=asyncio.FIRST_COMPLETED)
        return task.result()
    except asyncio.CancelledError:
        if task.done() and task.cancelled():
            return ToolResult.error("execution_error", f"Tool '{context.tool_name}' cancelled itself.")
        caller = asyncio.current_task()
        if task.done() and caller is not None:
            # Too late to stop the tool: what it did is done, and its outcome counts.
            caller.uncancel()
            return task.result()
        await _cancel(task, context.tool_name)
        raise


def _timed_out(tool_name: str, timeout_seconds: float, *, has_ended: bool) -> ToolResult:
    text = (
        f"Tool '{tool_name}' was stopped after its timeout of {timeout_seconds:g} s."
        if has_ended
        else f"Tool '{tool_name}' has not ended within its timeout of {timeout_seconds:g} s. It cannot be stopped and "
        "may go on in the background, so it may still have its effect. Do not repeat it without asking the user."
    )
    return ToolResult.error("timeout", text)


async def _cancel(task: asyncio.Task[ToolResult], tool_name: str) -> None:
    task.cancel()
    await asyncio.wait({task}, timeout=CLEAN_UP_SECONDS)
    if not task.done():
        _log.warning("tool %s goes on although it was cancelled; it is left to itself", tool_name)
        task.add_done_callback(_look_at)
    else:
        _look_at(task)


def _look_at(task: asyncio.Task[ToolResult]) -> None:
    if not task.cancelled() and task.exception() is not None:
        _log.debug("a cancelled tool ended with %r", task.exception())


async def _within(around: Around, work: Coroutine[Any, Any, ToolResult]) -> ToolResult:
    async with around:
        result = await work
        around.set_result(result)
        return result


async def invoke(tool: Tool, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
    """Run a tool without a timeout; whatever it raises becomes its result.

    Args:
        tool: what to run.
        arguments: checked.
        context: for the tool.
    """
    is_async, takes_context = _calling_convention(type(tool))
    values = (arguments, context) if takes_context else (arguments,)
    try:
        if is_async:
            value: object = await tool.execute(*values)
        else:
            value = await run_in_thread(partial(tool.execute, *values))
            if inspect.isawaitable(value):
                value = await value
    except PermissionDeniedError as error:
        return ToolResult.error("permission_denied", str(error))
    except OAuthError as error:
        return ToolResult.error(error.error_type, str(error))
    except (asyncio.CancelledError, KeyboardInterrupt):
        raise
    except BaseException as error:  # noqa: BLE001  # whatever a tool raises becomes its result, SystemExit too
        _log.exception("tool %s failed", context.tool_name)
        return execution_error(error)
    return value if isinstance(value, ToolResult) else ToolResult.success("" if value is None else value)


@lru_cache(maxsize=1024)
def _calling_convention(tool_type: type) -> tuple[bool, bool]:
    """Whether a hand-written tool's ``execute`` is async, and whether it takes the context."""
    execute = tool_type.execute  # type: ignore[attr-defined]  # the registry has checked that it is there
    parameters = [
        each
        for each in inspect.signature(execute).parameters.values()
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD, each.VAR_POSITIONAL)
    ]
    takes_context = len(parameters) > 2 or any(each.kind is each.VAR_POSITIONAL for each in parameters)
    return inspect.iscoroutinefunction(execute), takes_context


def execution_error(error: BaseException) -> ToolResult:
    """Tell the model about an exception: its type and message; the traceback stands in the log."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001  # an exception's __str__ is foreign code
        text = "(its message cannot be shown)"
    message = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return ToolResult.error("execution_error", message[:MAX_ERROR_CHARACTERS])
