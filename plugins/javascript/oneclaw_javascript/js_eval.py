"""The core tool ``js_eval``: scripts in JavaScript that call tools."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from oneclaw_core import OneClawError, PermissionDeniedError, ToolResult, UsageError, redact
from oneclaw_core.secrets import SHORTEST_KEY_CHARACTERS
from oneclaw_javascript.bridges import ScriptEndedError
from oneclaw_javascript.call_attachments import CallAttachments
from oneclaw_javascript.errors import JavaScriptError, JavaScriptTimeoutError

if TYPE_CHECKING:
    from oneclaw_core import ToolContext
    from oneclaw_core.scripts import Script
    from oneclaw_javascript.result import JavaScriptResult

DEFAULT_TIMEOUT_SECONDS = 30
MAX_TIMEOUT_SECONDS = 600
_MAX_CONSOLE_CHARACTERS_OF_FAILURE = 2000
_CONSOLE_HEADING = "[console]"
_NOTHING = "The script returned nothing; use return."
# How a call failed says more than that the script did.
_TOLD_TYPES = frozenset({"permission_denied", "interrupted"})
_CAN_GO_ON = frozenset({"permission_denied", "interrupted", "timeout"})


async def js_eval(
    code: str = "",
    purpose: str = "",
    timeout_seconds: int = DEFAULT_TIMEOUT_SECONDS,
    continues: str | None = None,
    *,
    context: ToolContext,
) -> ToolResult:
    """Run a script.

    Args:
        code: the script; it can use ``tools``, ``fetch``, ``fs``, ``console``, ``_time`` and ``lib``.
        purpose: what it is for, shown to people.
        timeout_seconds: how long it may run, within 1 to 600.
        continues: the id of the call of an earlier script to go on with, in place of ``code``.
        context: of the call.

    Returns:
        A string as it is, anything else as JSON; then what it wrote to the console; without known keys, as
        ``read_file`` gives what the code may have read. Attachments of calls, if the script returns their names. Of a
        script that failed, the calls that it made.
    """
    if not code.strip() and continues is None:
        return ToolResult.error("validation_error", "code must not be blank.")
    attachments = CallAttachments()
    try:
        script = await _begun(code, purpose, continues, attachments, context)
    except UsageError as error:
        return ToolResult.error("validation_error", _sentence(error))
    unknown = _tool_problems(script)
    if unknown:
        return ToolResult.error("not_available", f"The script was not run:\n{unknown}")
    try:
        result = await _run(script, timeout_seconds, context)
    except UsageError as error:
        return ToolResult.error("validation_error", _sentence(error))
    except ScriptEndedError as ended:
        return await _failed(script, ended.error_type, str(ended))
    except PermissionDeniedError as error:
        return await _failed(script, "permission_denied", str(error))
    except JavaScriptError as error:
        return await _failed_by(error, script)
    await script.end()
    returned, note = attachments.returned(result.text)
    text = "\n\n".join(part for part in (_shown(result), note) if part)
    return ToolResult.success(redact(text, shortest=SHORTEST_KEY_CHARACTERS), attachments=returned)


async def _begun(
    code: str, purpose: str, continues: str | None, attachments: CallAttachments, context: ToolContext
) -> Script:
    from oneclaw_core.scripts import Script, begin_script
    from oneclaw_javascript.running import ENGINE_VERSION, engine_name

    try:
        return await begin_script(
            context, code, purpose, engine=engine_name(ENGINE_VERSION), continues=continues, adapt=attachments.named
        )
    except UsageError:
        raise
    except OneClawError:  # executed by hand, where there are no tools
        return Script(code, purpose, time.time_ns() // 1_000_000, (1, 2, 3, 4), ())


def _tool_problems(script: Script) -> str:
    """Find the tools that the script names and cannot call, before it has had any effect."""
    from oneclaw_javascript.tool_names import named_tools

    names = [each for each in named_tools(script.code) if each not in script.tool_names]
    return "\n".join(dict.fromkeys(script.problems(names).values())) if names else ""


async def _run(script: Script, timeout_seconds: int, context: ToolContext) -> JavaScriptResult:
    from oneclaw_javascript.running import ScriptOptions, run_javascript
    from oneclaw_javascript.tool_bridges import javascript_bridges

    options = ScriptOptions(now_ms=script.started_ms, seed=script.seed, tool_names=script.tool_names)
    return await run_javascript(
        script.code,
        params={"_env": {}},
        bridges=javascript_bridges(context, script),
        timeout_seconds=min(max(timeout_seconds, 1), MAX_TIMEOUT_SECONDS),
        script=options,
    )


def _shown(result: JavaScriptResult) -> str:
    from oneclaw_javascript.result import console_text

    console = console_text(result.console)
    if result.is_undefined and not console:
        return _NOTHING
    return _with_console(result.text, console)


async def _failed_by(error: JavaScriptError, script: Script) -> ToolResult:
    kind, message = "timeout" if isinstance(error, JavaScriptTimeoutError) else "execution_error", _sentence(error)
    if (failure := error.failure) is not None:
        kind = failure.error_type if failure.error_type in _TOLD_TYPES else kind
        message = f"tools.{failure.tool} failed, and the script did not catch it: {failure.error_type}: {failure}"
    return await _failed(script, kind, message, error.console[-_MAX_CONSOLE_CHARACTERS_OF_FAILURE:])


async def _failed(script: Script, error_type: str, message: str, console: str = "") -> ToolResult:
    await script.end(is_final=error_type not in _CAN_GO_ON)
    parts = (_with_console(message, console), script.summary())
    return ToolResult.error(error_type, "\n\n".join(part for part in parts if part))


def _with_console(text: str, console: str) -> str:
    if not console:
        return text
    return "\n\n".join(part for part in (text, f"{_CONSOLE_HEADING}\n{console}") if part)


def _sentence(error: Exception) -> str:
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}."
