"""Descriptions of Google's methods for models: a short one of each, and all details of one; pure, without any I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact
from oneclaw_google_workspace.google_api.catalogue import resolved, schemas_of
from oneclaw_google_workspace.google_api.harms import harm_of
from oneclaw_google_workspace.problems import invalid
from oneclaw_google_workspace.wording import excerpt

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_google_workspace.google_api.catalogue import ApiMethod, Schema

_SENTENCE_CHARACTERS = 150
# Of the names in a short description; a name takes two or three tokens for ten characters.
_NAMES_CHARACTERS = 90
_ANSWER_CHARACTERS = 60
# What is shorter has room for more of what Google says.
_SHORT_CHARACTERS = 160
_DETAIL_CHARACTERS = 200
_MOST_CHOICES = 40
# Filled in unless they are given.
FILLED_IN = frozenset({"userId", "supportsAllDrives", "alt", "requestId"})


def summary(method: ApiMethod) -> str:
    """Describe a method in 30 to 110 tokens.

    A ``*`` marks what is required.
    """
    parts = [f"{method.id} ({permission_of(method)}): {excerpt(method.sentence, _SENTENCE_CHARACTERS)}."]
    shown = sorted(method.parameters.items(), key=lambda each: not each[1].get("required"))
    names = [f"{name}{'*' if each.get('required') else ''}" for name, each in shown if name not in FILLED_IN]
    parts += [f"Parameters: {_listed(names, _NAMES_CHARACTERS)}."] if names else ["No parameters."]
    if method.request:
        fields = _writable(method.api, method.request)
        parts.append(f"Body {method.request}: {_listed(fields, _NAMES_CHARACTERS)}." if fields else "Empty body.")
    if method.gives_file:
        parts.append("Gives a file with save_to.")
    if method.takes_file:
        parts.append("Takes upload_file.")
    if method.response:
        fields = list(schemas_of(method.api)[method.response].get("properties", {}))
        parts.append(
            f"Answers {method.response}: {_listed(fields, _ANSWER_CHARACTERS)}." if fields else "Answers nothing."
        )
    elif not method.gives_file:
        parts.append("Answers nothing.")
    text = " ".join(part for part in parts if part)
    if len(text) < _SHORT_CHARACTERS and shown:
        name, parameter = shown[0]
        text += f" {name}: {excerpt(parameter.get('description', ''), _SENTENCE_CHARACTERS)}"
    return text


def permission_of(method: ApiMethod) -> str:
    """Name the permission that a method needs, whatever is in its body."""
    return f"google.{method.service}.{harm_of(method.id, {}, {})}"


def details(method: ApiMethod, part: str | None) -> dict[str, Any]:
    """Describe a method with all that it takes.

    Args:
        method: the method.
        part: a place within body or answer, such as ``body.requests.insertText``; ``None`` for the whole.

    Raises:
        GoogleError: there is no such part.
    """
    if part:
        return {"method": method.id, "part": part, **_part(method, part)}
    body = schemas_of(method.api)[method.request] if method.request else None
    answer = schemas_of(method.api)[method.response] if method.response else None
    return compact(
        {
            "method": method.id,
            "permission": permission_of(method),
            "about": method.description,
            "parameters": {
                f"{name}{'*' if each.get('required') else ''}": _said(each)
                for name, each in method.parameters.items()
                if name not in FILLED_IN
            },
            "body": body and _fields(method.api, body, is_request=True),
            "answer": list(answer.get("properties", {})) if answer else None,
            "files": " ".join(
                [*(["Takes upload_file."] if method.takes_file else []), *(["Gives save_to."] * method.gives_file)]
            ),
        }
    )


def type_words(api: str, schema: Schema) -> str:
    """Name the type of a value, such as ``array of Event``."""
    if schema.get("repeated"):
        return f"array of {type_words(api, {**schema, 'repeated': False})}"
    if "$ref" in schema:
        return f"object {schema['$ref']}"
    if schema.get("type") == "array":
        return f"array of {type_words(api, schema['items']).removeprefix('object ')}"
    if "enum" in schema:
        choices = schema["enum"]
        more = f" and {len(choices) - _MOST_CHOICES} more" if len(choices) > _MOST_CHOICES else ""
        return "one of " + ", ".join(choices[:_MOST_CHOICES]) + more
    if "additionalProperties" in schema:
        return f"object of {type_words(api, schema['additionalProperties'])} by name"
    kind = str(schema.get("type", "any"))
    return f"{kind} ({schema['format']})" if schema.get("format") else kind


def _part(method: ApiMethod, part: str) -> dict[str, Any]:
    first, *names = part.replace("[]", "").split(".")
    root = {"body": method.request, "answer": method.response}.get(first)
    if root is None:
        raise invalid("part begins with body or answer, such as body.requests.insertText, where there is one.")
    schema = schemas_of(method.api)[root]
    for number, name in enumerate(names):
        schema = _element(method.api, schema)
        properties = schema.get("properties", {})
        inner = properties.get(name, schema.get("additionalProperties"))
        if inner is None:
            place = ".".join([first, *names[:number]])
            raise invalid(f"{place} has no {name[:80]!r}; it has {', '.join(properties) or 'no fields'}.")
        schema = inner
    described = _element(method.api, schema)
    about = {"type": type_words(method.api, schema), "about": schema.get("description")}
    return compact({**about, "fields": _fields(method.api, described, is_request=first == "body")})


def _element(api: str, schema: Schema) -> Schema:
    """Go from a list to what is in it."""
    schema = resolved(api, schema)
    while schema.get("type") == "array":
        schema = resolved(api, schema["items"])
    return schema


def _fields(api: str, schema: Schema, *, is_request: bool) -> dict[str, str]:
    return {
        name: f"{type_words(api, each)}. {excerpt(each.get('description', ''), _DETAIL_CHARACTERS)}".rstrip(". ")
        for name, each in schema.get("properties", {}).items()
        if not (is_request and each.get("readOnly"))
    }


def _said(parameter: Schema) -> str:
    words = type_words("", parameter)
    bounds = [f"{name} {parameter[key]}" for key, name in (("minimum", "from"), ("maximum", "to")) if key in parameter]
    about = excerpt(parameter.get("description", ""), _DETAIL_CHARACTERS)
    return f"{' '.join([words, *bounds])}. {about}".rstrip(". ")


def _writable(api: str, name: str) -> list[str]:
    return [key for key, each in schemas_of(api)[name].get("properties", {}).items() if not each.get("readOnly")]


def _listed(names: Iterable[str], limit: int) -> str:
    """Name as many as there is room for."""
    shown: list[str] = []
    left = list(names)
    while left and sum(map(len, shown)) + 2 * len(shown) + len(left[0]) <= limit:
        shown.append(left.pop(0))
    return ", ".join([*shown, *(["…"] if left else [])])
