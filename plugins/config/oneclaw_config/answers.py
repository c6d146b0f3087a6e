"""Error results, and questions to the user before a change, for all tools of this group."""

from __future__ import annotations

from functools import wraps
from itertools import accumulate
from typing import TYPE_CHECKING, Any, ParamSpec

from oneclaw_core import (
    DuplicateError,
    InUseError,
    NotFoundError,
    OneClawError,
    PermissionDeniedError,
    ProtectedError,
    ToolResult,
    UsageError,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from oneclaw_core import ToolContext

WRITE_PERMISSION = "config.write"
# Room in what a model is shown for the line that says that there are more.
_MORE_CHARACTERS = 80

Parameters = ParamSpec("Parameters")


def answering(
    failure: str = "execution_error",
) -> Callable[[Callable[Parameters, Awaitable[Any]]], Callable[Parameters, Awaitable[ToolResult]]]:
    """Turn the errors of the services into error types.

    Args:
        failure: the type for what is refused because something else needs it, or is there already.
    """

    def decorate(tool: Callable[Parameters, Awaitable[Any]]) -> Callable[Parameters, Awaitable[ToolResult]]:
        @wraps(tool)
        async def answered(*args: Parameters.args, **kwargs: Parameters.kwargs) -> ToolResult:
            try:
                value = await tool(*args, **kwargs)
            except PermissionDeniedError:
                raise
            except NotFoundError as error:
                return ToolResult.error("not_found", _sentence(error))
            except ProtectedError as error:
                return ToolResult.error("permission_denied", _sentence(error))
            except (DuplicateError, InUseError) as error:
                return ToolResult.error(failure, _sentence(error))
            except UsageError as error:
                return ToolResult.error("validation_error", _sentence(error))
            except OneClawError as error:
                return ToolResult.error(failure, _sentence(error))
            return value if isinstance(value, ToolResult) else ToolResult.success(value)

        return answered

    return decorate


async def ask_to_change(context: ToolContext, change: str, subject: str) -> None:
    """Go on only if the user agrees with a change.

    Args:
        context: of the call.
        change: what is about to be changed, from what to what.
        subject: what it is a change of, such as ``default model``: a lasting answer holds for this alone.

    Raises:
        PermissionDeniedError: the user does not.
    """
    await context.ask_permission(WRITE_PERMISSION, change, subject)


def listed(lines: Sequence[str], offset: int, context: ToolContext, tool: str, arguments: str = "") -> str:
    """Join lines from one on, as far as the model is shown them; one at least.

    Args:
        lines: all of them.
        offset: how many to leave out before.
        context: of the call.
        tool: what goes on with the rest.
        arguments: that it has to have beside the offset, such as ``provider_id 'openai', ``.

    Raises:
        UsageError: there are not so many lines.
    """
    if offset and offset >= len(lines):
        raise UsageError(f"offset must be below {len(lines)}, the number of entries")
    rest = lines[offset:]
    if context.shown_characters is not None:
        room = context.shown_characters - _MORE_CHARACTERS - len(arguments)
        rest = rest[: max(1, sum(end <= room for end in accumulate(len(line) + 1 for line in rest)))]
    end = offset + len(rest)
    more = [f"... and {len(lines) - end} more: {tool} with {arguments}offset {end}"] if end < len(lines) else []
    return "\n".join([*rest, *more])


def required(name: str, value: str) -> str:
    """Take a text without the spaces around it.

    Raises:
        UsageError: nothing is left.
    """
    text = value.strip()
    if not text:
        raise UsageError(f"{name} must not be empty")
    return text


def _sentence(error: OneClawError) -> str:
    text = str(error)
    return text[:1].upper() + text[1:]
