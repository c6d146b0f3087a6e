"""A function that is ready to be called as a tool, and the result of what it returns."""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import ToolDefinitionError
from oneclaw_core.system.threads import run_in_thread
from oneclaw_core.tool_functions.parameters import context_parameters, signature_of
from oneclaw_core.types.tool_definition import SelfRunningTool
from oneclaw_core.types.tools import ToolResult

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from oneclaw_core.tools.context import ToolContext


@dataclass(frozen=True, slots=True)
class ToolFunction(SelfRunningTool):
    """A function that is ready to be called as a tool.

    Attributes:
        function: synchronous or async.
        context_names: the parameters that take the ``ToolContext``.
        signature: to check arguments against before the call; ``None`` if they need no check.
        origin: what the function belongs to, for messages.
    """

    function: Callable[..., Any]
    context_names: tuple[str, ...]
    signature: inspect.Signature | None
    origin: str

    @classmethod
    def of(cls, function: Callable[..., Any], origin: str) -> ToolFunction:
        """Look at a function that may not fit the arguments it is going to get."""
        try:
            signature = signature_of(function)
        except (TypeError, ValueError):  # a builtin that has none
            signature = None
        return cls(function, context_parameters(function), signature, origin)

    async def execute(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Call it: an async function is awaited, any other runs in a thread.

        Returns:
            Its result, see :func:`as_tool_result`.

        Raises:
            ToolDefinitionError: the function does not take these arguments.
            Exception: what the function raises.
        """
        call = self._bind(arguments, context)
        if inspect.iscoroutinefunction(self.function):
            return as_tool_result(await context.run_async(call))
        value = await run_in_thread(partial(_call_and_convert, call))
        # A plain function can wrap an async one, which must not run in the thread.
        return as_tool_result(await context.run_async(lambda: value)) if inspect.isawaitable(value) else value

    def call_here(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Call a synchronous function in this very thread; otherwise like :meth:`execute`."""
        if inspect.iscoroutinefunction(self.function):
            raise ToolDefinitionError(
                f"{self.origin}: an async function cannot run with isolation='process'; make it a plain function"
            )
        return as_tool_result(self._bind(arguments, context)())

    def _bind(self, arguments: Mapping[str, Any], context: ToolContext) -> Callable[[], Any]:
        taken = [name for name in self.context_names if name in arguments]
        if taken:
            raise ToolDefinitionError(
                f"{self.origin}: the parameter {taken[0]!r} takes the ToolContext, so no argument can have that name"
            )
        keywords = {**arguments, **dict.fromkeys(self.context_names, context)}
        if self.signature is not None:
            try:
                self.signature.bind(**keywords)
            except TypeError as error:
                raise ToolDefinitionError(
                    f"{self.origin}: its function does not fit its parameters: {error}; "
                    "make the function's signature and the tool's parameters agree"
                ) from None
        return partial(self.function, **keywords)


def as_tool_result(value: Any) -> ToolResult:
    """Make a tool's result of whatever a function returned.

    Args:
        value: a ``ToolResult``, ``None`` (which counts as empty text), anything that JSON can hold, or that pydantic
            knows to turn into such: models, dataclasses, dates, paths, sets and the like.

    Returns:
        A result whose value is JSON data, or an ``execution_error`` that says why there is none.
    """
    result = value if isinstance(value, ToolResult) else ToolResult.success("" if value is None else value)
    if not result.is_success or type(result.result) is str:
        return result
    try:
        return replace(result, result=_json_value(result.result))
    except (TypeError, ValueError, RecursionError) as error:
        return ToolResult.error(
            "execution_error",
            f"The tool returned an object of type {type(result.result).__name__}, which cannot be written as "
            f"JSON: {error}",
        )


def _call_and_convert(call: Callable[[], Any]) -> Any:
    value = call()
    return value if inspect.isawaitable(value) else as_tool_result(value)


def _json_value(value: Any) -> Any:
    try:
        return _plain(value)
    except _NotPlainError:
        from pydantic_core import to_jsonable_python

        return _plain(to_jsonable_python(value))


class _NotPlainError(TypeError):
    """A value is not of the very types that reading JSON gives."""


def _plain(value: Any) -> Any:
    kind = type(value)
    if value is None or kind in (str, bool, int):
        return value
    if kind is float:
        return value if math.isfinite(value) else None  # JSON has no such numbers; null is what JavaScript writes
    if kind is list:
        return [_plain(each) for each in value]
    if kind is dict and all(type(key) is str for key in value):
        return {key: _plain(each) for key, each in value.items()}
    raise _NotPlainError(f"a {kind.__name__} is not JSON data")
