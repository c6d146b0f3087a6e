"""Checks: schemas of parameters, as models read them and every provider takes them.

OneClaw sends schemas non-strict and fixes for each wire format what it can. What is found here is what cannot be
fixed, what is lost on the way, and what leaves a model guessing.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from oneclaw_core.json_schema import argument_faults, compile_schema
from oneclaw_devtools.conformance.finding import Check, Finding, Severity, summarised
from oneclaw_devtools.conformance.schema_places import Place, places, referred

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from oneclaw_devtools.conformance.facts import PluginFacts, ToolFacts

_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE

MAX_PARAMETERS = 20
MAX_DEPTH = 5

NOT_JSON = Check(
    "schemas.not-json", _E, "a schema with values that JSON does not have", "use texts, numbers, lists and objects only"
)
REFERENCE = Check(
    "schemas.reference",
    _E,
    "a `$ref` that leads nowhere in the schema, or to another document",
    "put the definition under $defs and refer to it as #/$defs/NAME",
)
RECURSIVE = Check(
    "schemas.recursive",
    _W,
    "a schema that contains itself, which strict modes refuse and Gemini is told as any object",
    "write out the levels that are needed, or take JSON as a text",
)
NO_TYPE = Check("schemas.missing-type", _W, "a parameter without a type", "give it a type")
NO_ITEMS = Check(
    "schemas.missing-items", _E, "an array without `items`, which OpenAI refuses", "say what its items are"
)
UNDESCRIBED = Check(
    "schemas.undescribed",
    _W,
    "a required parameter without a description",
    "describe it, in the docstring's Args or the manifest",
)
UNDESCRIBED_OPTIONAL = Check(
    "schemas.undescribed-optional",
    _N,
    "optional parameters without a description",
    "describe those whose name does not say it all",
)
DEFAULT = Check(
    "schemas.default", _W, "a default that the parameter's own schema refuses", "make default and schema agree"
)
ENUM_MIXED = Check(
    "schemas.enum-mixed",
    _W,
    "an enum with values of several types, which Gemini does not take",
    "make all of them texts",
)
ENUM_EMPTY = Check("schemas.enum-empty", _E, "an enum without values: nothing fits it", "list the values")
ENUM_TYPE = Check(
    "schemas.enum-type", _E, "an enum with a value that does not fit the type beside it", "make type and values agree"
)
REQUIRED = Check(
    "schemas.required-unknown",
    _E,
    "a required parameter that is not among the properties",
    "declare it, or take it out of required",
)
ROOT = Check(
    "schemas.root-combination",
    _W,
    "`anyOf`, `oneOf` or `allOf` at the root, which Anthropic and OpenAI refuse; Anthropic is sent the rest",
    "say it in the descriptions, or make two tools of it",
)
OPEN = Check(
    "schemas.open",
    _N,
    "tools that take arguments they do not declare, so that misspelled ones pass",
    'add "additionalProperties": false',
)
LOST = Check(
    "schemas.gemini",
    _N,
    "rules that Gemini is told in words, or not at all",
    "use type, enum, items, minimum and maximum where they suffice",
)
STRICT = Check(
    "schemas.strict",
    _N,
    "what the strict modes of OpenAI and Anthropic do not take; OneClaw does not use them",
    "nothing, unless the tools are used elsewhere",
)
PATTERN = Check(
    "schemas.pattern",
    _W,
    "a pattern that Python reads and JavaScript does not, as models and other programs take it",
    "write it in what both have: no (?P<...>), (?i), \\A or \\Z",
)
BOUNDS = Check("schemas.bounds", _E, "a lower bound above the upper one: nothing fits", "correct the bounds")
DEEP = Check(
    "schemas.deep", _W, f"objects nested more than {MAX_DEPTH} deep", "flatten them: models get deep nesting wrong"
)
MANY = Check(
    "schemas.many-parameters", _N, f"more than {MAX_PARAMETERS} parameters", "make several tools of it, or group them"
)

_BOUNDS = (
    ("minimum", "maximum"),
    ("exclusiveMinimum", "exclusiveMaximum"),
    ("minLength", "maxLength"),
    ("minItems", "maxItems"),
    ("minProperties", "maxProperties"),
)
_TYPED_BY = frozenset({"type", "$ref", "anyOf", "oneOf", "allOf", "enum", "const"})
_STRICT_REFUSES = frozenset(
    {"minLength", "maxLength", "uniqueItems", "not", "if", "dependentRequired", "dependentSchemas", "patternProperties"}
    | {"propertyNames", "unevaluatedProperties", "contains", "oneOf"}
)
_KEPT_BY_GEMINI = frozenset(
    {"type", "enum", "const", "properties", "required", "items", "prefixItems", "anyOf", "oneOf", "allOf", "$ref"}
    | {"$defs", "definitions", "minimum", "maximum", "minItems", "maxItems", "additionalProperties", "description"}
    | {"title", "default", "format", "examples", "$schema"}
    | {"discriminator"}  # the members of the union say the same
)
_ONLY_PYTHON = re.compile(r"\(\?P[<=>]|\(\?[aiLmsux]+[):]|\\[AZz]|\(\?#|\(\?\(|\*\+|\+\+|\?\+")


def schema_findings(facts: PluginFacts) -> Iterator[Finding]:
    """Look at the schemas of all tools."""
    open_tools: list[str] = []
    strict_tools: list[str] = []
    lost: dict[str, set[str]] = {}
    sparing: list[str] = []
    for tool in facts.tools:
        if tool.parameters is None:
            yield NOT_JSON.found(tool.where, "JSON cannot hold its parameters")
            continue
        found = list(places(tool.parameters))
        yield from _whole(tool, found)
        for place in found:
            yield from _place(tool, place)
        bare = [place.path for place in found if place.is_top and not _is_described(place.schema, tool)]
        needed = [name for name in bare if name in tool.parameters.get("required", ())]
        if needed:
            yield UNDESCRIBED.found(tool.where, f"a model is told nothing of {', '.join(needed)} but the name")
        if len(bare) > len(needed):
            sparing.append(tool.name)
        if tool.properties and tool.parameters.get("additionalProperties", True) is True:
            open_tools.append(tool.name)
        if any(_STRICT_REFUSES & place.schema.keys() for place in found):
            strict_tools.append(tool.name)
        keywords = {key for place in found for key in place.schema if key not in _KEPT_BY_GEMINI}
        if keywords:
            lost[tool.name] = keywords
    yield from summarised(UNDESCRIBED_OPTIONAL, sparing, "optional parameters have no description")
    yield from summarised(OPEN, open_tools, "arguments that are not declared pass")
    yield from summarised(STRICT, strict_tools, "keywords that strict modes refuse")
    if lost:
        names = sorted({key for keywords in lost.values() for key in keywords})
        yield from summarised(LOST, list(lost), f"keywords that Gemini does not read: {', '.join(names[:12])}")


def _whole(tool: ToolFacts, found: list[Place]) -> Iterator[Finding]:
    schema: Mapping[str, Any] = tool.parameters or {}
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            yield ROOT.found(tool.where, f"{key} stands at the root of its parameters")
    if len(tool.properties) > MAX_PARAMETERS:
        yield MANY.found(tool.where, f"it has {len(tool.properties)} parameters")
    depth = max((place.depth for place in found), default=0)
    if depth > MAX_DEPTH:
        yield DEEP.found(tool.where, f"its objects are nested {depth} deep")
    recursive = next((place for place in found if place.is_recursive), None)
    if recursive is not None:
        yield RECURSIVE.found(_where(tool, recursive), f"{recursive.schema['$ref']!r} contains itself")


def _place(tool: ToolFacts, place: Place) -> Iterator[Finding]:
    schema, where = place.schema, _where(tool, place)
    reference = schema.get("$ref")
    if reference is not None and referred(reference, tool.parameters or {}) is None:
        yield REFERENCE.found(where, f"$ref {reference!r} leads nowhere in the schema")
    if place.is_parameter and not _TYPED_BY & schema.keys():
        yield NO_TYPE.found(where, "it has no type, so anything fits")
    if schema.get("type") == "array" and not {"items", "prefixItems"} & schema.keys():
        yield NO_ITEMS.found(where, "an array without items")
    yield from _enum(where, schema)
    yield from _bounds(where, schema)
    if "default" in schema and reference is None:
        yield from _default(where, place, tool.parameters or {})
    names = schema.get("properties")
    for name in schema.get("required", ()) if isinstance(names, dict) or "required" in schema else ():
        if name not in (names or {}) and not {"anyOf", "oneOf", "allOf", "$ref"} & schema.keys() and not place.is_part:
            yield REQUIRED.found(where, f"{name!r} is required, but no property")
    pattern = schema.get("pattern")
    if isinstance(pattern, str) and _ONLY_PYTHON.search(pattern):
        yield PATTERN.found(where, f"the pattern {pattern[:80]!r} is Python's alone")


def _is_described(schema: Mapping[str, Any], tool: ToolFacts) -> bool:
    if {"enum", "const"} & schema.keys():
        return True  # its values say what it is
    own = schema.get("description") or schema.get("title")
    if own is None and isinstance(schema.get("$ref"), str):
        target = referred(schema["$ref"], tool.parameters or {})
        own = target.get("description") if isinstance(target, dict) else None
    return bool(str(own or "").strip())


def _enum(where: str, schema: Mapping[str, Any]) -> Iterator[Finding]:
    values = schema.get("enum")
    if not isinstance(values, list):
        return
    if not values:
        yield ENUM_EMPTY.found(where, "its enum is empty")
        return
    kinds = {
        "number" if isinstance(each, int | float) and not isinstance(each, bool) else type(each) for each in values
    }
    if len(kinds - {type(None)}) > 1:
        yield ENUM_MIXED.found(where, f"its enum has values of several types: {json.dumps(values)[:120]}")
    if "type" in schema:
        misfits = [each for each in values if argument_faults(compile_schema({"type": schema["type"]}), each)]
        if misfits:
            yield ENUM_TYPE.found(where, f"{json.dumps(misfits[0])[:80]} is no {schema['type']}")


def _bounds(where: str, schema: Mapping[str, Any]) -> Iterator[Finding]:
    for lower, upper in _BOUNDS:
        low, high = schema.get(lower), schema.get(upper)
        if isinstance(low, int | float) and isinstance(high, int | float) and low > high:
            yield BOUNDS.found(where, f"{lower} is {low:g} and {upper} {high:g}")


def _default(where: str, place: Place, root: Mapping[str, Any]) -> Iterator[Finding]:
    definitions = {key: root[key] for key in ("$defs", "definitions") if key in root}
    try:
        faults = argument_faults(compile_schema({**definitions, **place.schema}), place.schema["default"])
    except Exception:  # noqa: BLE001  # a reference that leads nowhere, which is another finding
        return
    if faults and place.schema["default"] is not None:
        yield DEFAULT.found(where, f"its default {json.dumps(place.schema['default'])[:80]} is invalid: {faults[0]}")


def _where(tool: ToolFacts, place: Place) -> str:
    return f"{tool.where}, parameter {place.path}" if place.path else tool.where
