"""Running the tools that a model called (FEAT-004, "Tool Execution Engine").

Every call gets exactly one result, whatever the tool, the model or the user does.
"""

from __future__ import annotations

import asyncio
import difflib
import json
import logging
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from oneclaw_core.errors import PermissionDeniedError
from oneclaw_core.messages import Attachment
from oneclaw_core.secrets import redact
from oneclaw_core.tools.arguments import ArgumentsError, parse_arguments, without_absent
from oneclaw_core.tools.call_services import RunningCall
from oneclaw_core.tools.context import ToolContext
from oneclaw_core.tools.failures import RepeatedFailures
from oneclaw_core.tools.groups import LOAD_TOOL_GROUP, ActiveTools, requested_group
from oneclaw_core.tools.permission_rules import subject_of
from oneclaw_core.tools.permissions import PermissionPolicy, PermissionRequest, denied_for_good
from oneclaw_core.tools.result import MAX_KEPT_CHARACTERS, ToolResult, clean_text, of_kept_size
from oneclaw_core.tools.running import execution_error, run_tool
from oneclaw_core.tools.schema import argument_faults, compile_schema
from oneclaw_core.tools.selection import ALL_TOOLS, ToolSelection

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
    from pathlib import Path

    from jsonschema.protocols import Validator

    from oneclaw_core.app import OneClaw
    from oneclaw_core.messages import ToolCall
    from oneclaw_core.tools.definition import Tool, ToolDefinition
    from oneclaw_core.tools.paths import PathGuard
    from oneclaw_core.tools.registry import ToolRegistry
    from oneclaw_core.tools.turn_scope import TurnScope

MAX_PARALLEL_CALLS = 32
MAX_QUEUED_PROGRESS = 1000
MAX_KEPT_ATTACHMENT_BYTES = 100_000_000

_log = logging.getLogger("oneclaw.engine")


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """One call with its one result.

    Attributes:
        call: what the model asked for.
        result: what it is answered.
        duration_ms: how long the tool ran, in milliseconds; 0 if it did not run.
    """

    call: ToolCall
    result: ToolResult
    duration_ms: float


@dataclass(frozen=True, slots=True)
class ToolProgress:
    """A running tool tells how far it has come."""

    call: ToolCall
    message: str
    fraction: float | None


@dataclass(frozen=True, slots=True)
class CallScope:
    """On whose behalf tools run.

    Attributes:
        active: what the agent may call now.
        agent_name: the agent.
        session_id: the conversation, ``None`` outside one.
        failures: of the turn so far.
        selection: the tools that the agent may have, active or not.
        turn: the turn that makes the calls, ``None`` outside one.
        shown_characters: how much of a result the model is shown, ``None`` for all of it.
    """

    active: ActiveTools
    agent_name: str
    session_id: str | None = None
    failures: RepeatedFailures = field(default_factory=RepeatedFailures)
    selection: ToolSelection = ALL_TOOLS
    turn: TurnScope | None = None
    shown_characters: int | None = None


class ToolEngine:
    """Runs tool calls: known, enabled, active, valid, permitted, then under their timeout.

    Args:
        registry: the tools there are.
        permissions: decides what they may do.
        home: the user's directory.
        paths: the files they may touch.
        app: the open home, for tools that act on it; ``None`` where there is none.
    """

    def __init__(
        self,
        registry: ToolRegistry,
        permissions: PermissionPolicy,
        home: Path,
        paths: PathGuard,
        app: OneClaw | None = None,
    ) -> None:
        self._registry = registry
        self._permissions = permissions
        self._home = home
        self._paths = paths
        self._app = app
        self._validators: dict[str, tuple[ToolDefinition, Validator]] = {}

    async def execute(self, calls: Sequence[ToolCall], scope: CallScope) -> list[ToolOutcome]:
        """Run the calls of one response in parallel.

        Returns:
            The outcomes in the order of the calls.
        """
        outcomes = {
            id(item.call): item
            async for item in self.execute_as_completed(calls, scope)
            if isinstance(item, ToolOutcome)
        }
        return [outcomes[id(call)] for call in calls]

    async def execute_as_completed(
        self,
        calls: Sequence[ToolCall],
        scope: CallScope,
        keep: Callable[[ToolOutcome], Awaitable[None]] | None = None,
    ) -> AsyncIterator[ToolOutcome | ToolProgress]:
        """Run the calls of one response in parallel and yield each outcome when it is there.

        Closing the iterator, or cancelling, cancels the tools that still run and waits until they have ended.

        Args:
            calls: of one response.
            scope: on whose behalf.
            keep: awaited with each outcome before it is yielded, as soon as it is there: whether anybody is asking for
                the next item or not. What it raises ends the iteration.
        """
        loading = {requested_group(call.arguments) for call in calls if call.name == LOAD_TOOL_GROUP}
        arrivals: asyncio.Queue[ToolOutcome | ToolProgress | Exception] = asyncio.Queue()
        slots = asyncio.Semaphore(MAX_PARALLEL_CALLS)

        async def answer(call: ToolCall) -> None:
            async with slots:
                outcome = await self._outcome(call, scope, loading, arrivals)
            try:
                if keep is not None:
                    await keep(outcome)
            except Exception as error:  # noqa: BLE001  # raised again where it can be caught
                arrivals.put_nowait(error)
            else:
                arrivals.put_nowait(outcome)

        tasks = [asyncio.create_task(answer(call)) for call in calls]
        try:
            missing = len(tasks)
            while missing:
                item = await arrivals.get()
                if isinstance(item, Exception):
                    raise item
                missing -= isinstance(item, ToolOutcome)
                yield item
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _outcome(
        self,
        call: ToolCall,
        scope: CallScope,
        loading: set[str | None],
        arrivals: asyncio.Queue[ToolOutcome | ToolProgress | Exception],
    ) -> ToolOutcome:
        started = time.perf_counter()
        try:
            tool = self._registry.get_tool(call.name)
            refusal = self._refusal(call, tool, scope, loading)
            is_refused = refusal is not None
            repeated = scope.failures.answer_without_running(call, is_refused=is_refused)
            if repeated is not None:
                return ToolOutcome(call, repeated, 0.0)
            if refusal is not None or tool is None:
                result = refusal or ToolResult.error("not_found", f"Tool '{call.name}' is not available.")
            else:
                result = await self._check_and_run(call, tool, scope, arrivals)
            result = _presentable(result)
            scope.failures.record(call, result, is_refused=is_refused)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            # Whoever was asked for a permission cancelled the question, not the call.
            result = ToolResult.error("permission_denied", "The question for a permission was cancelled.")
        except Exception as error:  # noqa: BLE001  # a call without a result would break the conversation
            _log.exception("tool %s failed", call.name)
            result = _presentable(execution_error(error))
        return ToolOutcome(call, result, (time.perf_counter() - started) * 1000)

    def _refusal(
        self, call: ToolCall, tool: Tool | None, scope: CallScope, loading: set[str | None]
    ) -> ToolResult | None:
        name = call.name
        if tool is None:
            if self._registry.selected(scope.selection).has_group(name):
                hint = f"'{name}' is a tool group: call {LOAD_TOOL_GROUP} with group_name '{name}'."
            else:
                close = difflib.get_close_matches(name, sorted(scope.active.names), n=3)
                hint = f"Did you mean {' or '.join(close)}?" if close else ""
            text = f"Tool '{name[:100]}' is not available: there is none of that name. {hint}"
            return ToolResult.error("not_found", text.rstrip())
        not_selected = f"Tool '{name}' is not available for this agent: it is not among this agent's tools."
        if not self._registry.selected(scope.selection).allows(name):
            return ToolResult.error("not_available", not_selected)
        source = self._registry.get_source_info(name)
        group = source.group_name if source else None
        if not self._registry.is_enabled(name):
            what = f"--group {group}" if group is not None and self._registry.is_group_disabled(group) else name
            return ToolResult.error(
                "not_available",
                f"Tool '{name}' is disabled. The user can enable it with: oneclaw tools enable {what}",
            )
        if name in scope.active.names:
            return None
        if group is None:
            return ToolResult.error("not_available", not_selected)
        if group in loading:
            reason = f"its tool group '{group}' was only being loaded by this same response. Call it again now."
        else:
            reason = (
                f"it belongs to the tool group '{group}', which is not loaded. "
                f"Call {LOAD_TOOL_GROUP} with group_name '{group}' first."
            )
        return ToolResult.error("not_available", f"Tool '{name}' is not available for this agent: {reason}")

    async def _check_and_run(
        self,
        call: ToolCall,
        tool: Tool,
        scope: CallScope,
        arrivals: asyncio.Queue[ToolOutcome | ToolProgress | Exception],
    ) -> ToolResult:
        # As it was registered: that is what the model was sent, whatever the tool says of itself by now.
        definition = self._registry.get_definition(call.name) or tool.definition
        try:
            arguments = without_absent(parse_arguments(call.arguments), definition.parameters)
        except ArgumentsError as error:
            return ToolResult.error("validation_error", f"Tool '{call.name}': {error}")
        if not getattr(tool, "checks_own_arguments", False):
            faults = argument_faults(self._validator(definition), arguments)
            if faults:
                return ToolResult.error(
                    "validation_error",
                    f"Tool '{call.name}' was called with wrong arguments:\n" + "\n".join(faults),
                )
        session_id = scope.session_id if scope.turn is None else scope.turn.permission_session(scope.session_id)

        def ask(permission: str, detail: str = "", subject: str | None = None) -> PermissionRequest:
            source = self._registry.get_source_info(call.name)
            said = self._registry.get_permission_meaning(permission, source.plugin if source is not None else None)
            meaning, said_by = (said.text, said.plugin) if said is not None else ("", None)
            return PermissionRequest(permission, call.name, arguments, detail, session_id, subject, meaning, said_by)

        try:
            for permission in definition.required_permissions:
                if not getattr(tool, "asks_itself", False):
                    await self._require(ask(permission, subject=subject_of(permission, arguments)), scope)
                elif self._permissions.denied(permission):
                    raise denied_for_good(permission)
        except PermissionDeniedError as error:
            return ToolResult.error("permission_denied", str(error))

        def report_progress(message: str, fraction: float | None) -> None:
            if arrivals.qsize() < MAX_QUEUED_PROGRESS:
                arrivals.put_nowait(ToolProgress(call, message, fraction))

        running = RunningCall(
            definition.timeout_seconds,
            lambda permission, detail, subject: self._require(ask(permission, detail, subject), scope),
            report_progress,
        )
        context = ToolContext(
            home=self._home,
            session_id=scope.session_id,
            agent_name=scope.agent_name,
            tool_name=call.name,
            call_id=call.id,
            paths=replace(self._paths, denied=self._permissions.denied("files.read", "files.write")),
            _services=running,
            _app=self._app,
            selection=scope.selection,
            turn=scope.turn,
            shown_characters=scope.shown_characters,
        )
        try:
            return await run_tool(tool, arguments, context, running, definition.timeout_seconds)
        finally:
            await running.aclose()

    async def _require(self, request: PermissionRequest, scope: CallScope) -> None:
        if scope.turn is None:
            await self._permissions.require(request)
            return
        with scope.turn.outer_calls_paused():
            await self._permissions.require(request)

    def _validator(self, definition: ToolDefinition) -> Validator:
        known = self._validators.get(definition.name)
        if known is None or known[0] is not definition:
            known = (definition, compile_schema(definition.parameters))
            self._validators[definition.name] = known
        return known[1]


def _presentable(result: ToolResult) -> ToolResult:
    """Make sure that a result can be stored, sent and printed; an error may quote a key that a service refused."""
    result = of_kept_size(result)
    if not result.is_success:
        return ToolResult.error(
            redact(clean_text(str(result.error_type or "execution_error"))),
            redact(clean_text(str(result.error_message or ""))),
        )
    if not all(isinstance(each, Attachment) for each in result.attachments):
        return ToolResult.error("execution_error", "The tool returned attachments that are no Attachment objects.")
    size_bytes = sum(len(each.data) for each in result.attachments)
    if size_bytes > MAX_KEPT_ATTACHMENT_BYTES:
        return ToolResult.error(
            "execution_error",
            f"The tool returned attachments of {size_bytes:,} bytes, and only {MAX_KEPT_ATTACHMENT_BYTES:,} can be "
            "kept. Ask for fewer or smaller ones.",
        )
    groups = result.loads_groups
    if not isinstance(groups, tuple) or not all(isinstance(each, str) for each in groups):
        return ToolResult.error("execution_error", "The tool returned loads_groups that are no tuple of names.")
    if isinstance(result.result, str):
        return replace(result, result=clean_text(result.result))
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
            f"The tool returned a {type(result.result).__name__} that JSON cannot hold: {error}",
        )
