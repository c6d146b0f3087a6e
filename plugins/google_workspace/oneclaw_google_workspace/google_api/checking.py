"""Checks of parameters and bodies by Google's description of a method; pure, without any I/O."""

from __future__ import annotations

import re
from difflib import get_close_matches
from math import isnan
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.google_api.catalogue import resolved
from oneclaw_google_workspace.google_api.describing import FILLED_IN, type_words
from oneclaw_google_workspace.problems import invalid

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from oneclaw_google_workspace.google_api.catalogue import ApiMethod, Schema

# What Google's descriptions mark as read-only although the methods' own texts ask for it.
_WRITABLE_ALL_THE_SAME = {
    ("drive.permissions.create", "emailAddress"),
    ("drive.permissions.create", "domain"),
    ("people.people.updateContact", "metadata"),
    ("people.people.batchUpdateContacts", "contacts{}.metadata"),
    ("forms.forms.create", "info.documentTitle"),
}
_INTEGER = re.compile(r"-?\d+")
_DATE_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")
_FIELDS: Schema = {"type": "string", "location": "query"}
_DEEPEST = 60


def checked_parameters(method: ApiMethod, given: Mapping[str, Any]) -> dict[str, Any]:
    """Check the parameters of path and query, and fill in those that need no choice.

    Args:
        method: that is called.
        given: by name.

    Raises:
        GoogleError: one is unknown, missing or wrong.
    """
    known = {**method.parameters, "fields": _FIELDS}
    values = {"userId": "me", **given} if "userId" in known else dict(given)
    for name, value in values.items():
        if name not in known:
            raise invalid(f"{method.id} has no parameter {name[:80]!r}{_nearest(name, known)}.")
        _check_parameter(name, known[name], value)
    missing = [name for name, each in known.items() if each.get("required") and values.get(name) in (None, "")]
    if missing:
        raise invalid(f"{method.id} needs the parameters {', '.join(missing)}.")
    return values


def check_body(method: ApiMethod, body: Mapping[str, Any]) -> None:
    """Check the body of a request.

    Raises:
        GoogleError: it does not fit the description; the message says where.
    """
    if method.request is None:
        if body:
            raise invalid(f"{method.id} takes no body: {_names(method)}.")
        return
    _check(method, {"$ref": method.request}, body, "body", 0)


def _check_parameter(name: str, schema: Schema, value: Any) -> None:
    values = value if isinstance(value, list) and schema.get("repeated") else [value]
    kind = schema.get("type")
    for each in values:
        if kind == "boolean":
            fits = isinstance(each, bool) or each in ("true", "false")
        elif kind in ("integer", "number"):
            fits = _is_number(kind, each) and _is_within(schema, float(each))
        else:
            fits = isinstance(each, str | int) and not isinstance(each, bool)
        if fits and "enum" in schema:
            fits = each in schema["enum"]
        if fits and schema.get("format") in ("date-time", "google-datetime"):
            fits = _DATE_TIME.fullmatch(str(each)) is not None
        if fits and schema.get("pattern") and schema.get("location") == "path":
            fits = re.search(schema["pattern"], str(each)) is not None
        if not fits:
            raise invalid(f"The parameter {name} must be {_wanted(schema)}, not {str(each)[:80]!r}.")


def _check(method: ApiMethod, schema: Schema, value: Any, place: str, depth: int) -> None:
    if depth > _DEEPEST:
        raise invalid(f"{place[:200]} is nested too deeply.")
    if value is None and depth:  # clears the field
        return
    words = type_words(method.api, schema)
    schema = resolved(method.api, schema)
    kind = schema.get("type")
    if kind == "any":
        return
    if kind == "array":
        if not isinstance(value, list):
            raise invalid(f"{place} must be an {words}, not {_shown(value)}.")
        for number, each in enumerate(value):
            _check(method, schema["items"], each, f"{place}[{number}]", depth + 1)
    elif kind == "object":
        if not isinstance(value, dict):
            raise invalid(f"{place} must be an {words}, not {_shown(value)}.")
        _check_fields(method, schema, value, place, depth)
    elif not _is_scalar(schema, value) or ("enum" in schema and value not in schema["enum"]):
        raise invalid(f"{place} must be {words}, not {_shown(value)}.")


def _check_fields(method: ApiMethod, schema: Schema, value: Mapping[str, Any], place: str, depth: int) -> None:
    properties, rest = schema.get("properties", {}), schema.get("additionalProperties")
    for name, each in value.items():
        inner = properties.get(name, rest)
        where = f"{place}.{name}"
        if inner is None:
            raise invalid(f"{place} has no field {name[:80]!r}{_nearest(name, properties)}.")
        plain = re.sub(r"\[\d+\]", "", where).removeprefix("body.")
        if inner.get("readOnly") and not _is_writable(method.id, plain):
            raise invalid(f"{where} cannot be set: Google alone does that.")
        _check(method, inner, each, where, depth + 1)


def _is_writable(method_id: str, place: str) -> bool:
    if (method_id, place) in _WRITABLE_ALL_THE_SAME:
        return True
    return (
        method_id == "people.people.batchUpdateContacts"
        and re.fullmatch(r"contacts\.[^.]+\.metadata", place) is not None
    )


def _is_scalar(schema: Schema, value: Any) -> bool:
    kind, form = schema.get("type"), schema.get("format")
    if kind == "boolean":
        return isinstance(value, bool)
    if kind in ("integer", "number"):
        is_number = isinstance(value, int | (float if kind == "number" else int)) and not isinstance(value, bool)
        return is_number and (form not in ("int32", "uint32") or -(2**31) <= value < 2**32)
    if form in ("int64", "uint64"):
        return not isinstance(value, bool) and _INTEGER.fullmatch(str(value)) is not None
    return isinstance(value, str)


def _is_number(kind: str, value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return False
    try:
        number = float(value)
    except ValueError:
        return False
    return not isnan(number) and (kind == "number" or _INTEGER.fullmatch(str(value)) is not None)


def _is_within(schema: Schema, number: float) -> bool:
    if schema.get("format") == "int32" and not -(2**31) <= number < 2**31:
        return False
    return float(schema.get("minimum", "-inf")) <= number <= float(schema.get("maximum", "inf"))


def _wanted(schema: Schema) -> str:
    words = type_words("", {**schema, "repeated": False})
    if "pattern" in schema:
        return f"a {words} of the form {schema['pattern']}"
    bounds = [f"{name} {schema[key]}" for key, name in (("minimum", "from"), ("maximum", "to")) if key in schema]
    return " ".join([words, *bounds])


def _nearest(name: str, known: Iterable[str]) -> str:
    names = [each for each in known if each not in FILLED_IN]
    close = get_close_matches(name, names, n=3, cutoff=0.6)
    return f"; did you mean {', '.join(close)}?".rstrip("?") if close else f"; it has {', '.join(names) or 'none'}"


def _names(method: ApiMethod) -> str:
    names = [name for name in method.parameters if name not in FILLED_IN]
    return f"its parameters are {', '.join(names)}" if names else "it has no parameters either"


def _shown(value: Any) -> str:
    return repr(value)[:80]
