"""Define a tool by a typed function."""

from __future__ import annotations

import functools
import inspect
import sys
import types
import warnings
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Literal, ParamSpec, TypeVar, overload

from oneclaw_core.errors import ToolDefinitionError
from oneclaw_core.tool_functions.tool_function import ToolFunction
from oneclaw_core.tools.context import detached_context
from oneclaw_core.tools.deferred_tool import FunctionTarget
from oneclaw_core.types.tool_definition import SelfRunningTool, ToolBehaviour, ToolDefinition, check_name
from oneclaw_core.types.tools import ToolResult

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from oneclaw_core.tool_functions.parameters import FunctionParameters
    from oneclaw_core.tools.context import ToolContext


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
        from oneclaw_core.tool_functions.results import output_schema_of

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
        from oneclaw_core.tool_functions.docstring import parse_docstring

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
