"""Schemas of results, from the return types of Python functions."""

from __future__ import annotations

import collections.abc
import dataclasses
import logging
import sys
import types
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin

from oneclaw_core.json_schema.compact import compact_schema
from oneclaw_core.tool_functions.parameters import resolve_hint, signature_of
from oneclaw_core.types.tools import ToolResult

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_LISTS = (list, tuple, set, frozenset, collections.abc.Sequence, collections.abc.Iterable)

_log = logging.getLogger("oneclaw.tools")


def output_schema_of(
    function: Callable[..., Any], tool_name: str, local_names: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Return the JSON Schema of what a function returns; ``None`` if its return type says too little.

    Args:
        function: of the tool.
        tool_name: for the log.
        local_names: names that its hints may use beside those of its module.
    """
    annotation = signature_of(function).return_annotation
    try:
        hint = resolve_hint(annotation, function, local_names)
    except Exception:  # noqa: BLE001  # a hint is code; this one is not needed to call the tool
        return None
    if not _is_structured(hint):
        return None
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError

    try:
        schema: dict[str, Any] = TypeAdapter(hint).json_schema(mode="serialization")
    except (PydanticUserError, TypeError) as error:
        _log.warning("tool %s: no schema of its results: %s", tool_name, _reason(error))
        return None
    return compact_schema(schema)


def _is_structured(hint: Any) -> bool:
    """Return True for types with named members, for lists of those, and for unions of both."""
    origin = get_origin(hint)
    if origin is Annotated:
        return _is_structured(get_args(hint)[0])
    if origin in (Union, types.UnionType):
        return all(_is_structured(each) for each in get_args(hint) if each is not type(None))
    if origin in _LISTS:
        items = [each for each in get_args(hint) if each is not Ellipsis]
        return bool(items) and all(map(_is_structured, items))
    if not isinstance(hint, type) or issubclass(hint, ToolResult):
        return False
    is_typed_dict = issubclass(hint, dict) and hasattr(hint, "__required_keys__")
    pydantic = sys.modules.get("pydantic")
    is_model = pydantic is not None and issubclass(hint, pydantic.BaseModel)
    return is_typed_dict or is_model or dataclasses.is_dataclass(hint)


def _reason(error: Exception) -> str:
    if getattr(error, "code", None) == "typed-dict-version":
        return "take `TypedDict` from typing_extensions, which works before Python 3.12 too"
    return str(error).strip().partition("\n")[0]
