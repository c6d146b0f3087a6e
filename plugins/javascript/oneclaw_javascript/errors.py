"""Errors of JavaScript programs."""

from __future__ import annotations

from oneclaw_core import OneClawError


class JavaScriptError(OneClawError):
    """JavaScript code failed.

    Attributes:
        console: what it had written to the console, as text.
    """

    console = ""


class JavaScriptSyntaxError(JavaScriptError):
    """The code cannot be parsed."""


class JavaScriptTimeoutError(JavaScriptError):
    """The code was stopped after its time."""
