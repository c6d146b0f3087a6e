"""The mark of a hook's implementation.

It is what ``pluggy.HookimplMarker("oneclaw")`` leaves on a function, without pluggy: a listing imports plugins, and no
more than their modules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

_Function = TypeVar("_Function", bound="Callable[..., Any]")


@overload
def hookimpl(function: _Function, /) -> _Function: ...
@overload
def hookimpl(
    *,
    tools: Collection[str] | None = None,
    in_turns: bool = False,
    skips_read_only: bool = False,
    timeout_seconds: float | None = None,
    tryfirst: bool = False,
    trylast: bool = False,
) -> Callable[[_Function], _Function]: ...
def hookimpl(
    function: Any = None,
    /,
    *,
    tools: Collection[str] | None = None,
    in_turns: bool = False,
    skips_read_only: bool = False,
    timeout_seconds: float | None = None,
    tryfirst: bool = False,
    trylast: bool = False,
) -> Any:
    """Mark a function as the implementation of the hook of its name.

    Args:
        function: the function, for use without parentheses.
        tools: the only tools, or tool groups, whose calls the hook is about; ``None`` for all.
        in_turns: True if the hook is about calls of turns alone, not about those of programs and the command line.
        skips_read_only: True if the hook is not about calls of tools that change nothing, see
            :attr:`~oneclaw_core.contract.arguments.CallInfo.is_read_only`.
        timeout_seconds: time limit of one call, instead of the limit of the hook's kind.
        tryfirst: run before the plain implementations of other plugins.
        trylast: run behind them.
    """

    def mark(marked: Any) -> Any:
        marked.oneclaw_options = {
            "tools": None if tools is None else tuple(tools),
            "timeout_seconds": timeout_seconds,
            "in_turns": in_turns,
            "skips_read_only": skips_read_only,
        }
        marked.oneclaw_impl = {"tryfirst": tryfirst, "trylast": trylast}
        return marked

    return mark if function is None else mark(function)
