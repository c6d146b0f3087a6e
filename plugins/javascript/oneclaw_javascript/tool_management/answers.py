"""Shared by the tools: errors for the model, and the question before a change."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, ParamSpec

from oneclaw_core import (
    DuplicateError,
    NotFoundError,
    OneClawError,
    PermissionDeniedError,
    ProtectedError,
    ToolResult,
    UsageError,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

WRITE_PERMISSION = "tools.write"

Parameters = ParamSpec("Parameters")

# The first that fits counts.
_ERROR_TYPES: tuple[tuple[type[OneClawError], str], ...] = (
    (DuplicateError, "duplicate_name"),
    (NotFoundError, "not_found"),
    (ProtectedError, "protected_tool"),
    (UsageError, "validation_error"),
    (OneClawError, "io_error"),
)


def answering(tool: Callable[Parameters, Awaitable[str]]) -> Callable[Parameters, Awaitable[ToolResult]]:
    """Turn what is refused into error types.

    Args:
        tool: returns what the model is told.
    """

    @wraps(tool)
    async def answered(*args: Parameters.args, **kwargs: Parameters.kwargs) -> ToolResult:
        try:
            return ToolResult.success(await tool(*args, **kwargs))
        except PermissionDeniedError:
            raise
        except OneClawError as error:
            error_type = next(name for kind, name in _ERROR_TYPES if isinstance(error, kind))
            return ToolResult.error(error_type, _sentence(str(error)))

    return answered


def _sentence(text: str) -> str:
    # A name at the beginning stays as it is.
    return text[:1].upper() + text[1:] if text.partition(" ")[0].isalpha() else text
