"""Run the tool calls of a model (FEAT-004, "Tool Execution Engine").

Every call gets exactly one result, whatever the tool, the model or the user does.
"""

from __future__ import annotations

import asyncio
import difflib
import json
import logging
import time
from contextlib import asynccontextmanager, nullcontext
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from oneclaw_core.errors import PermissionDeniedError, PluginError, denied_for_good
from oneclaw_core.files.views import FileViews
from oneclaw_core.permissions.provenance import (
    SEND_PERMISSION,
    CallProvenance,
    FreeRequests,
    KnownLinks,
    asks_again,
    marks_of_files,
)
from oneclaw_core.permissions.rules import directory_of, subject_of
from oneclaw_core.system.distributions import missing_part
from oneclaw_core.system.threads import run_in_thread, started_task
from oneclaw_core.tools.arguments import (
    ArgumentsError,
    argument_faults,
    compile_schema,
    parse_arguments,
    without_absent,
)
from oneclaw_core.tools.call import LoopBlocks, RunningCall, execution_error, presentable
from oneclaw_core.tools.context import ToolContext
from oneclaw_core.tools.permissions import (
    SANDBOX,
    PermissionPolicy,
    PermissionRequest,
    RequirePermission,
)
from oneclaw_core.tools.toolset import LOAD_TOOL_GROUP, ActiveTools, requested_group
from oneclaw_core.types.frozen_dataclass import frozen_dataclass
from oneclaw_core.types.messages import ToolCall
from oneclaw_core.types.provenance import CALL_MARKS, Mark, MarkKind, Provenance
from oneclaw_core.types.tools import ALL_TOOLS, ToolResult, ToolSelection

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from oneclaw_core.contract.home_services import HomeServices
    from oneclaw_core.files.paths import PathGuard
    from oneclaw_core.permissions.provenance import ProvenanceRecords
    from oneclaw_core.plugins.running.runtime import Plugins
    from oneclaw_core.plugins.running.tool_calls import HookedCall
    from oneclaw_core.tools.arguments import ArgumentsValidator
    from oneclaw_core.tools.call import TrustedDirectory
    from oneclaw_core.tools.context import TurnScope
    from oneclaw_core.tools.definition import ToolDefinition
    from oneclaw_core.tools.registry import RegisteredTool, ToolRegistry
    from oneclaw_core.tools.user_question import UserQuestion
    from oneclaw_core.types.tools import ToolSourceInfo

MAX_PARALLEL_CALLS = 32
TEXT_CALL_PERMISSION = "calls.as_text"
MAX_QUEUED_PROGRESS = 1000

_log = logging.getLogger("oneclaw.executor")


@frozen_dataclass
class ToolOutcome:
    """One call with its one result.

    Attributes:
        call: what the model asked for.
        result: what it is answered.
        duration_ms: how long the tool ran, in milliseconds; 0 if it did not run.
        marks: where the result comes from.
        views: the state of the files that it read or wrote, see :mod:`oneclaw_core.files.views`.
    """

    call: ToolCall
    result: ToolResult
    duration_ms: float
    marks: tuple[Mark, ...] = ()
    views: Mapping[str, str] = field(default_factory=dict)


@frozen_dataclass
class ToolProgress:
    """A running tool tells how far it has come."""

    call: ToolCall
    message: str
    fraction: float | None


@frozen_dataclass
class CallScope:
    """On whose behalf tools run.

    Attributes:
        active: what the agent may call now.
        agent_name: the agent.
        session_id: the conversation, ``None`` outside one.
        selection: the tools that the agent may have, active or not.
        turn: the turn that makes the calls, ``None`` outside one.
        shown_characters: how much of a result the model is shown, ``None`` for all of it.
        caller: what makes the calls: ``model``, ``command line`` or ``program``.
        conversation: where the text of the conversation comes from; the calls add to it.
        views: what the conversation has seen of files; the calls add to it.
        refused: keys of the questions that the user did not agree with in this turn; the calls add to it.
        are_calls_text: True if the model wrote the calls as text.
        asked_in: stands for a session in questions outside one; ``None`` if there is nothing to stand for it.
    """

    active: ActiveTools
    agent_name: str
    session_id: str | None = None
    selection: ToolSelection = ALL_TOOLS
    turn: TurnScope | None = None
    shown_characters: int | None = None
    caller: Literal["model", "command line", "program"] = "model"
    conversation: Provenance = field(default_factory=Provenance)
    views: FileViews = field(default_factory=FileViews)
    refused: set[str] = field(default_factory=set)
    asked_in: str | None = None
    are_calls_text: bool = False

    @property
    def session_of_user(self) -> str | None:
        """The session that the user's answers are for."""
        if self.asked_in is not None:
            return self.asked_in
        return self.session_id if self.turn is None else self.turn.permission_session(self.session_id)


class ToolExecutor:
    """Runs tool calls: known, enabled, active, valid, let through by plugins, permitted, then with a timeout.

    Args:
        registry: the tools there are.
        permissions: decides what they may do.
        home: the user's directory.
        paths: the files they may touch.
        services: of the open home, for tools; ``None`` without one.
        plugins: at work, which govern and observe calls; ``None`` for none.
        deps: what the embedding program gives to its tools.
        records: of where text comes from; ``None`` for none.
        project: the start directory, and whether the user trusts it; ``None`` for one that is never trusted.
        free_requests: reads how many requests a session that could leak private data may send without a question;
            ``None`` for no limit.
    """

    def __init__(
        self,
        registry: ToolRegistry,
        permissions: PermissionPolicy,
        home: Path,
        paths: PathGuard,
        services: HomeServices | None = None,
        plugins: Plugins | None = None,
        deps: object = None,
        records: ProvenanceRecords | None = None,
        project: TrustedDirectory | None = None,
        free_requests: Callable[[], Awaitable[int]] | None = None,
    ) -> None:
        self._project = project
        self._plugins = plugins
        self._has_hooks = plugins is not None and plugins.governs_calls
        self._records = records
        self._links = KnownLinks(records) if records is not None else None
        self._free_requests = FreeRequests(free_requests) if free_requests is not None else None
        self._blocks = LoopBlocks()
        self._deps = deps
        self._registry = registry
        self._permissions = permissions
        self._home = home
        self._paths = paths
        self._services = services
        self._validators: dict[str, tuple[ToolDefinition, ArgumentsValidator]] = {}

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
        arrivals: asyncio.Queue[ToolOutcome | ToolProgress | Exception] = asyncio.Queue()
        slots = asyncio.Semaphore(MAX_PARALLEL_CALLS)
        loads: list[tuple[ToolCall, asyncio.Task[None]]] = []
        loaded: set[str | None] = set()

        async def answer(call: ToolCall) -> None:
            try:
                # Before a slot is taken: the loads need slots too.
                if loads:
                    await self._wait_for_loads(call, scope, loads)
                async with slots:
                    outcome = await self._outcome(call, scope, loaded, arrivals)
                if keep is not None:
                    await keep(outcome)
                if call.name == LOAD_TOOL_GROUP and outcome.result.is_success:
                    loaded.add(requested_group(call.arguments))
            except Exception as error:  # noqa: BLE001  # raised again where it can be caught
                arrivals.put_nowait(error)
            else:
                arrivals.put_nowait(outcome)

        # One alone waits for no other, and begins at once.
        start = started_task if len(calls) == 1 else asyncio.create_task
        tasks = [start(answer(call)) for call in calls]
        loads += [(call, task) for call, task in zip(calls, tasks, strict=True) if call.name == LOAD_TOOL_GROUP]
        try:
            missing = len(tasks)
            while missing:
                item = await arrivals.get()
                if isinstance(item, Exception):
                    raise item
                missing -= isinstance(item, ToolOutcome)
                yield item
        finally:
            running = [task for task in tasks if not task.done()]
            for task in running:
                task.cancel()
            if running:
                await asyncio.gather(*running, return_exceptions=True)

    async def _wait_for_loads(
        self, call: ToolCall, scope: CallScope, loads: Sequence[tuple[ToolCall, asyncio.Task[None]]]
    ) -> None:
        """Let a call wait for loads in the same response that can make its tool active (a departure from RFC-040).

        A tool that is not known yet may come with any group: some are opened when they are loaded.
        """
        if call.name == LOAD_TOOL_GROUP or call.name in scope.active.names:
            return
        found = self._registry.find(call.name)
        group = found.source.group_name if found is not None else None
        awaited = [task for load, task in loads if found is None or requested_group(load.arguments) == group]
        if awaited:
            await asyncio.wait(awaited)

    async def marks_of_attached(self, files: Iterable[str]) -> Iterable[Mark]:
        """Return the marks of a message of the user with the texts of files in it."""
        start = self._paths.start_directory
        paths = await run_in_thread(lambda: [(start / each).resolve() for each in files])
        project = self._services.project if self._services is not None else None
        return await marks_of_files(paths, self._paths, self._records, project, "the attached file")

    async def _outcome(
        self,
        call: ToolCall,
        scope: CallScope,
        loaded: set[str | None],
        arrivals: asyncio.Queue[ToolOutcome | ToolProgress | Exception],
    ) -> ToolOutcome:
        started = time.perf_counter()
        marks: tuple[Mark, ...] = ()
        provenance = CallProvenance(
            scope,
            [],
            replace(self._paths, used=[], views=scope.views.of_call()),
            "" if scope.caller == "model" else call.arguments,
            self._records,
            self._links,
            self._free_requests,
            self._services.project if self._services is not None else None,
        )
        if self._registry.foreign_core_tools:  # the model has read what they say of themselves
            provenance.marks.extend(self._registry.foreign_core_tools.values())
            scope.conversation.add(provenance.marks)
        hooks = self._hooks_on(call, scope) if self._has_hooks else None
        try:
            refusal = self._refusal(call.name, scope, loaded)
            result = presentable(refusal or await self._check_and_run(call, scope, arrivals, hooks, provenance))
            if provenance.marks or provenance.paths.used:
                marks = await provenance.finish()
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                if hooks is not None:
                    hooks.finished(ToolResult.error("interrupted", "The call was interrupted."))
                raise
            # The user cancelled the question, not the call.
            result = ToolResult.error("permission_denied", "The question for a permission was cancelled.")
        except Exception as error:  # noqa: BLE001  # a call without a result would break the conversation
            _log.exception("tool %s failed", call.name)
            result = presentable(execution_error(error))
        if hooks is not None:
            hooks.finished(result)
        views = provenance.paths.views.noted
        return ToolOutcome(call, result, (time.perf_counter() - started) * 1000, marks, views)

    def _hooks_on(
        self, call: ToolCall, scope: CallScope, caller: Literal["javascript"] | None = None
    ) -> HookedCall | None:
        """Return the hooks of plugins on a call; ``None`` if none is about it."""
        found = self._registry.find(call.name)
        group = found.source.group_name if found is not None else None
        is_read_only = found is not None and found.definition.read_only and not found.source.is_supplied
        if self._plugins is None or not self._plugins.are_about(
            call.name, group, is_in_turn=scope.turn is not None, is_read_only=is_read_only
        ):
            return None
        return self._plugins.of_call(
            id=call.id,
            tool=call.name,
            arguments=_object_in(call.arguments),
            group=group,
            plugin=found.source.plugin if found is not None else None,
            required_permissions=tuple(found.definition.required_permissions) if found is not None else (),
            agent=scope.agent_name,
            turn=scope.turn.info if scope.turn is not None else None,
            caller=caller or scope.caller,
            is_read_only=is_read_only,
        )

    def _refusal(self, name: str, scope: CallScope, loaded: set[str | None]) -> ToolResult | None:
        """Say why a tool cannot be called now, ``None`` if it can.

        Args:
            name: the tool.
            scope: on whose behalf it is called.
            loaded: groups that this response has loaded.
        """
        found = self._registry.find(name)
        toolset = self._registry.toolset(scope.selection)
        if found is None:
            if toolset.has_group(name):
                hint = f"'{name}' is a tool group: call {LOAD_TOOL_GROUP} with group_name '{name}'."
            elif (missing := missing_part("tool", name, self._registry.absent_plugins)) is not None:
                hint = f"{missing[0].upper()}{missing[1:]}."
            else:
                close = difflib.get_close_matches(name, sorted(scope.active.names), n=3)
                hint = f"Did you mean {' or '.join(close)}?" if close else ""
            text = f"Tool '{name[:100]}' is not available: there is none of that name. {hint}"
            return ToolResult.error("not_found", text.rstrip())
        not_selected = f"Tool '{name}' is not available for this agent: it is not among this agent's tools."
        if not toolset.allows(name):
            return ToolResult.error("not_available", not_selected)
        group = found.source.group_name
        if not self._registry.is_enabled(name):
            plugin = found.source.plugin
            if plugin is not None and self._registry.is_plugin_disabled(plugin):
                return ToolResult.error(
                    "not_available",
                    f"Tool '{name}' is not available: its plugin is disabled. "
                    f"The user can enable it with: oneclaw plugins enable {plugin}",
                )
            what = f"--group {group}" if group is not None and self._registry.is_group_disabled(group) else name
            return ToolResult.error(
                "not_available",
                f"Tool '{name}' is disabled. The user can enable it with: oneclaw tools enable {what}",
            )
        if name in scope.active.names:
            return None
        if group is None:
            return ToolResult.error("not_available", not_selected)
        if group in loaded:
            return None
        reason = (
            f"it belongs to the tool group '{group}', which is not loaded. "
            f"Call {LOAD_TOOL_GROUP} with group_name '{group}' first."
        )
        return ToolResult.error("not_available", f"Tool '{name}' is not available for this agent: {reason}")

    async def _check_and_run(
        self,
        call: ToolCall,
        scope: CallScope,
        arrivals: asyncio.Queue[ToolOutcome | ToolProgress | Exception],
        hooks: HookedCall | None,
        provenance: CallProvenance,
    ) -> ToolResult:
        found = self._registry.find(call.name)
        assert found is not None
        tool, definition, source = found
        fault = ""
        try:
            arguments = without_absent(parse_arguments(call.arguments), definition.parameters)
            if faults := self._faults(found, arguments):
                fault = "\n".join([f"Tool '{call.name}' was called with wrong arguments:", *faults])
        except ArgumentsError as error:
            fault = f"Tool '{call.name}': {error}"
        if fault:
            lenient = self._read_leniently(found, call)
            if lenient is None:
                return ToolResult.error("validation_error", fault)
            arguments = lenient
        if hooks is not None:
            try:
                arguments = await hooks.rewrite(arguments, partial(self._faults, found))
            except PluginError as error:
                return ToolResult.error("execution_error", f"The call was not run: {error}.")
        require = self._asker(call.name, source.plugin, arguments, scope, hooks)
        try:
            if hooks is not None:
                await hooks.check(require)
            if scope.are_calls_text and not definition.read_only:
                await require(TEXT_CALL_PERMISSION, f"run {call.name}, whose call the model wrote as text")
            if source.is_supplied and source.is_foreign and arguments and not definition.required_permissions:
                await _ask_to_give(call.name, scope.conversation, require)
            if getattr(tool, "asks_itself", False):
                # It asks for what it turns out to need: with a part of that denied it can do the rest.
                await self._permissions.refresh()
                denied = self._denied(scope, *definition.required_permissions)
                if denied and len(denied) == len(set(definition.required_permissions)):
                    raise denied_for_good(min(denied))
            else:
                for permission in definition.required_permissions:
                    directory = directory_of(permission, arguments, partial(self._paths_now, provenance))
                    await require(permission, subject=subject_of(permission, arguments), directory=directory)
        except PermissionDeniedError as error:
            return ToolResult.error("permission_denied", str(error))
        try:
            plugin = await self._plugins.context_of_tool(source.plugin) if self._plugins is not None else None
        except PluginError as error:
            return ToolResult.error("not_available", f"Tool '{call.name}' is not available: {error}.")

        def report_progress(message: str, fraction: float | None) -> None:
            if arrivals.qsize() < MAX_QUEUED_PROGRESS:
                arrivals.put_nowait(ToolProgress(call, message, fraction))

        inner_call = partial(self._inner_call, call, scope) if self._has_hooks else None
        worker = plugin.worker if plugin is not None and not source.is_bound_to_source else None
        running = RunningCall(
            definition.timeout_seconds,
            require,
            report_progress,
            inner_call,
            self._blocks,
            worker,
            provenance,
            self._project,
            partial(self._can_ask, scope),
            partial(self._ask_user, call.name, scope),
        )
        denied = self._denied(scope, "files.read", "files.write", with_patterns=True)
        CALL_MARKS.set(provenance.marks)
        context = ToolContext(
            home=self._home,
            session_id=scope.session_id,
            agent_name=scope.agent_name,
            tool_name=call.name,
            call_id=call.id,
            paths=replace(provenance.paths, denied=denied, questions=running),
            _call=running,
            _services=self._services,
            _plugin=plugin,
            deps=self._deps,
            selection=scope.selection,
            turn=scope.turn,
            shown_characters=scope.shown_characters,
            run_async=running.run_async,
            marks=provenance.marks,
            conversation=scope.conversation,
        )
        result = await running.run(tool, arguments, context, hooks.around() if hooks is not None else None)
        if definition.reads or source.is_supplied:
            provenance.marks += _declared_marks(definition, source)
        return result if hooks is None else await hooks.rewrite_result(presentable(result))

    def _read_leniently(self, found: RegisteredTool, call: ToolCall) -> dict[str, Any] | None:
        """Read arguments that are almost right; ``None`` if they are not valid then either."""
        from oneclaw_core.tools.lenient_arguments import lenient_arguments

        arguments = lenient_arguments(call.arguments, found.definition.parameters)
        if arguments is None or self._faults(found, arguments):
            return None
        _log.info("the arguments of a call of %s were read leniently", call.name)
        return arguments

    def _denied(self, scope: CallScope, *permissions: str, with_patterns: bool = False) -> frozenset[str]:
        task = scope.turn.task if scope.turn is not None else None
        outer = scope.turn.outer_agents() if scope.turn is not None and scope.turn.call is not None else ()
        return self._permissions.denied(
            *permissions, agent=scope.agent_name, task=task, on_behalf_of=outer, with_patterns=with_patterns
        )

    def _asker(
        self, tool_name: str, plugin: str | None, arguments: dict[str, Any], scope: CallScope, hooks: HookedCall | None
    ) -> RequirePermission:
        """Return a function that asks for a permission on behalf of a call: see :class:`RequirePermission`."""

        async def require(
            permission: str,
            detail: str = "",
            subject: str | None = None,
            directory: str | None = None,
            sandbox: str | None = None,
            *,
            as_a_whole: bool = False,
        ) -> bool:
            said = self._registry.get_permission_meaning(permission, plugin)
            marked = scope.conversation
            request = PermissionRequest(
                permission=permission,
                tool_name=tool_name,
                arguments=arguments,
                detail=detail,
                session_id=scope.session_of_user,
                subject=subject,
                meaning=said.text if said is not None else "",
                meaning_by=said.plugin if said is not None else None,
                agent=scope.agent_name,
                task=scope.turn.task if scope.turn is not None else None,
                directory=directory,
                on_behalf_of=scope.turn.outer_agents()
                if scope.turn is not None and scope.turn.call is not None
                else (),
                sub_agent=scope.turn.sub_agent(scope.agent_name) if scope.turn is not None else None,
                holds=marked.in_words() if marked.outside else "",
                asks_again=bool(marked.outside) and asks_again(permission, marked),
                as_a_whole=as_a_whole,
            )
            try:
                with scope.turn.outer_calls_paused() if scope.turn is not None else nullcontext():
                    granted_by = await self._permissions.require(request, sandbox, scope.refused)
            except PermissionDeniedError as error:
                if hooks is not None:
                    hooks.decided(permission, subject, is_granted=False, decided_by=error.decided_by)
                raise
            is_open = granted_by == SANDBOX and not sandbox  # the tool asks next
            if hooks is not None and not is_open:
                hooks.decided(permission, subject, is_granted=True, decided_by=granted_by)
            return granted_by != SANDBOX

        return require

    def _paths_now(self, provenance: CallProvenance) -> PathGuard:
        """Return the paths of a call as the user trusts the start directory now."""
        return replace(provenance.paths, trusts_start=self._project is not None and self._project.is_trusted)

    def _can_ask(self, scope: CallScope) -> bool:
        """Return True if a person can be asked on behalf of a call."""
        return self._permissions.can_ask_in(scope.session_of_user)

    async def _ask_user(
        self, tool_name: str, scope: CallScope, question: UserQuestion, timeout_seconds: float | None
    ) -> str | None:
        """Ask the user a question on behalf of a call."""
        question = replace(
            question,
            tool=tool_name,
            agent=scope.agent_name,
            sub_agent=scope.turn.sub_agent(scope.agent_name) if scope.turn is not None else None,
            session_id=scope.session_of_user,
        )
        with scope.turn.outer_calls_paused() if scope.turn is not None else nullcontext():
            return await self._permissions.ask_user(question, timeout_seconds)

    @asynccontextmanager
    async def _inner_call(
        self, call: ToolCall, scope: CallScope, name: str, arguments: dict[str, Any]
    ) -> AsyncIterator[dict[str, Any]]:
        """Have plugins decide on what a program does that a tool runs, as on a call of the tool of that kind.

        Yields:
            The arguments to use.

        Raises:
            PermissionDeniedError: a plugin refuses it, or failed.
        """
        written = ToolCall(call.id, name, json.dumps(arguments))
        hooks = self._hooks_on(written, scope, "javascript") if self._has_hooks else None
        if hooks is None:
            yield arguments
            return
        found = self._registry.find(name)
        result = ToolResult.error("interrupted", "The call was interrupted.")
        try:
            arguments = await hooks.rewrite(arguments, lambda given: self._faults(found, given) if found else [])
            plugin = found.source.plugin if found is not None else None
            await hooks.check(self._asker(name, plugin, arguments, scope, hooks))
            yield arguments
            result = ToolResult.success()
        except PermissionDeniedError as error:
            result = ToolResult.error("permission_denied", str(error))
            raise
        except PluginError as error:
            result = ToolResult.error("permission_denied", str(error))
            raise PermissionDeniedError(str(error), name) from error
        except Exception as error:
            result = execution_error(error)
            raise
        finally:
            hooks.finished(result)

    def _faults(self, found: RegisteredTool, arguments: dict[str, Any]) -> list[str]:
        """Find what is wrong with arguments, except where the tool does so itself."""
        if getattr(found.tool, "checks_own_arguments", False):
            return []
        definition = found.definition
        known = self._validators.get(definition.name)
        if known is None or known[0] is not definition:
            # What a foreign server judges by itself is not checked here.
            checked = getattr(found.tool, "checked_parameters", None)
            schema = definition.parameters if checked is None else checked
            known = self._validators[definition.name] = definition, compile_schema(schema)
        return argument_faults(known[1], arguments)


def _object_in(arguments: str) -> dict[str, Any]:
    """Read arguments as far as they are a JSON object."""
    try:
        return parse_arguments(arguments)
    except ArgumentsError:
        return {}


async def _ask_to_give(tool_name: str, conversation: Provenance, require: RequirePermission) -> None:
    """Ask before a tool of somebody else's server, which has no permission, gets what a model composed."""
    if conversation.outside and conversation.private:
        await require(
            SEND_PERMISSION, f"give the tool {tool_name}, which a server supplies, these arguments", tool_name
        )


def _declared_marks(definition: ToolDefinition, source: ToolSourceInfo) -> list[Mark]:
    """Return the marks that every result of a tool has; what a tool source supplies may hold anything.

    Of the user's own tools, what they read is known.
    """
    reads: Sequence[str] = definition.reads
    if not reads:
        reads = (MarkKind.OUTSIDE, MarkKind.PRIVATE) if source.is_foreign else (MarkKind.OUTSIDE,)
    return [Mark.of(MarkKind(each), f"the tool {definition.name}") for each in reads]
