"""Functions of the caller that a JavaScript program may call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oneclaw_javascript.result import ConsoleLine

BridgeHandler = Callable[[dict[str, Any]], Awaitable[Any]]

# By the names that the engine's side knows; what each is asked with is in engine/2_bridges.js.
BRIDGE_NAMES = frozenset(
    {"fetch", "fs.readFile", "fs.writeFile", "fs.appendFile", "fs.exists", "_time", "lib", "tool", "results", "_sleep"}
)


class BridgeError(Exception):
    """A bridge cannot do what it was asked; the program gets an ``Error`` with this message."""


class ToolFailureError(BridgeError):
    """A tool failed; the program gets a ``ToolError``.

    Attributes:
        tool: its name.
        error_type: such as ``not_found``.
    """

    def __init__(self, tool: str, error_type: str, message: str) -> None:
        super().__init__(message)
        self.tool = tool
        self.error_type = error_type


class ScriptEndedError(Exception):
    """The script may not go on.

    Attributes:
        error_type: why, such as ``limit_reached``.
    """

    def __init__(self, error_type: str, message: str) -> None:
        super().__init__(message)
        self.error_type = error_type


@dataclass(frozen=True, slots=True)
class JavaScriptBridges:
    """Functions that a program can call; all others are undefined in it.

    The program is foreign: a handler checks the types and the content of what it gets, and asks for permissions.

    Attributes:
        handlers: by name, one of ``BRIDGE_NAMES``. Each gets an object of JSON data and returns JSON data; it raises
            ``BridgeError`` or ``PermissionDeniedError``, which the program can catch.
        on_console: is told each line as it is written.
        asked_seconds: how long the user has been asked questions since the program was started, in seconds; this does
            not count against its time.
    """

    handlers: Mapping[str, BridgeHandler] = field(default_factory=dict)
    on_console: Callable[[ConsoleLine], None] = lambda _: None
    asked_seconds: Callable[[], float] = lambda: 0.0

    def __post_init__(self) -> None:
        unknown = self.handlers.keys() - BRIDGE_NAMES
        if unknown:
            raise ValueError(f"no bridges of these names are known: {', '.join(sorted(unknown))}")
