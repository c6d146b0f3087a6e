"""Tools that a manifest declares: their functions are imported at the first call."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from oneclaw_core.errors import PluginError, describe_error
from oneclaw_core.threads import run_in_thread
from oneclaw_core.tools.context import detached_context

if TYPE_CHECKING:
    from oneclaw_core.tools.context import ToolContext
    from oneclaw_core.tools.definition import ToolDefinition
    from oneclaw_core.tools.function import FunctionTool, ToolFunction
    from oneclaw_core.types.tools import ToolResult


@dataclass(frozen=True, slots=True)
class FunctionTarget:
    """Where a function is found.

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
                f"{self.origin}: {self.attribute!r} in module {self.module!r} is no function "
                f"but a {type(loaded).__name__}"
            )
        return loaded


class ManifestTool:
    """A tool whose definition comes from a manifest and whose function from a module named there.

    Attributes:
        definition: what a model is told about it.
        target: where its function is found.
        isolation: ``"process"`` if it runs in a process of its own.
        asks_itself: whether its function asks for the permissions that it requires, when it knows what it is about to
            do; the executor then refuses only what is denied for good.
    """

    def __init__(
        self,
        definition: ToolDefinition,
        target: FunctionTarget,
        isolation: Literal["process"] | None = None,
        *,
        asks_itself: bool = False,
    ) -> None:
        self.definition = definition
        self.target = target
        self.isolation = isolation
        self.asks_itself = asks_itself
        self._loaded: ToolFunction | FunctionTool[..., Any] | None = None

    def __repr__(self) -> str:
        return f"<tool {self.name} of {self.target.module}:{self.target.attribute}>"

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.definition.name

    @property
    def description(self) -> str:
        """What a model is told that the tool does."""
        return self.definition.description

    async def execute(self, arguments: dict[str, Any], context: ToolContext | None = None) -> ToolResult:
        """Run the function, importing its module before the first time.

        Args:
            arguments: JSON data, passed by name as they are; to a function decorated with ``@tool`` as the Python
                values that its type hints say.
            context: for the parameter annotated ``ToolContext``; by default one outside a call of the executor, in the
                home and the current directory.

        Returns:
            What it returned.

        Raises:
            PluginError: the module cannot be imported, or has no such function.
            ToolDefinitionError: the function does not take these arguments.
            Exception: what the function raised.
        """
        context = context or detached_context(self.name)
        if self.isolation is not None:
            from oneclaw_core.tools.isolation import call_in_process

            return await call_in_process(self.target, arguments, context, is_converted=False)
        loaded = self._loaded
        if loaded is None:
            loaded = self._loaded = await run_in_thread(self._load)  # an import can take seconds
        return await loaded.execute(arguments, context)

    def _load(self) -> ToolFunction | FunctionTool[..., Any]:
        from oneclaw_core.tools.function import FunctionTool, ToolFunction

        loaded = self.target.load()
        return loaded if isinstance(loaded, FunctionTool) else ToolFunction.of(loaded, self.target.origin)
