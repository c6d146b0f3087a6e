"""Arguments made from the schemas of manifests: the least that fits, what does not fit, and any that fit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from random import Random

    Known = Mapping[str, Sequence[Any]]

Schema = dict[str, Any]


def least_arguments(parameters: Schema) -> dict[str, Any]:
    """Make arguments that fit, only the required ones."""
    properties = parameters.get("properties", {})
    return {name: _fitting(properties[name]) for name in parameters.get("required", ())}


def wrong_arguments(parameters: Schema) -> Iterator[tuple[str, dict[str, Any]]]:
    """Make arguments of which one is wrong each time, with a word for what is wrong with it."""
    least = least_arguments(parameters)
    yield "an unknown one", {**least, "no_such_parameter": 1}
    for name in least:
        yield f"without {name}", {key: value for key, value in least.items() if key != name}
    for name, schema in parameters.get("properties", {}).items():
        for fault, value in _misfitting(schema):
            yield f"{name} {fault}", {**least, name: value}


def _fitting(schema: Schema) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type")
    if kind == "array":
        return [_fitting(schema["items"])] * max(1, schema.get("minItems", 1))
    if kind == "object":
        return least_arguments(schema)
    if kind in ("integer", "number"):
        return schema.get("minimum", 1)
    return True if kind == "boolean" else "x"


def _misfitting(schema: Schema) -> Iterator[tuple[str, Any]]:
    kind = schema.get("type")
    if kind is not None:
        yield "of another type", "text" if kind == "object" else {"an": "object"}
    if "enum" in schema:
        yield "that is no choice", "no such choice"
    if "minimum" in schema:
        yield "too small", schema["minimum"] - 1
    if "exclusiveMinimum" in schema:
        yield "too small", schema["exclusiveMinimum"]
    if "maximum" in schema:
        yield "too large", schema["maximum"] + 1
    if "maxLength" in schema:
        yield "too long", "x" * (schema["maxLength"] + 1)
    if kind == "array":
        item = _fitting(schema["items"])
        if schema.get("minItems"):
            yield "with too few items", [item] * (schema["minItems"] - 1)
        if "maxItems" in schema:
            yield "with too many items", [item] * (schema["maxItems"] + 1)
        for fault, value in _misfitting(schema["items"]):
            yield f"with an item {fault}", [value]
    if kind == "object":
        yield from ((f"with {fault}", value) for fault, value in wrong_arguments(schema))


def generated_arguments(parameters: Schema, random: Random, known: Known) -> dict[str, Any]:
    """Make arguments that fit: the required ones, and some of the others.

    Args:
        parameters: of a tool.
        random: chooses.
        known: values that mean something, by the name of the parameter, such as ids of what there is.
    """
    properties = parameters.get("properties", {})
    required = list(parameters.get("required", ()))
    switch = next((name for name in properties if name in _SWITCHES), None)
    made = {name: _generated(name, properties[name], random, known) for name in required}
    way = made.get(switch) or properties.get(switch, {}).get("default")
    others, fitting = [], []
    for name in properties:
        if name in made:
            continue
        ways = _ways(properties[name], properties.get(switch, {}))
        if ways is None:
            others.append(name)
        elif way in ways:
            fitting.append(name)
    # Few at a time, for many do not go together; of those for this action most, for it needs them.
    count = min(random.choice((0, 0, 1, 1, 1, 2, 2, 3, 4)), len(others))
    chosen = [*(name for name in fitting if random.random() < 0.7), *random.sample(others, count)]
    return made | {name: _generated(name, properties[name], random, known) for name in chosen if name != switch}


def amended_arguments(
    arguments: dict[str, Any], refusal: str, parameters: Schema, random: Random, known: Known
) -> dict[str, Any]:
    """Do what a refusal asks for, such as ``freeze needs tab.``: give what is needed, and leave out what is too much.

    Args:
        arguments: that were refused.
        refusal: the tool's message.
        parameters: of the tool.
        random: chooses.
        known: as for :func:`generated_arguments`.
    """
    properties = parameters.get("properties", {})
    needed, extra = (
        [
            name
            for each in re.findall(rf"{word} ([\w, ]+)[.;]", refusal)
            for name in each.split(", ")
            if name in properties
        ]
        for word in ("needs", "does not go with")
    )
    made = {name: _generated(name, properties[name], random, known) for name in needed}
    return {name: value for name, value in (arguments | made).items() if name not in extra}


# What says which of the other parameters are needed.
_SWITCHES = ("action", "element", "setting", "target", "position")


def _ways(schema: Schema, switch: Schema) -> set[str] | None:
    """Read in a description for which actions a parameter is, such as ``add, rename: its title``; ``None`` for any."""
    every = set(switch.get("enum", ()))
    text = schema.get("description", "")
    if match := re.search(r"\b[Aa]ll but (\w+)", text):
        return every - {match[1]}
    named = {each.strip() for each in text.partition(":")[0].split(",")}
    return named & every or None


def _generated(name: str, schema: Schema, random: Random, known: Known) -> Any:
    if "enum" in schema:
        return random.choice(schema["enum"])
    kind = schema.get("type")
    if kind == "object":
        return generated_arguments(schema, random, known)
    if kind == "array":
        least, most = schema.get("minItems", 0), schema.get("maxItems", 3)
        return [
            _generated(name, schema["items"], random, known)
            for _ in range(min(random.choice((max(least, 1), 1, 2, 3)), most))
        ]
    if kind == "boolean":
        return random.random() < 0.5
    if name in known and random.random() < _KNOWN_SHARE:
        return random.choice(known[name])
    if kind in ("integer", "number"):
        low = schema.get("minimum", schema.get("exclusiveMinimum", 0))
        high = schema.get("maximum", low + 40)
        number = random.choice((low, low + 1, min(low + 7, high), high))
        number = number if number > schema.get("exclusiveMinimum", number - 1) else low + 1
        return number + 0.5 if kind == "number" and random.random() < 0.3 and number < high else number
    if kind is None:
        return random.choice((None, "", "=SUM(A1:A2)", "Tea", 3, 2.5, True))
    text = random.choice(ODD_TEXTS)
    return text[: schema["maxLength"]] if "maxLength" in schema else text


# The rest of the time a parameter gets what means nothing, as from a model that has mistaken it.
_KNOWN_SHARE = 0.85
ODD_TEXTS = ("tea", "Milk & bread + 50 %", "Ä/Ö?#", "😀\n2 lines", "'quoted' \"twice\"", "a\\b", "../x", "x" * 300, " ")
