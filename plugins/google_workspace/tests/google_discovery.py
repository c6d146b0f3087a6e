"""Google's descriptions of its APIs, as google-api-python-client carries them, and judging requests by them."""

from __future__ import annotations

import base64
import binascii
import json
import re
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import googleapiclient

DOCUMENTS = Path(googleapiclient.__file__).parent / "discovery_cache" / "documents"
NAMES = {
    "gmail": "gmail.v1",
    "drive": "drive.v3",
    "calendar": "calendar.v3",
    "people": "people.v1",
    "docs": "docs.v1",
    "sheets": "sheets.v4",
    "slides": "slides.v1",
    "forms": "forms.v1",
    "tasks": "tasks.v1",
    "chat": "chat.v1",
    "meet": "meet.v2",
    "keep": "keep.v1",
}
# What the descriptions mark as read-only although the methods' own texts ask for it.
WRITABLE_ALL_THE_SAME = {
    ("drive.permissions.create", "emailAddress"),
    ("drive.permissions.create", "domain"),
    ("people.people.updateContact", "metadata"),
    ("forms.forms.create", "info.documentTitle"),
}
_DATE_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.IGNORECASE)


class Misfit(Exception):  # noqa: N818  # says what it is
    """A request does not fit the description; the message says where."""


@dataclass(frozen=True)
class Described:
    """A method as Google describes it.

    Attributes:
        api: the first word of its id.
        raw: the description.
        document: the API's whole description.
        is_upload: whether this is its address for uploads.
    """

    api: str
    raw: dict[str, Any]
    document: dict[str, Any]
    is_upload: bool = False

    @property
    def id(self) -> str:
        return self.raw["id"]

    @property
    def host(self) -> str:
        return urlsplit(self.document["rootUrl"]).hostname

    @property
    def path(self) -> str:
        if self.is_upload:
            return self.raw["mediaUpload"]["protocols"]["simple"]["path"]
        return "/" + self.document["servicePath"] + self.raw["path"]

    @property
    def parameters(self) -> dict[str, Any]:
        return self.raw.get("parameters", {})

    def schema(self, name: str) -> dict[str, Any]:
        return self.document["schemas"][name]

    @property
    def request_schema(self) -> str | None:
        return self.raw.get("request", {}).get("$ref")

    @property
    def response_schema(self) -> str | None:
        return self.raw.get("response", {}).get("$ref")


@cache
def document_of(api: str) -> dict[str, Any]:
    return json.loads((DOCUMENTS / f"{NAMES[api]}.json").read_text(encoding="utf-8"))


@cache
def described_methods() -> dict[str, Described]:
    """All methods of the APIs by id."""
    found: dict[str, Described] = {}

    def walk(api: str, resource: dict[str, Any]) -> None:
        for raw in resource.get("methods", {}).values():
            found[raw["id"]] = Described(api, raw, document_of(api))
        for each in resource.get("resources", {}).values():
            walk(api, each)

    for api in NAMES:
        walk(api, document_of(api))
    return found


@cache
def _routes() -> dict[tuple[str, str], list[tuple[int, re.Pattern[str], Described]]]:
    routes: dict[tuple[str, str], list[tuple[int, re.Pattern[str], Described]]] = {}
    for method in described_methods().values():
        ways = [method]
        if "mediaUpload" in method.raw:
            ways.append(Described(method.api, method.raw, method.document, is_upload=True))
        for way in ways:
            literal = len(re.sub(r"\{\+?\w+\}", "", way.path))
            pattern = re.sub(
                r"\\\{(\\\+)?(\w+)\\\}",
                lambda match: f"(?P<{match[2]}>{'.+' if match[1] else '[^/]+?'})",
                re.escape(way.path),
            )
            routes.setdefault((way.host, way.raw["httpMethod"]), []).append((literal, re.compile(pattern), way))
    for each in routes.values():
        each.sort(key=lambda route: -route[0])
    return routes


def find_method(host: str, verb: str, path: str) -> tuple[Described, dict[str, str]] | None:
    """Find what a request calls: the method, and the parameters in its path."""
    for _, pattern, method in _routes().get((host, verb), ()):
        match = pattern.fullmatch(path)
        if match is None:
            continue
        values = {name: unquote(value) for name, value in match.groupdict().items()}
        if all(_fits_pattern(method.parameters.get(name, {}), value) for name, value in values.items()):
            return method, values
    return None


def _fits_pattern(parameter: dict[str, Any], value: str) -> bool:
    return "pattern" not in parameter or re.search(parameter["pattern"], value) is not None


def read_query(method: Described, path_values: dict[str, str], query: str) -> dict[str, Any]:
    """Judge the parameters of a request, and give them as what they stand for, defaults left out."""
    known = {**document_of(method.api)["parameters"], **method.parameters}
    if method.is_upload:
        known |= {"uploadType": {"type": "string"}, "upload_id": {"type": "string"}}
    values: dict[str, Any] = dict(path_values)
    for name, text in parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query)):
        parameter = known.get(name)
        if parameter is None:
            raise Misfit(f"{method.id} has no parameter {name!r}")
        if parameter.get("location") == "path":
            raise Misfit(f"{name!r} belongs into the path")
        value = _parameter_value(name, parameter, text)
        if parameter.get("repeated"):
            values.setdefault(name, []).append(value)
        elif name in values:
            raise Misfit(f"the parameter {name!r} is given twice")
        else:
            values[name] = value
    missing = [name for name, each in method.parameters.items() if each.get("required") and name not in values]
    if missing:
        raise Misfit(f"{method.id} needs the parameters {missing}")
    return values


def _parameter_value(name: str, parameter: dict[str, Any], text: str) -> Any:
    kind = parameter["type"]
    if kind == "boolean":
        if text not in ("true", "false"):
            raise Misfit(f"the parameter {name!r} is {text!r}, which is no boolean")
        return text == "true"
    if kind in ("integer", "number"):
        try:
            number = int(text) if kind == "integer" else float(text)
        except ValueError:
            raise Misfit(f"the parameter {name!r} is {text!r}, which is no {kind}") from None
        low, high = parameter.get("minimum"), parameter.get("maximum")
        if (low is not None and number < float(low)) or (high is not None and number > float(high)):
            raise Misfit(f"the parameter {name!r} is {number}, outside {low} to {high}")
        return number
    if "enum" in parameter and text not in parameter["enum"]:
        raise Misfit(f"the parameter {name!r} is {text!r}, which is none of {parameter['enum']}")
    if parameter.get("format") in ("date-time", "google-datetime") and not _is_date_time(text):
        raise Misfit(f"the parameter {name!r} is {text!r}, which is no RFC 3339 time")
    return text


def check_body(method: Described, body: Any) -> None:
    """Judge the JSON body of a request."""
    if method.request_schema is None:
        if body not in (None, {}):
            raise Misfit(f"{method.id} takes no body, and got {body!r}")
        return
    if body is None:
        body = {}
    _check(method, {"$ref": method.request_schema}, body, "", is_request=True)


def check_response(method: Described, body: Any) -> None:
    """Judge what the stand-in itself answers."""
    if method.response_schema is None:
        assert body in (None, {}), f"{method.id} answers nothing, and the stand-in answers {body!r}"
        return
    _check(method, {"$ref": method.response_schema}, body, "", is_request=False)


def _check(method: Described, schema: dict[str, Any], value: Any, place: str, *, is_request: bool) -> None:
    if "$ref" in schema:
        _check(method, method.schema(schema["$ref"]), value, place, is_request=is_request)
        return
    kind = schema.get("type")
    if kind == "any" or (value is None and is_request and place):  # a null clears a field
        return
    if kind == "object":
        _check_object(method, schema, value, place, is_request=is_request)
    elif kind == "array":
        if not isinstance(value, list):
            raise Misfit(f"{place or 'the body'} must be a list, not {value!r}")
        for number, each in enumerate(value):
            _check(method, schema["items"], each, f"{place}[{number}]", is_request=is_request)
    elif not _is_scalar(schema, kind, value):
        raise Misfit(f"{place} is {value!r}, which is no {kind} {schema.get('format', '')}")
    elif "enum" in schema and value not in schema["enum"]:
        raise Misfit(f"{place} is {value!r}, which is none of {schema['enum']}")


def _check_object(method: Described, schema: dict[str, Any], value: Any, place: str, *, is_request: bool) -> None:
    if not isinstance(value, dict):
        raise Misfit(f"{place or 'the body'} must be an object, not {value!r}")
    properties, rest = schema.get("properties", {}), schema.get("additionalProperties")
    for name, each in value.items():
        inner = f"{place}.{name}" if place else name
        described = properties.get(name, rest)
        if described is None:
            raise Misfit(f"{inner} is not described: {schema.get('id', 'the object')} has {sorted(properties)}")
        plain = re.sub(r"\[\d+\]", "", inner)
        if is_request and described.get("readOnly") and (method.id, plain) not in WRITABLE_ALL_THE_SAME:
            raise Misfit(f"{inner} is read-only")
        _check(method, described, each, inner, is_request=is_request)


def _is_scalar(schema: dict[str, Any], kind: str | None, value: Any) -> bool:
    format_name = schema.get("format")
    if kind == "boolean":
        return isinstance(value, bool)
    if kind == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if kind == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind != "string":
        return False
    if format_name in ("int64", "uint64"):
        return not isinstance(value, bool) and re.fullmatch(r"-?\d+", str(value)) is not None
    if not isinstance(value, str):
        return False
    if format_name in ("date-time", "google-datetime"):
        return _is_date_time(value)
    if format_name == "date":
        return _parses(value, "%Y-%m-%d")
    if format_name == "byte":
        try:
            base64.urlsafe_b64decode(value.replace("+", "-").replace("/", "_") + "=" * (-len(value) % 4))
        except (binascii.Error, ValueError):
            return False
    return True


def _is_date_time(text: str) -> bool:
    if not _DATE_TIME.fullmatch(text):
        return False
    return _parses(text[:19].upper(), "%Y-%m-%dT%H:%M:%S")


def _parses(text: str, pattern: str) -> bool:
    try:
        datetime.strptime(text, pattern)  # only whether it is one
    except ValueError:
        return False
    return True


def parse_fields(mask: str) -> dict[str, Any]:
    """Read a mask such as ``items(id,a/b),nextPageToken`` into nested dicts; an empty one stands for everything."""
    position = 0

    def group() -> dict[str, Any]:
        nonlocal position
        found: dict[str, Any] = {}
        while True:
            match = re.compile(r"[\w*@.\-]+(/[\w*@.\-]+)*").match(mask, position)
            if match is None:
                raise Misfit(f"the mask {mask!r} cannot be read at {position}")
            position = match.end()
            names = match[0].split("/")
            node = found
            for name in names[:-1]:
                node = node.setdefault(name, {})
            inner: dict[str, Any] = {}
            if mask[position : position + 1] == "(":
                position += 1
                inner = group()
                if mask[position : position + 1] != ")":
                    raise Misfit(f"the mask {mask!r} lacks a parenthesis")
                position += 1
            node[names[-1]] = inner
            if mask[position : position + 1] != ",":
                return found
            position += 1

    parsed = group()
    if position != len(mask):
        raise Misfit(f"the mask {mask!r} cannot be read at {position}")
    return parsed


def masked(method: Described, mask: str, body: Any) -> Any:
    """Give the part of an answer that a mask asks for; a mask that does not fit the description is refused."""
    parsed = parse_fields(mask)
    if method.response_schema is None:
        raise Misfit(f"{method.id} answers nothing that a mask could pick from")
    schema = {"$ref": method.response_schema}
    _check_mask(method, schema, parsed, "")
    return _pick(parsed, body)


def _check_mask(method: Described, schema: dict[str, Any], mask: dict[str, Any], place: str) -> None:
    while "$ref" in schema or schema.get("type") == "array":
        schema = method.schema(schema["$ref"]) if "$ref" in schema else schema["items"]
    for name, inner in mask.items():
        if name == "*" or schema.get("type") == "any":
            continue
        described = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
        if described is None:
            raise Misfit(f"the mask asks for {place}{name}, which {method.id} does not answer")
        if inner:
            _check_mask(method, described, inner, f"{place}{name}/")


def _pick(mask: dict[str, Any], value: Any) -> Any:
    if not mask or "*" in mask:
        return value
    if isinstance(value, list):
        return [_pick(mask, each) for each in value]
    if isinstance(value, dict):
        return {name: _pick(mask[name], each) for name, each in value.items() if name in mask}
    return value
