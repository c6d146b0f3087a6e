"""Arguments for Google's methods, made at random from their descriptions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.google_api.catalogue import resolved, schemas_of

if TYPE_CHECKING:
    from random import Random

    from oneclaw_google_workspace.google_api.catalogue import ApiMethod, Schema

TEXTS = ("x", "Ä & Ö", "50 %", "a/b", "😀", "id#1@group.example.com")
MOMENT = "2026-03-31T10:00:00Z"
_SAMPLES = {
    "date-time": MOMENT,
    "google-datetime": MOMENT,
    "date": "2026-03-31",
    "google-duration": "3.5s",
    "google-fieldmask": "name",
    "byte": "eA==",
    "int64": "7",
    "uint64": "7",
}
_DEEPEST = 4


def random_arguments(method: ApiMethod, random: Random) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Make parameters and a body that fit; what is not required is there now and then."""
    parameters = {
        name: _parameter(name, schema, random)
        for name, schema in method.parameters.items()
        if schema.get("required") or random.random() < 0.3
    }
    parameters.pop("alt", None)
    if "userId" in parameters:
        parameters["userId"] = "me"
    if method.request is None:
        return parameters, None
    return parameters, _value(method.api, schemas_of(method.api)[method.request], random, 0)


def _parameter(name: str, schema: Schema, random: Random) -> Any:
    if schema.get("repeated"):
        return [_single(name, schema, random) for _ in range(random.randint(1, 2))]
    return _single(name, schema, random)


def _single(name: str, schema: Schema, random: Random) -> Any:
    if "pattern" in schema:
        # Such as ^spaces/[^/]+/messages/[^/]+$ and ^people/[^/]+$.
        text = re.sub(r"\[\^/\]\+|\.\*", "x-1", schema["pattern"].strip("^$"))
        assert re.search(schema["pattern"], text), f"{name}: {schema['pattern']}"
        return text
    if "enum" in schema:
        return random.choice(schema["enum"])
    kind = schema["type"]
    if kind == "boolean":
        return random.random() < 0.5
    if kind in ("integer", "number"):
        return int(schema.get("minimum", 1))
    if schema.get("location") == "path":
        return random.choice(TEXTS[:4])
    return _SAMPLES.get(schema.get("format", ""), random.choice(TEXTS))


def _value(api: str, schema: Schema, random: Random, depth: int) -> Any:
    schema = resolved(api, schema)
    kind = schema.get("type")
    if "enum" in schema:
        return random.choice(schema["enum"])
    if kind == "array":
        return [_value(api, schema["items"], random, depth + 1) for _ in range(random.randint(0, 2))]
    if kind == "object":
        return _object(api, schema, random, depth)
    if kind == "boolean":
        return random.random() < 0.5
    if kind in ("integer", "number"):
        return random.randint(0, 100)
    return _SAMPLES.get(schema.get("format", ""), random.choice(TEXTS))


def _object(api: str, schema: Schema, random: Random, depth: int) -> dict[str, Any]:
    if depth > _DEEPEST:
        return {}
    properties = [(name, each) for name, each in schema.get("properties", {}).items() if not each.get("readOnly")]
    chosen = random.sample(properties, min(len(properties), 1 if depth else 3))
    made = {name: _value(api, each, random, depth + 1) for name, each in chosen}
    if isinstance(schema.get("additionalProperties"), dict):
        made["key"] = _value(api, schema["additionalProperties"], random, depth + 1)
    return made
