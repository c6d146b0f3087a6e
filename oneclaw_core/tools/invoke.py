"""Run a tool as its author wrote it: sync or async, with or without the context, imported at its first call."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from functools import lru_cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from oneclaw_core.errors import PluginError, describe_error
from oneclaw_core.system.threads import run_in_thread
from oneclaw_core.types.tools import SelfRunningTool, ToolDefinition, ToolResult

if TYPE_CHECKING:
    from oneclaw_core.tools.context import ToolContext


class Executable(Protocol):
    """Runs with the arguments of a call: a tool, or a function that is ready to be called as one."""

    async def execute(self, arguments: dict[str, Any], context: Any) -> ToolResult:
        """Run it."""
        ...


async def invoke(tool: Executable, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
    """Run a tool without a timeout.

    Args:
        tool: what to run; a hand-written one may be synchronous, take no context, and return any value.
        arguments: checked.
        context: for the tool.

    Raises:
        BaseException: whatever the tool raises.
    """
    runs_itself, is_async, takes_context = _calling_convention(type(tool))
    values: tuple[Any, ...] = (arguments, context) if takes_context else (arguments,)
    if runs_itself:
        value: object = await tool.execute(*values)
    elif is_async:
        value = await context.run_async(partial(tool.execute, *values))
    else:
        value = await run_in_thread(partial(tool.execute, *values))
        if inspect.isawaitable(value):
            waiting = value
            value = await context.run_async(lambda: waiting)
    return value if isinstance(value, ToolResult) else ToolResult.success("" if value is None else value)


@lru_cache(maxsize=1024)
def _calling_convention(tool_type: type) -> tuple[bool, bool, bool]:
    """Return whether a tool arranges where its code runs, whether ``execute`` is async, and takes the context."""
    execute = tool_type.execute  # type: ignore[attr-defined]  # the registry has checked that it is there
    parameters = [
        each
        for each in inspect.signature(execute).parameters.values()
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD, each.VAR_POSITIONAL)
    ]
    takes_context = len(parameters) > 2 or any(each.kind is each.VAR_POSITIONAL for each in parameters)
    runs_itself = issubclass(tool_type, SelfRunningTool)
    return runs_itself, inspect.iscoroutinefunction(execute), takes_context


class FunctionTarget(NamedTuple):
    """The location of a function.

    Attributes:
        module: dotted name.
        attribute: of the module.
        origin: what names it, for messages, such as ``tool 'gmail_search' of manifest google_gmail.json``.
    """

    module: str
    attribute: str
    origin: str

    def load(self) -> Any:
        """Import the module and get the attribute.

        Raises:
            PluginError: with module, attribute and origin.
        """
        try:
            module = import_module(self.module)
        except (Exception, SystemExit) as error:  # a module can raise anything while it is imported
            raise PluginError(
                f"{self.origin}: cannot import module {self.module!r} for its function {self.attribute!r}: "
                f"{describe_error(error)}"
            ) from error
        try:
            loaded = getattr(module, self.attribute)
        except AttributeError:
            raise PluginError(f"{self.origin}: module {self.module!r} has no function {self.attribute!r}") from None
        if not callable(loaded):
            raise PluginError(
                f"{self.origin}: {self.attribute!r} in module {self.module!r} is not a function: "
                f"it is of type {type(loaded).__name__}"
            )
        return loaded


class DeferredTool(SelfRunningTool, ABC):
    """A tool that is loaded at its first call.

    Attributes:
        definition: what a model is told about it.
    """

    def __init__(self, definition: ToolDefinition) -> None:
        self.definition = definition
        self._loaded: Executable | None = None

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.definition.name

    @property
    def description(self) -> str:
        """The description that a model is sent."""
        return self.definition.description

    async def loaded(self) -> Executable:
        """Load the tool before the first time, and return it.

        Raises:
            PluginError: it cannot be loaded.
        """
        if self._loaded is None:
            self._loaded = await self._load()
        return self._loaded

    async def execute(self, arguments: dict[str, Any], context: ToolContext | None = None) -> ToolResult:
        """Run the tool, loading it before the first time.

        Args:
            arguments: as for the tool itself.
            context: the same; by default one outside a call of the executor, in the home and the current directory.

        Returns:
            What it returned.

        Raises:
            PluginError: it cannot be loaded.
            Exception: what the tool raised.
        """
        from oneclaw_core.tools.context import detached_context

        return await invoke(await self.loaded(), arguments, context or detached_context(self.name))

    @abstractmethod
    async def _load(self) -> Executable:
        """Import the tool.

        Raises:
            PluginError: the module cannot be imported, or does not have the tool.
        """
