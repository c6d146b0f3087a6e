"""Schemas of servers, read by the dialect that they declare and written in the one that models are sent.

What only the server can judge is left to it: patterns of another engine, nulls for what may be missing, and members
that are required although they have a default.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

LATEST_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_MOST_PROBLEMS = 50
# Dialects in which nothing counts beside a reference.
_OLD_DIALECT = re.compile(r"https?://json-schema\.org/draft-0[3467]/schema#?")
_BESIDE_REFERENCE = frozenset({"$defs", "definitions", "title", "description", "default", "examples", "$comment"})
_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_SINGLE = (
    "items", "additionalProperties", "unevaluatedItems", "unevaluatedProperties", "contains", "propertyNames", "not",
    "if", "then", "else",
)  # fmt: skip
# What a null cannot be added to.
_ONLY_WHOLE = frozenset({"$ref", "$dynamicRef", "allOf", "oneOf", "not", "if", "const"})
# Forms that engines read in different ways, or that Python's does not know.
_OTHER_ENGINE = re.compile(r"\\[pPxXuUhHRKQEzZAGckN]|\(\?(?![:=!]|<[=!])|\[\[:|\[\^?\]|&&|--|\\[1-9]|[*+?}]\+")


def readable_schema(schema: Any, *, is_of_object: bool = True) -> tuple[dict[str, Any], list[str]]:
    """Return a schema in the latest dialect, and what was left out of it because it is not valid.

    Args:
        schema: as the server gave it, within limits of size and depth; ``None`` for an object of any kind.
        is_of_object: True for one of arguments.

    Raises:
        ValueError: it is none, or not one of an object.
    """
    made = _of_object(schema) if is_of_object else dict(schema)
    is_old = _OLD_DIALECT.fullmatch(str(made.pop("$schema", ""))) is not None
    made = _translated(made, is_old)
    problems: list[str] = []
    _without_dead_references(made, made, problems)
    return _valid(made, problems), problems


def checked_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema without what is left to the server, to check arguments or a result by.

    Args:
        schema: as :func:`readable_schema` returns it.
    """
    found: dict[str, Any] = _checked(dict(schema), is_inner=False)
    return found


def _of_object(schema: Any) -> dict[str, Any]:
    """Return a schema that says that it is one of an object."""
    if schema is None or schema == []:  # the empty array is how PHP writes an empty object
        schema = {}
    if not isinstance(schema, dict):
        raise ValueError("its schema of arguments is not an object")
    kind = schema.get("type")
    kinds = [kind] if isinstance(kind, str) else kind if isinstance(kind, list) else []
    names = [each.lower() for each in kinds if isinstance(each, str)]
    if names and "object" not in names:
        raise ValueError(f"its schema of arguments is one of {' or '.join(names)[:100]}, not of an object")
    return {**schema, "type": "object"}


def _translated(schema: Any, is_old: bool) -> Any:
    """Write a schema and all within it in the latest dialect."""
    if not isinstance(schema, dict):
        return schema
    made = dict(schema)
    if is_old and isinstance(made.get("$ref"), str):
        made = {name: value for name, value in made.items() if name == "$ref" or name in _BESIDE_REFERENCE}
    made.pop("$schema", None)
    _translate_keywords(made)
    return _mapped(made, lambda _, each: _translated(each, is_old))


def _translate_keywords(made: dict[str, Any]) -> None:
    """Replace the keywords of former dialects, and forms whose meaning is clear."""
    kind = made.get("type")
    if isinstance(kind, str):
        made["type"] = kind.lower()
    elif isinstance(kind, list):
        made["type"] = list(dict.fromkeys(each.lower() for each in kind if isinstance(each, str)))
    for limit, bound in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(made.get(bound), bool):  # of draft 4
            is_exclusive = made.pop(bound)
            if is_exclusive and limit in made:
                made[bound] = made.pop(limit)
    if isinstance(made.get("items"), list):  # before 2020-12
        first, others = made.pop("items"), made.pop("additionalItems", None)
        made |= {"prefixItems": first} if first else {}
        made |= {"items": others} if others is not None else {}
    dependencies = made.pop("dependencies", None)  # before 2019-09
    if isinstance(dependencies, dict):
        lists = {name: each for name, each in dependencies.items() if isinstance(each, list)}
        others = {name: each for name, each in dependencies.items() if not isinstance(each, list)}
        made |= {"dependentRequired": lists} if lists else {}
        made |= {"dependentSchemas": others} if others else {}
    if made.pop("$recursiveAnchor", None) is not None or "$recursiveRef" in made:  # of 2019-09
        reference = made.pop("$recursiveRef", None)
        made |= {"$ref": reference} if reference is not None else {}
    if isinstance(made.get("id"), str) and "$ref" not in made and made["id"].partition("#")[0]:
        del made["id"]
    if made.get("properties") == []:
        made["properties"] = {}
    properties = made.get("properties")
    if isinstance(properties, dict):
        _translate_required(made, properties)


def _translate_required(made: dict[str, Any], properties: dict[str, Any]) -> None:
    """Move what members say of themselves to the list of the required ones, as before draft 4 and in OpenAPI."""
    required = [each for each in _list(made.get("required")) if isinstance(each, str)]
    inner = properties.get("required")
    if isinstance(inner, list):
        required += [each for each in inner if isinstance(each, str) and each in properties]
        made["properties"] = properties = {name: each for name, each in properties.items() if name != "required"}
    own = [name for name, each in properties.items() if isinstance(each, dict) and each.get("required") is True]
    if own or any(isinstance(each, dict) and isinstance(each.get("required"), bool) for each in properties.values()):
        made["properties"] = {
            name: {key: value for key, value in each.items() if key != "required" or not isinstance(value, bool)}
            if isinstance(each, dict)
            else each
            for name, each in properties.items()
        }
    if isinstance(made.get("required"), list) or inner is not None or own:
        made["required"] = list(dict.fromkeys([*required, *own]))
    elif "required" in made and made["required"] in (None, False, True):
        del made["required"]


def _without_dead_references(root: dict[str, Any], part: Any, problems: list[str]) -> None:
    """Put a schema of anything in the place of each reference that leads nowhere."""
    if isinstance(part, list):
        for each in part:
            _without_dead_references(root, each, problems)
    if not isinstance(part, dict):
        return
    for name in ("$ref", "$dynamicRef"):
        target = part.get(name)
        if target is not None and not _leads_somewhere(root, target):
            problems.append(f"{name} {str(target)[:100]!r} leads nowhere")
            del part[name]
    for name, each in part.items():
        if name not in ("const", "enum", "default", "examples"):
            _without_dead_references(root, each, problems)


def _leads_somewhere(root: Any, target: Any) -> bool:
    if not isinstance(target, str) or not target.startswith("#"):
        return False
    if target != "#" and not target.startswith("#/"):  # an anchor
        return _has_anchor(root, target[1:])
    from urllib.parse import unquote

    found = root
    for name in target[2:].split("/") if target != "#" else ():
        key = unquote(name).replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and key.isdecimal() and int(key) < len(found):
            found = found[int(key)]
        elif isinstance(found, dict) and key in found:
            found = found[key]
        else:
            return False
    return isinstance(found, dict | bool)


def _has_anchor(part: Any, name: str) -> bool:
    if isinstance(part, list):
        return any(_has_anchor(each, name) for each in part)
    if not isinstance(part, dict):
        return False
    return name in (part.get("$anchor"), part.get("$dynamicAnchor")) or any(
        _has_anchor(each, name) for each in part.values()
    )


def _valid(schema: dict[str, Any], problems: list[str]) -> dict[str, Any]:
    """Take out of a schema what is not valid, piece by piece.

    Raises:
        ValueError: there is too much of that.
    """
    from oneclaw_core import ToolDefinition
    from oneclaw_core.tools import ToolDefinitionError

    try:
        ToolDefinition("checked", "Takes a value.", {"type": "object", "properties": {"value": schema}})
    except ToolDefinitionError:  # or it is valid, but has a pattern of another engine
        pass
    else:
        return schema
    from jsonschema import Draft202012Validator

    validator = Draft202012Validator(Draft202012Validator.META_SCHEMA)
    for _ in range(_MOST_PROBLEMS):
        fault = next(iter(validator.iter_errors(schema)), None)
        if fault is None:
            return schema
        path = list(fault.absolute_path)
        if not path:
            break
        container: Any = schema
        for key in path[:-1]:
            container = container[key]
        del container[path[-1]]
        problems.append(f"{'/'.join(map(str, path))} is not valid: {fault.message[:100]}")
    raise ValueError("its schema of arguments is not valid in too many places")


def _checked(schema: Any, *, is_inner: bool = True) -> Any:
    if not isinstance(schema, dict):
        return schema
    found = _mapped(schema, lambda _, each: _checked(each))
    # Where a part decides by failing, one that is not checked in full would decide wrongly.
    if found.get("not") != schema.get("not"):
        del found["not"]
    if found.get("if") != schema.get("if"):
        for name in ("if", "then", "else"):
            found.pop(name, None)
    if found.get("oneOf") != schema.get("oneOf"):
        found["allOf"] = [*_list(found.get("allOf")), {"anyOf": found.pop("oneOf")}]
    if "pattern" in found and not _is_portable(found["pattern"]):
        del found["pattern"]
    if "patternProperties" in found:
        for name in ("patternProperties", "additionalProperties", "unevaluatedProperties"):
            found.pop(name, None)
    properties = found.get("properties")
    if not isinstance(properties, dict):
        return found
    required = _list(found.get("required"))
    kept = [name for name in required if not (isinstance(properties.get(name), dict) and "default" in properties[name])]
    if kept != required:
        found["required"] = kept
    found["properties"] = {
        # A null for an optional argument is taken out before.
        name: _or_null(each) if (is_inner and name not in kept) or _is_nullable(each) else each
        for name, each in properties.items()
    }
    return found


def _is_nullable(schema: Any) -> bool:
    return isinstance(schema, dict) and schema.get("nullable") is True  # of OpenAPI


def _or_null(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    if not _ONLY_WHOLE.isdisjoint(schema):
        return {"anyOf": [schema, {"type": "null"}]}
    made = dict(schema)
    if "type" in made:
        kinds = [made["type"]] if isinstance(made["type"], str) else made["type"]
        made["type"] = [*kinds, *(["null"] if "null" not in kinds else [])]
    if "enum" in made:
        made["enum"] = [*made["enum"], None]
    if "anyOf" in made:
        made["anyOf"] = [*made["anyOf"], {"type": "null"}]
    return made


def _is_portable(pattern: Any) -> bool:
    """Return True if a pattern means the same in all engines."""
    if not isinstance(pattern, str) or _OTHER_ENGINE.search(pattern):
        return False
    try:
        re.compile(pattern)
    except (re.error, OverflowError):
        return False
    return True


def _mapped(schema: dict[str, Any], change: Callable[[str, Any], Any]) -> dict[str, Any]:
    """Return a schema with each schema directly within it changed."""
    made = dict(schema)
    for name in _MAPS:
        if isinstance(made.get(name), dict):
            made[name] = {key: change(name, each) for key, each in made[name].items()}
    for name in _LISTS:
        if isinstance(made.get(name), list):
            made[name] = [change(name, each) for each in made[name]]
    for name in _SINGLE:
        if isinstance(made.get(name), dict):
            made[name] = change(name, made[name])
    return made


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
