"""Reading a function's type hints: what they mean, and which parameter takes the ``ToolContext``."""

from __future__ import annotations

import inspect
import sys
import types
import typing
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin

from oneclaw_core.tools.context import ToolContext

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """The signature of a function, whether or not the names in its type hints can be resolved.

    Raises:
        ValueError: a builtin that has none.
    """
    if sys.version_info >= (3, 14):
        from annotationlib import Format

        return inspect.signature(function, annotation_format=Format.FORWARDREF)
    return inspect.signature(function)


def resolve_hint(hint: Any, function: Callable[..., Any], local_names: Mapping[str, Any]) -> Any:
    """Turn a type hint into the type it means, also when it is written as text.

    Args:
        hint: from the function's signature.
        function: whose module's names the hint may use.
        local_names: further names, such as those of the function around it.

    Raises:
        Exception: whatever evaluating a hint can raise, mostly ``NameError``.
    """
    module_names = getattr(inspect.unwrap(function), "__globals__", {})
    # Linters move an import that only hints use under `if TYPE_CHECKING`; ToolContext must be found nevertheless.
    own_names = {"ToolContext": ToolContext, "oneclaw_core": sys.modules["oneclaw_core"]}
    names = {name: value for name, value in own_names.items() if name not in module_names}
    holder = types.SimpleNamespace(__annotations__={"hint": hint})
    resolved = typing.get_type_hints(holder, module_names, {**names, **local_names}, include_extras=True)
    return resolved["hint"]


def is_context_hint(hint: Any) -> bool:
    """Whether a resolved hint is ``ToolContext``, plain, optional or annotated."""
    if get_origin(hint) is Annotated:
        return is_context_hint(get_args(hint)[0])
    if get_origin(hint) in (Union, types.UnionType):
        members = [member for member in get_args(hint) if member is not type(None)]
        return len(members) == 1 and is_context_hint(members[0])
    return isinstance(hint, type) and issubclass(hint, ToolContext)


def context_parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of the parameters that take the ``ToolContext``; other hints need not make sense."""
    try:
        parameters = signature_of(function).parameters
    except (TypeError, ValueError):  # a builtin without a signature takes none
        return ()
    return tuple(name for name, each in parameters.items() if _takes_context(each, function))


def _takes_context(parameter: inspect.Parameter, function: Callable[..., Any]) -> bool:
    if parameter.annotation is parameter.empty:
        return False
    try:
        return is_context_hint(resolve_hint(parameter.annotation, function, {}))
    except Exception:  # noqa: BLE001  # a hint is code; one that fails, and is not needed, is not this call's matter
        return False
