"""Define a tool by a typed function, and call a function as a tool."""

from __future__ import annotations

import functools
import inspect
import math
import sys
import types
import warnings
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Generic, Literal, ParamSpec, TypeVar, overload

from oneclaw_core.errors import ToolDefinitionError
from oneclaw_core.system.threads import run_in_thread
from oneclaw_core.tool_functions.parameters import FunctionParameters, context_parameters, signature_of
from oneclaw_core.tools.context import ToolContext, detached_context
from oneclaw_core.tools.invoke import FunctionTarget
from oneclaw_core.types.tools import SelfRunningTool, ToolBehaviour, ToolDefinition, ToolResult, check_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


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


_P = ParamSpec("_P")
_R = TypeVar("_R")


class FunctionTool(SelfRunningTool, Generic[_P, _R]):
    """A tool made of a function by :func:`tool`; still callable like the function.

    Attributes:
        function: what was decorated.
        name: of the tool.
        group: the tool group it asks to be put in, ``None`` for a core tool.
    """

    def __init__(
        self,
        function: Callable[_P, _R],
        *,
        name: str | None = None,
        description: str | None = None,
        group: str | None = None,
        required_permissions: Sequence[str] = (),
        timeout_seconds: float = 30,
        read_only: bool = False,
        idempotent: bool = False,
        isolation: Literal["process"] | None = None,
        is_poll: bool = False,
        reads: Sequence[str] = (),
        local_names: Mapping[str, Any] | None = None,
    ) -> None:
        """Make a tool; see :func:`tool` for the options.

        With ``local_names``, the type hints of the function may use other names beside those of its module.

        Raises:
            ToolDefinitionError: this cannot be made a tool. What is wrong with its parameters or its description is
                said when the definition is first used.
        """
        if not isinstance(function, types.FunctionType | types.MethodType):
            raise ToolDefinitionError(f"{function!r} is not a Python function; only a function can be made a tool")
        functools.update_wrapper(self, function, updated=())
        self.function: Callable[_P, _R] = function
        self.name = function.__name__ if name is None else name
        self.group = group
        self._behaviour = ToolBehaviour(is_poll=is_poll, isolation=isolation)
        self._given_description = description
        self._required_permissions = required_permissions
        self._timeout_seconds = timeout_seconds
        self._read_only = read_only
        self._idempotent = idempotent
        self._reads = reads
        self._local_names = dict(local_names or {})
        self._definition: ToolDefinition | None = None
        check_name(self.name, "tool")
        if isinstance(required_permissions, str) or not isinstance(
            required_permissions, list | tuple | set | frozenset
        ):
            raise ToolDefinitionError(
                f"tool {self.name!r}: required_permissions must be a list of permission names", "/required_permissions"
            )
        if isolation is not None:
            self._check_isolation(function, isolation)

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """Call the function as if it had not been decorated."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<tool {self.name} of {self.function.__module__}.{self.function.__qualname__}>"

    if not TYPE_CHECKING:  # for which there are no such attributes

        def __getattr__(self, name: str) -> Any:
            if name not in ("isolation", "is_poll"):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
            text = f"the attribute {name!r} of the tool {self.name!r} is definition.behaviour.{name} now; version 0.4"
            warnings.warn(f"{text} removes the old one", DeprecationWarning, stacklevel=2)
            return getattr(self._behaviour, name)

    @property
    def description(self) -> str:
        """The description for the model; the docstring without its sections if none was given."""
        if self._given_description is not None:
            return self._given_description.strip()
        return self._docstring[0]

    # Not a cached_property: for type checkers other than mypy, that cannot stand for the property of the protocol Tool.
    @property
    def definition(self) -> ToolDefinition:
        """The definition of the tool, made on first use.

        Raises:
            ToolDefinitionError: a parameter or the description is not acceptable.
        """
        if self._definition is None:
            self._definition = self._define()
        return self._definition

    def _define(self) -> ToolDefinition:
        from oneclaw_core.tool_functions.parameters import output_schema_of

        parameters = self._parameters.schema(self._docstring[1])
        description = self.description
        if not description:
            raise ToolDefinitionError(
                f"tool {self.name!r} has no description, by which a model decides to use it: "
                "add a docstring to the function, or pass description=",
                "/description",
            )
        return ToolDefinition(
            name=self.name,
            description=description,
            parameters=parameters,
            required_permissions=tuple(self._required_permissions),
            timeout_seconds=self._timeout_seconds,
            read_only=self._read_only,
            idempotent=self._idempotent,
            reads=tuple(self._reads),
            behaviour=self._behaviour,
            output_schema=output_schema_of(self.function, self.name, self._local_names),
        )

    async def execute(self, arguments: dict[str, Any], context: ToolContext | None = None) -> ToolResult:
        """Run the function: async ones are awaited, others run in a thread or, isolated, in a process.

        Args:
            arguments: JSON data; converted to what the type hints say.
            context: for the parameter annotated ``ToolContext``; by default one outside a call of the executor, in the
                home and the current directory.

        Returns:
            What it returned; a ``validation_error`` if the arguments do not fit.

        Raises:
            Exception: what the function raised.
        """
        context = context or detached_context(self.name)
        converted = self._parameters.convert(arguments)
        if isinstance(converted, ToolResult):
            return converted
        if self._behaviour.isolation is None:
            return await self._tool_function.execute(converted, context)
        from oneclaw_core.process.isolation import call_in_process

        return await call_in_process(
            self._target, converted, context, is_converted=True, permissions=self.definition.required_permissions
        )

    def convert(self, arguments: Mapping[str, Any]) -> dict[str, Any] | ToolResult:
        """Turn JSON data into the values that the function takes.

        Returns:
            Values by parameter name, or a ``validation_error`` that lists everything that is wrong.
        """
        return self._parameters.convert(arguments)

    @cached_property
    def _parameters(self) -> FunctionParameters:
        from oneclaw_core.tool_functions.parameters import FunctionParameters

        return FunctionParameters(self.function, self.name, self._local_names)

    @cached_property
    def _tool_function(self) -> ToolFunction:
        return ToolFunction(self.function, self._parameters.context_names, None, f"tool {self.name!r}")

    @cached_property
    def _target(self) -> FunctionTarget:
        return FunctionTarget(self.function.__module__, self.function.__name__, f"tool {self.name!r}")

    @cached_property
    def _docstring(self) -> tuple[str, dict[str, str]]:
        from oneclaw_core.tool_functions.parameters import parse_docstring

        return parse_docstring(self.function.__doc__ or "")

    def _check_isolation(self, function: types.FunctionType | types.MethodType, isolation: object) -> None:
        if isolation != "process":
            raise ToolDefinitionError(f"tool {self.name!r}: isolation must be 'process', not {isolation!r}")
        if inspect.iscoroutinefunction(function):
            raise ToolDefinitionError(
                f"tool {self.name!r}: an async function cannot run with isolation='process'; make it a plain function"
            )
        if not function.__qualname__.isidentifier() or function.__module__ == "__main__":
            raise ToolDefinitionError(
                f"tool {self.name!r}: isolation='process' needs a function that the worker process can import: "
                f"move {function.__qualname__!r} to the top level of a module"
            )


@overload
def tool(function: Callable[_P, _R], /) -> FunctionTool[_P, _R]: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    group: str | None = None,
    required_permissions: Sequence[str] = (),
    timeout_seconds: float = 30,
    read_only: bool = False,
    idempotent: bool = False,
    isolation: Literal["process"] | None = None,
    is_poll: bool = False,
    reads: Sequence[str] = (),
) -> Callable[[Callable[_P, _R]], FunctionTool[_P, _R]]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    group: str | None = None,
    required_permissions: Sequence[str] = (),
    timeout_seconds: float = 30,
    read_only: bool = False,
    idempotent: bool = False,
    isolation: Literal["process"] | None = None,
    is_poll: bool = False,
    reads: Sequence[str] = (),
) -> Any:
    """Make a tool of a function: ``@tool``, or ``@tool(required_permissions=["files.write"])``.

    The type hints become the JSON Schema of the parameters, and a return type that is a ``TypedDict``, a dataclass, a
    pydantic model or a list of those becomes the schema of results. The docstring (Google, NumPy or Sphinx style) gives
    the descriptions; ``Annotated[..., Field(description=...)]`` goes before it. A parameter annotated ``ToolContext``
    gets the context of the call and is not shown to the model.

    Args:
        function: synchronous or async.
        name: of the tool; the function's if not given.
        description: for the model; the docstring's text if not given.
        group: the tool group it belongs to; none makes it a core tool, sent with every request.
        required_permissions: what must be granted before it runs, such as ``files.write``.
        timeout_seconds: how long one run may take.
        read_only: True if a call changes nothing outside OneClaw, so that it can be repeated at any time.
        idempotent: True if running the same call again changes nothing more than running it once.
        isolation: ``"process"`` runs it in a separate process that is killed at the timeout; for a synchronous
            function at the top level of a module.
        is_poll: True if a model may call it again and again until its outcome changes, such as the status of a build.
        reads: what its results hold: ``outside`` for texts that others wrote, ``private`` for data of the user. What
            it gets by ``context.http`` and ``context.paths`` need not be said.

    Returns:
        A :class:`FunctionTool`, or with options a decorator that makes one.

    Raises:
        ToolDefinitionError: this cannot be made a tool.
    """

    def decorate(function: Callable[..., Any], frame_depth: int = 1) -> FunctionTool[..., Any]:
        return FunctionTool(
            function,
            name=name,
            description=description,
            group=group,
            required_permissions=required_permissions,
            timeout_seconds=timeout_seconds,
            read_only=read_only,
            idempotent=idempotent,
            isolation=isolation,
            is_poll=is_poll,
            reads=reads,
            local_names=_local_names(function, frame_depth + 1),
        )

    return decorate if function is None else decorate(function, 2)


def _local_names(function: Callable[..., Any], frame_depth: int) -> dict[str, Any]:
    """The names around a function that is defined within another one: its hints, as text, may use them."""
    if "<locals>" not in getattr(function, "__qualname__", ""):
        return {}
    return dict(sys._getframe(frame_depth).f_locals)
