"""Arguments made from the schemas of manifests: the least that fits, what does not fit, and any that fit."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

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


class Generated:
    """Arguments that fit a schema, the same for each seed.

    Args:
        seed: of the random choices.
        known: gives texts that mean something to a tool by the name of a parameter, such as ids.
    """

    def __init__(self, seed: str, known: Callable[[str], Sequence[str]]) -> None:
        self._random = Random(seed)  # nothing is kept secret by it
        self._known = known

    def arguments(self, parameters: Schema) -> dict[str, Any]:
        """Make arguments: all that are required, and some of the others."""
        required = parameters.get("required", ())
        return {
            name: self._value(name, schema)
            for name, schema in parameters.get("properties", {}).items()
            if name in required or self._random.random() < _SHARE_GIVEN
        }

    def _value(self, name: str, schema: Schema) -> Any:
        if "enum" in schema:
            return self._random.choice(schema["enum"])
        kind = schema.get("type")
        if kind == "array":
            count = self._random.randint(schema.get("minItems", 0), min(schema.get("maxItems", 3), 3))
            return [self._value(name, schema["items"]) for _ in range(max(count, schema.get("minItems", 0)))]
        if kind == "object":
            return self.arguments(schema)
        if kind == "integer":
            least = schema.get("minimum", 0)
            return self._random.randint(least, min(schema.get("maximum", least + 50), least + 50))
        if kind == "number":
            return round(self._random.uniform(schema.get("minimum", 0.5), schema.get("maximum", 100)), 2)
        if kind == "boolean":
            return self._random.random() < 0.5
        if kind is None:
            return self._random.choice(["x", 1, 2.5, True, None])
        known = self._known(name)
        text = self._random.choice(known if known and self._random.random() < _SHARE_KNOWN else ODD_TEXTS)
        return text[: schema.get("maxLength", len(text))]


# Of the arguments that may be left out, so many are given; of the texts, so many mean something to the tool.
_SHARE_GIVEN, _SHARE_KNOWN = 0.4, 0.85
ODD_TEXTS = (
    *(
        "x",
        "",
        " ",
        "Milk & bread + 50 % for Ä/Ö?",
        "a\nb",
        "../../etc",
        "#?&=/%2F",
        "\U0001f600",
        "'\"\\",
        "\u202eabc",
    ),
    *("2026-03-31", "2026-03-31T10:00", "2026-03-31T10:00:00+02:00", "primary", "bo@example.net", "x" * 300),
)
