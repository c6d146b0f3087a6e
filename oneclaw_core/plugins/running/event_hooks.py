"""The event hooks of plugins at work: gates are asked, observers are told, and work is done within ``around``."""

from __future__ import annotations

import json
import logging
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from oneclaw_core.contract.arguments import Ask, Deny, PermissionOutcome, ToolWork, frozen, set_result
from oneclaw_core.errors import PermissionDeniedError, PluginError, describe_error
from oneclaw_core.plugins.isolation import HookError
from oneclaw_core.types.tools import ToolResult

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from types import TracebackType

    from oneclaw_core.contract.arguments import CallInfo, ModelAnswer, TurnInfo, TurnOutcome, Work
    from oneclaw_core.permissions.requests import RequirePermission
    from oneclaw_core.plugins.running.calling import Step
    from oneclaw_core.plugins.running.running_plugin import RunningPlugin

CALL_HOOKS = frozenset(
    {"rewrite_tool_call", "before_tool_call", "around", "rewrite_tool_result", "after_tool_call", "permission_decided"}
)
"""The hooks that a tool call concerns."""
GATE_SECONDS = 15.0
REWRITER_SECONDS = 15.0
UNBOUND_HOOKS = frozenset(
    {
        "chat_notices",
        "current_sections",
        "expand_command",
        "message_commands",
        "prompt_sections",
        "session_created",
        "session_deleted",
    }
)
"""Event hooks that are not about a turn."""

_log = logging.getLogger("oneclaw.plugins")


class Verdict(NamedTuple):
    """The answer of a plugin's gate.

    Attributes:
        plugin: the plugin's name.
        answer: a refusal, or a demand that the user is asked.
    """

    plugin: str
    answer: Deny | Ask

    @property
    def reason(self) -> str:
        """The reason of a refusal."""
        return self.answer.reason if isinstance(self.answer, Deny) else ""


class Around:
    """An async context manager that enters what the ``around`` hooks return, in the task that enters it.

    A fault of a plugin is logged. It neither keeps the work from running nor hides how the work ended.

    Args:
        plugins: that implement the hook, in order.
        work: what they are entered for; its result is to be set before the end.
    """

    def __init__(self, plugins: Sequence[RunningPlugin], work: Work) -> None:
        self._plugins = plugins
        self._work = work
        self._entered: list[tuple[str, AbstractContextManager[Any]]] = []

    async def __aenter__(self) -> Self:
        try:
            await self._enter()
        except BaseException as error:  # cancelled while a plugin starts
            await self.__aexit__(type(error), error, error.__traceback__)
            raise
        return self

    async def _enter(self) -> None:
        for plugin in self._plugins:
            try:
                context, implementation = await plugin.ready("around")
            except PluginError as error:
                _log.warning("%s", error)
                continue
            given = {"context": context, "work": self._work}
            try:
                manager = implementation.function(**{it: given[it] for it in implementation.options["argument_names"]})
                if manager is not None:
                    manager.__enter__()
                    self._entered.append((plugin.name, manager))
            except BaseException as error:  # noqa: BLE001  # foreign code
                _complain(plugin.name, error)

    def set_result(self, result: TurnOutcome | ModelAnswer | ToolResult) -> None:
        """Show the context managers how the work ended, before they are left."""
        set_result(self._work, result)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        while self._entered:
            plugin, manager = self._entered.pop()
            try:
                # A true value would swallow the exception of the work, and does not.
                manager.__exit__(kind, error, traceback)
            except BaseException as raised:  # noqa: BLE001  # foreign code
                if raised is not error:
                    _complain(plugin, raised)


def _complain(plugin: str, error: BaseException) -> None:
    _log.warning("%s", HookError(plugin, "around", f"raised {describe_error(error)}"))


class EventHooks:
    """The event hooks that plugins implement.

    Args:
        plans: the implementations of each hook, see :func:`oneclaw_core.plugins.running.calling.plan`.

    Attributes:
        hooks: the event hooks that any plugin implements.
        governs_calls: True if any of them concerns tool calls.
        follows_turns: True if any of them concerns a turn as a whole, its requests or its calls.
    """

    def __init__(self, plans: Mapping[str, Sequence[Step]]) -> None:
        self._plans = plans
        self.hooks = frozenset(plans)
        self.governs_calls = not self.hooks.isdisjoint(CALL_HOOKS)
        self.follows_turns = not self.hooks <= UNBOUND_HOOKS

    async def before_turn(self, turn: TurnInfo) -> Verdict | None:
        """Ask all gates whether a turn may begin; return the first denial, ``None`` if it may."""
        verdicts = [
            await self._verdict(step.plugin, "before_turn", {"turn": turn}, (Deny,))
            for step in self._plans.get("before_turn", ())
        ]
        return next((each for each in verdicts if each is not None), None)

    async def before_tool_call(self, call: CallInfo) -> list[Verdict]:
        """Ask all gates whether a call may run.

        Returns:
            The first ``Deny`` alone, else every ``Ask``, in order.
        """
        verdicts: list[Verdict] = []
        for plugin in self.concerned("before_tool_call", call):
            verdict = await self._verdict(plugin, "before_tool_call", {"call": call}, (Deny, Ask))
            if verdict is not None:
                verdicts.append(verdict)
        denials = [each for each in verdicts if isinstance(each.answer, Deny)]
        return denials[:1] or verdicts

    def concerned(self, hook: str, call: CallInfo) -> list[RunningPlugin]:
        """Return the plugins whose implementation of a hook is about a tool call, in order."""
        return [step.plugin for step in self._plans.get(hook, ()) if _is_about(step, call)]

    def are_about(self, tool: str, group: str | None, *, is_in_turn: bool, is_read_only: bool = False) -> bool:
        """Return True if a call of a tool concerns any hook."""
        return any(
            step.options.is_about(tool, group, is_in_turn=is_in_turn, is_read_only=is_read_only)
            for hook in CALL_HOOKS
            for step in self._plans.get(hook, ())
        )

    def around(self, work: Work) -> Around:
        """Return an async context manager that enters the context managers of plugins in the running task."""
        if isinstance(work, ToolWork):
            return Around(self.concerned("around", work.call), work)
        return Around([step.plugin for step in self._plans.get("around", ())], work)

    def observe(self, hook: str, **arguments: Any) -> None:
        """Queue an event for the observers of a hook."""
        for step in self._plans.get(hook, ()):
            call = arguments.get("call")
            if call is None or _is_about(step, call):
                step.plugin.queue.put(hook, arguments)

    async def _verdict(
        self, plugin: RunningPlugin, hook: str, arguments: dict[str, Any], kinds: tuple[type, ...]
    ) -> Verdict | None:
        """Call a gate; whatever is wrong with it is a refusal."""
        name = plugin.name
        try:
            answer = await plugin.call(hook, arguments, GATE_SECONDS)
        except PluginError as error:
            _log.warning("%s", error)
            return Verdict(name, Deny(str(error)))
        if answer is None:
            return None
        if isinstance(answer, Deny) and isinstance(answer.reason, str):
            return Verdict(name, Deny(f"The plugin {name} refuses this: {answer.reason}"))
        if isinstance(answer, Ask) and Ask in kinds and _is_sound(answer):
            return Verdict(name, answer)
        names = " or ".join(kind.__name__ for kind in kinds)
        fault = f"returned an object of type {type(answer).__name__}, not a valid {names} or None"
        return Verdict(name, Deny(str(self._complain(plugin, hook, fault))))

    def _complain(self, plugin: RunningPlugin, hook: str, fault: str) -> HookError:
        error = HookError(plugin.name, hook, fault)
        _log.warning("%s", error)
        return error


def _is_about(step: Step, call: CallInfo) -> bool:
    is_in_turn = call.turn is not None
    return step.options.is_about(call.tool, call.group, is_in_turn=is_in_turn, is_read_only=call.is_read_only)


def _is_sound(ask: Ask) -> bool:
    texts = (ask.permission, ask.detail, ask.subject or "")
    return bool(ask.permission) and all(isinstance(each, str) for each in texts)


class HookedCall:
    """A tool call that plugins govern or observe.

    Args:
        plugins: at work.
        info: the call; its arguments are copied.
    """

    def __init__(self, plugins: EventHooks, info: CallInfo) -> None:
        self._plugins = plugins
        self._info = info
        self._started = time.perf_counter()
        self.arguments = info.arguments

    @property
    def info(self) -> CallInfo:
        """The call as plugins see it."""
        return self._info

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The arguments that the tool gets."""
        return self._info.arguments

    @arguments.setter
    def arguments(self, value: Mapping[str, Any]) -> None:
        self._info = replace(self._info, arguments=frozen(dict(value)))

    async def rewrite(
        self, arguments: dict[str, Any], faults_of: Callable[[dict[str, Any]], list[str]]
    ) -> dict[str, Any]:
        """Have plugins rewrite the arguments, each those of the one before.

        Returns:
            The arguments to use.

        Raises:
            PluginError: a plugin failed, or returned arguments that are invalid; the call must not run.
        """
        self.arguments = arguments
        for plugin in self._plugins.concerned("rewrite_tool_call", self._info):
            value = await plugin.call("rewrite_tool_call", {"call": self._info}, REWRITER_SECONDS)
            if value is None:
                continue
            rewritten = _json_object(value)
            if rewritten is None:
                raise HookError(
                    plugin.name,
                    "rewrite_tool_call",
                    f"returned an object of type {type(value).__name__}, not JSON arguments",
                )
            faults = faults_of(rewritten)
            if faults:
                raise HookError(plugin.name, "rewrite_tool_call", f"returned invalid arguments: {' '.join(faults)}")
            self.arguments = arguments = rewritten
        return arguments

    async def check(self, ask: RequirePermission) -> None:
        """Ask the gates; the call goes on if this returns.

        Raises:
            PermissionDeniedError: a gate refuses the call, or the user does.
        """
        for plugin, answer in await self._plugins.before_tool_call(self._info):
            if isinstance(answer, Deny):
                self.decided(self._info.tool, None, is_granted=False, decided_by=f"plugin {plugin}")
                raise PermissionDeniedError(answer.reason, self._info.tool)
            detail = f"{answer.detail} (the plugin {plugin} asks)" if answer.detail else f"the plugin {plugin} asks"
            await ask(answer.permission, detail, answer.subject)

    def around(self) -> Around:
        """Return a context manager to enter around the tool."""
        return self._plugins.around(ToolWork(self._info))

    async def rewrite_result(self, result: ToolResult) -> ToolResult:
        """Have plugins rewrite the result of a call that ran.

        Returns:
            The result to store. If a plugin failed, an error that says that the call ran.
        """
        result = _frozen_result(result)
        try:
            for plugin in self._plugins.concerned("rewrite_tool_result", self._info):
                given = {"call": self._info, "result": result}
                value = await plugin.call("rewrite_tool_result", given, REWRITER_SECONDS)
                if value is None:
                    continue
                if not isinstance(value, ToolResult):
                    fault = f"returned an object of type {type(value).__name__}, not a ToolResult"
                    raise HookError(plugin.name, "rewrite_tool_result", fault)
                result = _frozen_result(value)
        except PluginError as error:
            return ToolResult.error(
                "unknown_outcome",
                f"The call ran and may have had its effect, but its result is withheld: {error}. "
                "Do not repeat it; look for what it did, or tell the user.",
            )
        return result

    def decided(self, permission: str, subject: str | None, *, is_granted: bool, decided_by: str) -> None:
        """Tell observers of a decision on a permission."""
        if "permission_decided" in self._plugins.hooks:
            decision = PermissionOutcome(
                permission=permission, subject=subject, is_granted=is_granted, decided_by=decided_by
            )
            self._plugins.observe("permission_decided", call=self._info, decision=decision)

    def finished(self, result: ToolResult) -> None:
        """Tell observers of the result."""
        if "after_tool_call" in self._plugins.hooks:
            given = {"call": self._info, "result": _frozen_result(result), "duration_ms": self._duration_ms()}
            self._plugins.observe("after_tool_call", **given)

    def _duration_ms(self) -> float:
        return (time.perf_counter() - self._started) * 1000


def _frozen_result(result: ToolResult) -> ToolResult:
    return replace(result, result=frozen(result.result))


def _json_object(value: object) -> dict[str, Any] | None:
    """Return a copy of a value that shares nothing with it; ``None`` if it is not a JSON object."""
    try:
        copy = json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        return None
    return copy if isinstance(value, dict) and isinstance(copy, dict) else None
