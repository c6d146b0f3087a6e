"""The mark of a hook's implementation: pluggy's own, with the options of OneClaw's event hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, overload

import pluggy

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

_Function = TypeVar("_Function", bound="Callable[..., Any]")
_mark = pluggy.HookimplMarker("oneclaw")


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
    wrapper: bool = False,
    optionalhook: bool = False,
    specname: str | None = None,
) -> Callable[[_Function], _Function]: ...
def hookimpl(
    function: Any = None,
    /,
    *,
    tools: Collection[str] | None = None,
    in_turns: bool = False,
    skips_read_only: bool = False,
    timeout_seconds: float | None = None,
    **options: Any,
) -> Any:
    """Mark a function as the implementation of the hook of its name.

    Args:
        function: the function, for use without parentheses.
        tools: the only tools, or tool groups, whose calls the hook is about; ``None`` for all.
        in_turns: True if the hook is about calls of turns alone, not about those of programs and the command line.
        skips_read_only: True if the hook is not about calls of tools that change nothing, see
            :attr:`~oneclaw_core.contract.arguments.CallInfo.is_read_only`.
        timeout_seconds: time limit of one call, instead of the limit of the hook's kind.
        options: those of pluggy: ``tryfirst`` and ``trylast`` for the order among plugins, ``specname`` for a function
            that is not named after its hook, ``optionalhook`` for a hook that this version may not have, and
            ``wrapper`` for a generator function around the other implementations of a prompt hook.
    """

    def mark(marked: Any) -> Any:
        marked.oneclaw_options = {
            "tools": None if tools is None else list(tools),
            "timeout_seconds": timeout_seconds,
            "in_turns": in_turns,
            "skips_read_only": skips_read_only,
        }
        return _mark(**options)(marked)

    return mark if function is None else mark(function)
