"""The core tool ``js_eval``: JavaScript."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core import ToolResult, UsageError, redact
from oneclaw_core.tools import SHORTEST_KEY_CHARACTERS
from oneclaw_javascript.errors import JavaScriptError, JavaScriptTimeoutError

if TYPE_CHECKING:
    from oneclaw_core import ToolContext

DEFAULT_TIMEOUT_SECONDS = 30
MAX_TIMEOUT_SECONDS = 120
_MAX_CONSOLE_CHARACTERS_OF_FAILURE = 2000
_CONSOLE_HEADING = "[console]"


async def js_eval(code: str, timeout_seconds: int = DEFAULT_TIMEOUT_SECONDS, *, context: ToolContext) -> ToolResult:
    """Run JavaScript code.

    Args:
        code: a program; it can use ``fetch``, ``fs``, ``console``, ``_time`` and ``lib``.
        timeout_seconds: how long it may run, within 1 to 120.
        context: of the call.

    Returns:
        A string as it is, nothing for ``undefined`` and ``null``, anything else as JSON; then what it wrote to the
        console; without known keys, as ``read_file`` gives what the code may have read.

    Raises:
        PermissionDeniedError: the code needs something that the user does not grant.
    """
    from oneclaw_javascript.result import console_text
    from oneclaw_javascript.running import run_javascript
    from oneclaw_javascript.tool_bridges import javascript_bridges

    if not code.strip():
        return ToolResult.error("validation_error", "code must not be blank.")
    try:
        result = await run_javascript(
            code,
            params={"_env": {}},
            bridges=javascript_bridges(context),
            timeout_seconds=min(max(timeout_seconds, 1), MAX_TIMEOUT_SECONDS),
        )
    except UsageError as error:
        return ToolResult.error("validation_error", _sentence(error))
    except JavaScriptError as error:
        kind = "timeout" if isinstance(error, JavaScriptTimeoutError) else "execution_error"
        console = error.console[-_MAX_CONSOLE_CHARACTERS_OF_FAILURE:]
        return ToolResult.error(kind, _with_console(_sentence(error), console))
    text = _with_console(result.text, console_text(result.console))
    return ToolResult.success(redact(text, shortest=SHORTEST_KEY_CHARACTERS))


def _with_console(text: str, console: str) -> str:
    if not console:
        return text
    return "\n\n".join(part for part in (text, f"{_CONSOLE_HEADING}\n{console}") if part)


def _sentence(error: Exception) -> str:
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}."
