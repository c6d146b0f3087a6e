"""JSON Schemas of plain type hints, derived without pydantic.

Building pydantic's validator and its schema takes most of the time of defining a tool. For the hints that most
functions have, this gives what pydantic would give; the tests compare the two.
"""

from __future__ import annotations

import sys
import types
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic.fields import FieldInfo
    from typing_extensions import TypeIs

_SCHEMAS: dict[type, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    list: {"items": {}, "type": "array"},
    dict: {"additionalProperties": True, "type": "object"},
}


def is_field(value: object) -> TypeIs[FieldInfo]:
    """Return True if a value is pydantic's ``Field(...)``, without importing pydantic."""
    module = sys.modules.get("pydantic.fields")
    return isinstance(value, getattr(module, "FieldInfo", ()))


def plain_arguments_schema(hints: Mapping[str, Any], required: list[str]) -> dict[str, Any] | None:
    """Derive the schema of arguments whose hints are all plain.

    Plain are ``str``, ``int``, ``float``, ``bool``, lists and dicts of those, a ``Literal`` of texts, unions of them,
    also with ``None``, and ``Annotated`` with a ``Field`` that has nothing but a description.

    Args:
        hints: the resolved type hints by parameter name.
        required: the names of the parameters without a default, in the order of the hints.

    Returns:
        What pydantic makes of them, without titles; ``None`` if only pydantic can tell.
    """
    properties: dict[str, Any] = {}
    for name, hint in hints.items():
        schema = _described(hint)
        if schema is None:
            return None
        properties[name] = schema
    return {
        "additionalProperties": False,
        "properties": properties,
        **({"required": required} if required else {}),
        "type": "object",
    }


def _described(hint: Any) -> dict[str, Any] | None:
    if get_origin(hint) is not Annotated:
        return _plain(hint)
    plain, *metadata = get_args(hint)
    schema = _plain(plain)
    if schema is None or len(metadata) != 1 or not is_field(metadata[0]):
        return None
    text = metadata[0].description
    # The representation names every attribute that is set, so this tells a field with a description alone.
    if not text or repr(metadata[0]) != f"FieldInfo(annotation=NoneType, required=True, description={text!r})":
        return None
    return dict(sorted({**schema, "description": text}.items()))


def _plain(hint: Any) -> dict[str, Any] | None:
    if type(hint) is type:
        schema = _SCHEMAS.get(hint)
        return None if schema is None else dict(schema)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        if not all(type(each) is str for each in arguments):
            return None
        value = {"const": arguments[0]} if len(arguments) == 1 else {"enum": list(arguments)}
        return {**value, "type": "string"}
    if origin in (Union, types.UnionType):
        return _union(arguments)
    if origin is list and len(arguments) == 1:
        items = _plain(arguments[0])
        return None if items is None else {"items": items, "type": "array"}
    if origin is dict and len(arguments) == 2 and arguments[0] is str:
        values = True if arguments[1] is Any else _plain(arguments[1])
        return None if values is None else {"additionalProperties": values, "type": "object"}
    return None


def _union(members: tuple[Any, ...]) -> dict[str, Any] | None:
    choices: list[dict[str, Any]] = []
    for member in members:
        schema = {"type": "null"} if member is types.NoneType else _plain(member)
        if schema is None or schema in choices:
            return None
        choices.append(schema)
    # pydantic puts null last, wherever it stands.
    return {"anyOf": sorted(choices, key=lambda each: each == {"type": "null"})}
