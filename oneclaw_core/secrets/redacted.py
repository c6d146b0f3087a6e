"""Step: an error may quote a key that a service refused; no one is shown it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from oneclaw_core.secrets.redaction import redact_all
from oneclaw_core.types.tools import ToolResult

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


_Call = TypeVar("_Call")


async def redacted(call: _Call, run: Callable[[_Call], Awaitable[ToolResult]]) -> ToolResult:
    """Replace the secrets in the error of a call."""
    result = await run(call)
    if result.is_success:
        return result
    return ToolResult.error(*redact_all((str(result.error_type), str(result.error_message or ""))))
