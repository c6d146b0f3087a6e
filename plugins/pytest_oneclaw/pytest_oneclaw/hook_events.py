"""Event objects for tests of hooks, and calls of hooks through the plugins of a home."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_core.contract.arguments import CallInfo, SessionInfo, TurnInfo, TurnOutcome, frozen
from oneclaw_core.errors import UsageError
from oneclaw_core.hookspecs import HOOK_KINDS, HookKind
from oneclaw_core.plugins.running.event_hooks import HookedCall
from oneclaw_core.types.messages import TokenUsage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_core.plugins.running.runtime import Plugins
    from oneclaw_core.types.tools import ToolResult

_AGENT = "General Assistant"
_DRAIN_SECONDS = 30.0


def made_session(**about: Any) -> SessionInfo:
    """Make a session for a hook; each field has a default.

    Args:
        about: fields of ``SessionInfo``.
    """
    defaults: dict[str, Any] = {"id": "session_1", "agent": _AGENT}
    return SessionInfo(**defaults | about)


def made_turn(text: str = "Hello", **about: Any) -> TurnInfo:
    """Make a turn for a hook; each field has a default.

    Args:
        text: the user's message.
        about: fields of ``TurnInfo``.
    """
    defaults: dict[str, Any] = {"id": "turn_1", "session": made_session(), "agent": _AGENT, "model": "offline/rules"}
    return TurnInfo(**defaults | about | {"text": text})


def made_call(tool: str, arguments: Mapping[str, Any] | None = None, **about: Any) -> CallInfo:
    """Make a tool call for a hook; each field has a default.

    Args:
        tool: name of the tool.
        arguments: of the call.
        about: fields of ``CallInfo``.
    """
    defaults: dict[str, Any] = {"id": "call_1", "agent": _AGENT}
    return CallInfo(**defaults | about, tool=tool, arguments=frozen(dict(arguments or {})))


def made_outcome(text: str = "Done.", **about: Any) -> TurnOutcome:
    """Make the outcome of a turn for a hook; each field has a default.

    Args:
        text: the final answer.
        about: fields of ``TurnOutcome``.
    """
    defaults: dict[str, Any] = {"usage": TokenUsage()}
    return TurnOutcome(**defaults | about, text=text)


async def call_hook(plugins: Plugins, hook: str, /, **arguments: Any) -> Any:
    """Call a hook of the plugins at work, with their order, time limits and isolation.

    Args:
        plugins: such as ``app.plugins``.
        hook: its name; no registration or lifecycle hook.
        arguments: of the hook, without the context.

    Returns:
        Of a gate, ``Deny``, the first ``Ask`` or ``None``; of a rewriter, the arguments or the result to use; of
        ``message_context``, texts by plugin; of ``prompt_sections``, one text; of an observer, ``None``.

    Raises:
        UsageError: there is no such event hook.
        PluginError: a rewriter of a call failed.
    """
    kind = HOOK_KINDS.get(hook)
    if kind is HookKind.OBSERVER:
        plugins.observe(hook, **arguments)
        await plugins.drain(_DRAIN_SECONDS)
        return None
    if hook == "before_turn":
        refusal = await plugins.before_turn(arguments["turn"])
        return None if refusal is None else refusal.answer
    if hook == "before_tool_call":
        verdicts = await plugins.before_tool_call(arguments["call"])
        return verdicts[0].answer if verdicts else None
    if hook == "rewrite_tool_call":
        call: CallInfo = arguments["call"]
        return await HookedCall(plugins, call).rewrite(dict(call.arguments), lambda _: [])
    if hook == "rewrite_tool_result":
        result: ToolResult = await HookedCall(plugins, arguments["call"]).rewrite_result(arguments["result"])
        return result
    if hook == "message_context":
        return dict(await plugins.message_context(arguments["turn"]))
    if hook == "prompt_sections":
        return await plugins.prompt_sections(arguments["session"])
    raise UsageError(f"{hook!r} cannot be called here: name a gate, a rewriter, an observer or a prompt hook")
