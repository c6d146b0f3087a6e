"""The steps of a call that belong to the spine: one result for each call, marked, and seen by plugins.

:mod:`oneclaw_core.wiring` says in which order a call passes them, and those of features.
"""

from __future__ import annotations

import asyncio
import difflib
import json
import logging
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import PermissionDeniedError, PluginError, errors_within
from oneclaw_core.tools.calls.call import (
    Call,
    Caller,
    CallHooks,
    Handler,
    NotAvailableError,
    PermittedCall,
    PluginsOfCalls,
    Run,
    Step,
)
from oneclaw_core.types.arguments import ArgumentsError, parse_arguments
from oneclaw_core.types.messages import Attachment, ToolCall
from oneclaw_core.types.provenance import Mark, MarkKind
from oneclaw_core.types.text import clean_text
from oneclaw_core.types.tool_groups import LOAD_TOOL_GROUP
from oneclaw_core.types.tools import (
    MAX_KEPT_CHARACTERS,
    FileChange,
    ToolResult,
    ToolSourceInfo,
    of_kept_size,
    of_shown_size,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

    from oneclaw_core.permissions.asking import Asking
    from oneclaw_core.tools.registry import RegisteredTool, ToolRegistry

    FaultsOf = Callable[[RegisteredTool, dict[str, Any]], list[str]]

MAX_ERROR_CHARACTERS = 2000
MAX_KEPT_ATTACHMENT_BYTES = 100_000_000

_log = logging.getLogger("oneclaw.executor")


async def answered(call: Call, run: Handler) -> ToolResult:
    """Turn every exception into a result; only the cancellation of the call itself passes."""
    try:
        return presentable(await run(call))
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        # The user cancelled the question, not the call.
        return ToolResult.error("permission_denied", "The question for a permission was cancelled.")
    except Exception as error:  # noqa: BLE001  # a call without a result would break the conversation
        _log.exception("tool %s failed", call.asked.name)
        return presentable(execution_error(error))


async def denial_answered(call: Call, run: Handler) -> ToolResult:
    """Turn a denied permission, or a tool that cannot be started, into a result."""
    try:
        return await run(call)
    except PermissionDeniedError as error:
        return ToolResult.error("permission_denied", str(error))
    except NotAvailableError as error:
        return ToolResult.error("not_available", str(error))


def execution_error(error: BaseException) -> ToolResult:
    """Tell the model about an exception: its type and message; the traceback stands in the log.

    Of a group of exceptions, it names each one inside.
    """
    named = dict.fromkeys(_type_and_message(each) for each in errors_within(error))
    return ToolResult.error("execution_error", "\n".join(named)[:MAX_ERROR_CHARACTERS])


def _type_and_message(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:  # noqa: BLE001  # an exception's __str__ is foreign code
        text = "(its message cannot be shown)"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def presentable(result: ToolResult) -> ToolResult:
    """Make sure that a result can be stored, sent and printed."""
    result = of_kept_size(result)
    if not result.is_success:
        error_type, message = result.error_type or "execution_error", result.error_message or ""
        return ToolResult.error(clean_text(str(error_type)), clean_text(str(message)))
    if (problem := _problem_beside_the_value(result)) is not None:
        return ToolResult.error("execution_error", problem)
    if result.changes:
        result = replace(result, changes=of_shown_size(result.changes))
    if isinstance(result.result, str):
        text = clean_text(result.result)
        return result if text == result.result else replace(result, result=text)
    try:
        text = json.dumps(result.result, ensure_ascii=False, allow_nan=False)
        if len(text) > MAX_KEPT_CHARACTERS:
            return ToolResult.error(
                "execution_error",
                f"The tool returned {len(text):,} characters of JSON, and only {MAX_KEPT_CHARACTERS:,} can be kept. "
                "Ask for a smaller part.",
            )
        return replace(result, result=json.loads(clean_text(text)))
    except (TypeError, ValueError, RecursionError) as error:
        return ToolResult.error(
            "execution_error",
            f"The tool returned an object of type {type(result.result).__name__}, which JSON cannot hold: {error}",
        )


def _problem_beside_the_value(result: ToolResult) -> str | None:
    """Return what is wrong with the attachments or groups of a result, ``None`` for nothing."""
    if not all(isinstance(each, Attachment) for each in result.attachments):
        return "The tool returned attachments that are no Attachment objects."
    size_bytes = sum(len(each.data) for each in result.attachments)
    if size_bytes > MAX_KEPT_ATTACHMENT_BYTES:
        return (
            f"The tool returned attachments of {size_bytes:,} bytes, and only {MAX_KEPT_ATTACHMENT_BYTES:,} can be "
            "kept. Ask for fewer or smaller ones."
        )
    groups = result.loads_groups
    if not isinstance(groups, tuple) or not all(isinstance(each, str) for each in groups):
        return "The tool returned loads_groups that are no tuple of names."
    if not isinstance(result.changes, tuple) or not all(isinstance(each, FileChange) for each in result.changes):
        return "The tool returned changes that are no tuple of FileChange objects."
    return None


def available(registry: ToolRegistry) -> Step:
    """Return the step: it says what the model or the user can do.

    Args:
        registry: the tools there are.
    """

    async def step(call: Call, run: Handler) -> ToolResult:
        name, caller = call.asked.name, call.caller
        if call.found is None:
            return ToolResult.error("not_found", unknown_tool(registry, name, caller))
        # What stands in for a tool is a part of the tool that is running, which the agent has.
        reason = (
            _disabled(registry, name, call.found.source)
            if call.act is not None
            else unavailable_tool(registry, name, call.found.source, caller, call.loaded)
        )
        return await run(call) if reason is None else ToolResult.error("not_available", reason)

    return step


def unavailable_tool(
    registry: ToolRegistry, name: str, source: ToolSourceInfo, caller: Caller, loaded: Container[str | None] = ()
) -> str | None:
    """Return why a tool cannot be called now, ``None`` if it can.

    Args:
        registry: the tools there are.
        name: of the tool.
        source: of the tool.
        caller: on whose behalf.
        loaded: the tool groups that the same answer of the model has loaded.
    """
    if name in caller.own_tools:
        return None
    group = source.group_name
    not_selected = f"Tool '{name}' is not available for this agent: it is not among this agent's tools."
    if not registry.toolset(caller.selection).allows(name):
        return not_selected
    if (reason := _disabled(registry, name, source)) is not None:
        return reason
    if name in caller.active.names or (group is not None and group in loaded):
        return None
    if group is None:
        return not_selected
    return (
        f"Tool '{name}' is not available for this agent: it belongs to the tool group '{group}', which is not loaded. "
        f"Call {LOAD_TOOL_GROUP} with group_name '{group}' first."
    )


def _disabled(registry: ToolRegistry, name: str, source: ToolSourceInfo) -> str | None:
    """Return how the user can enable a tool, ``None`` if it is enabled."""
    group, plugin = source.group_name, source.plugin
    if not registry.is_enabled(name):
        if plugin is not None and registry.is_plugin_disabled(plugin):
            return (
                f"Tool '{name}' is not available: its plugin is disabled. "
                f"The user can enable it with: oneclaw plugins enable {plugin}"
            )
        what = f"--group {group}" if group is not None and registry.is_group_disabled(group) else name
        return f"Tool '{name}' is disabled. The user can enable it with: oneclaw tools enable {what}"
    return None


def unknown_tool(registry: ToolRegistry, name: str, caller: Caller) -> str:
    """Say that there is no tool of a name, and what may be meant.

    Args:
        registry: the tools there are.
        name: that was called.
        caller: on whose behalf.
    """
    if registry.toolset(caller.selection).has_group(name):
        hint = f"'{name}' is a tool group: call {LOAD_TOOL_GROUP} with group_name '{name}'."
    elif (missing := registry.how_to_get("tool", name)) is not None:
        hint = f"{missing[0].upper()}{missing[1:]}."
    elif name in caller.gone:
        hint = "It was there for an earlier turn alone, or its plugin is gone: do without it."
    else:
        close = difflib.get_close_matches(name, sorted(caller.active.names), n=3)
        hint = f"Did you mean {' or '.join(close)}?" if close else ""
    return f"Tool '{name[:100]}' is not available: there is none of that name. {hint}".rstrip()


def marked(registry: ToolRegistry) -> Step:
    """Return the step: it settles the marks of a call when it has its result.

    Args:
        registry: knows the tools whose descriptions the model has read without loading them.
    """

    async def step(call: Call, run: Handler) -> ToolResult:
        provenance = call.provenance
        if registry.foreign_core_tools:  # the model has read what they say of themselves
            provenance.marks.extend(registry.foreign_core_tools.values())
            call.caller.conversation.add(provenance.marks)
        result = await run(call)
        if provenance.marks or provenance.paths.used:
            await provenance.finish()
        return result

    return step


async def declared(call: PermittedCall, run: Run) -> ToolResult:
    """Add the marks that every result of the tool has; what a tool source supplies may hold anything."""
    result = await run(call)
    definition, source = call.tool.definition, call.tool.source
    reads: Sequence[str] = definition.reads
    if not reads and source.is_supplied:  # of the user's own tools, what they read is known
        reads = (MarkKind.OUTSIDE, MarkKind.PRIVATE) if source.is_foreign else (MarkKind.OUTSIDE,)
    call.provenance.marks += [Mark.of(MarkKind(each), f"the tool {definition.name}") for each in reads]
    return result


def hooks_on(plugins: PluginsOfCalls, call: ToolCall, caller: Caller, found: RegisteredTool | None) -> CallHooks | None:
    """Return the hooks of plugins on a call; ``None`` if none is about it."""
    source = found.source if found is not None else None
    group = source.group_name if source is not None else None
    is_read_only = found is not None and found.definition.read_only and not found.source.is_supplied
    if not plugins.are_about(call.name, group, is_in_turn=caller.turn is not None, is_read_only=is_read_only):
        return None
    return plugins.of_call(
        id=call.id,
        tool=call.name,
        arguments=_object_in(call.arguments),
        group=group,
        plugin=source.plugin if source is not None else None,
        required_permissions=tuple(found.definition.required_permissions) if found is not None else (),
        agent=caller.agent,
        turn=caller.turn.info if caller.turn is not None else None,
        caller=caller.kind,
        parent_call_id=caller.within.call_id if caller.within is not None else None,
        is_read_only=is_read_only,
    )


async def observed(call: Call, run: Handler) -> ToolResult:
    """Tell observers how the call ended, also if it was cut off."""
    if call.hooks is None:
        return await run(call)
    try:
        result = await run(call)
    except asyncio.CancelledError:
        call.hooks.finished(ToolResult.error("interrupted", "The call was interrupted."))
        raise
    call.hooks.finished(result)
    return result


def rewritten(faults_of: FaultsOf) -> Step:
    """Return the step that has plugins rewrite the arguments, which are validated again.

    Args:
        faults_of: finds what is wrong with the arguments of a tool.
    """

    async def step(call: Call, run: Handler) -> ToolResult:
        if call.hooks is None:
            return await run(call)
        try:
            arguments = await call.hooks.rewrite(call.arguments, partial(faults_of, call.tool))
        except PluginError as error:
            return ToolResult.error("execution_error", f"The call was not run: {error}.")
        return await run(call.with_arguments(arguments))

    return step


def gated(asking: Asking) -> Step:
    """Return the step that asks the gates of plugins, which may refuse a call or ask the user."""

    async def step(call: Call, run: Handler) -> ToolResult:
        if call.hooks is not None:
            await call.hooks.check(asking.of(call))
        return await run(call)

    return step


async def result_rewritten(call: PermittedCall, run: Run) -> ToolResult:
    """Have plugins rewrite the result of a tool that ran."""
    result = await run(call)
    return result if call.hooks is None else await call.hooks.rewrite_result(presentable(result))


def _object_in(arguments: str) -> dict[str, Any]:
    """Read arguments as far as they are a JSON object."""
    try:
        return parse_arguments(arguments)
    except ArgumentsError:
        return {}
