"""Errors of JavaScript programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core import OneClawError

if TYPE_CHECKING:
    from oneclaw_javascript.bridges import ToolFailureError


class JavaScriptError(OneClawError):
    """JavaScript code failed.

    Attributes:
        console: what it had written to the console, as text.
        failure: of a tool, if the code did not catch it; ``None`` for any other error.
    """

    console = ""
    failure: ToolFailureError | None = None


class JavaScriptSyntaxError(JavaScriptError):
    """The code cannot be parsed."""


class JavaScriptTimeoutError(JavaScriptError):
    """The code was stopped after its time."""
