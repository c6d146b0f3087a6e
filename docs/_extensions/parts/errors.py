"""The exceptions of the program: the tree, and each error with its meaning and exit status."""

from __future__ import annotations

import inspect

from oneclaw_core import errors
from parts._markdown import code, docstring, table


def markdown(arguments: list[str], lines: list[str]) -> str:
    """``tree`` gives the tree, ``table`` a row for each error."""
    if arguments == ["tree"]:
        drawn = inspect.cleandoc(errors.__doc__ or "").partition("::\n")[2]
        return f"```text\n{inspect.cleandoc(drawn)}\n```\n"
    return table(
        ["error", "meaning", "exit status", "is also a"],
        [
            (code(each.__name__), docstring(each), str(each.exit_status), ", ".join(map(code, _others(each))))
            for each in vars(errors).values()
            if inspect.isclass(each) and issubclass(each, errors.OneClawError)
        ],
    )


def _others(error: type[errors.OneClawError]) -> list[str]:
    return [base.__name__ for base in error.__bases__ if base.__module__ == "builtins" and base is not Exception]
