"""The tool ``google_find_method``: methods in words, and checks of their arguments."""

from __future__ import annotations

import re
from difflib import get_close_matches
from functools import cache
from math import isnan
from typing import TYPE_CHECKING, Any

from oneclaw_core.search import NameIndex
from oneclaw_google_workspace.answers import compact, excerpt, google_tool
from oneclaw_google_workspace.failures import GoogleError, invalid
from oneclaw_google_workspace.google_api.catalogue import api_methods, harm_of, resolved, schemas_of
from oneclaw_google_workspace.methods import APIS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from oneclaw_core import ToolContext
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
# What people say, and Google does not.
_MORE_WORDS = {
    "calendar.acl.": "share access people permission",
    "calendar.events.": "appointment meeting",
    "chat.spaces.members.": "invite people",
    "chat.spaces.messages.": "write post",
    "docs.": "document text",
    "drive.permissions.": "share access people",
    "drive.revisions.": "version history",
    "gmail.": "mail email",
    "gmail.users.settings.delegates.": "share access mailbox",
    "people.": "contact address book",
    "people.contactGroups.": "label",
    "sheets.": "table spreadsheet",
    "slides.": "presentation deck",
    "tasks.": "to-do todo",
}
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


@google_tool
async def google_find_method(
    query: str,
    part: str | None = None,
    max_results: int = 8,
    *,
    context: ToolContext,  # of every tool
) -> dict[str, Any]:
    """Find methods by words, or describe one."""
    if query.strip() in api_methods():
        return details(api_methods()[query.strip()], part)
    if part:
        raise invalid("part goes with the id of a method as query, such as docs.documents.batchUpdate.")
    found = find_methods(query, max_results)
    if not found:
        raise GoogleError("not_found", f"No method fits. Use other words, or the name of an API: {', '.join(APIS)}.")
    note = None if len(found) < max_results else "There may be more: add words, or raise max_results."
    return compact({"methods": [summary(each) for each in found], "note": note})


def find_methods(query: str, limit: int) -> list[ApiMethod]:
    """Return the methods that fit best, the best first.

    Args:
        query: words in any order.
        limit: how many at most.
    """
    methods = list(api_methods().values())
    return [methods[number] for number in _index().find(query, limit)]


def method_of(method_id: str) -> ApiMethod:
    """Return the method of an id.

    Raises:
        GoogleError: there is none; the message names some that may be meant.
    """
    method = api_methods().get(method_id.strip())
    if method is None:
        close = get_close_matches(method_id, api_methods(), n=3, cutoff=0.5)
        close = close or [each.id for each in find_methods(method_id, 3)]
        hint = f"Did you mean {', '.join(close)}? " if close else ""
        raise invalid(f"There is no method {method_id[:100]!r}. {hint}Find it with google_find_method.")
    return method


@cache
def _index() -> NameIndex:
    return NameIndex((f"{method.id} {APIS[method.api].title}", _text(method)) for method in api_methods().values())


def _text(method: ApiMethod) -> str:
    words = [method.description, *method.parameters, harm_of(method.id, {}, {})]
    words += [more for beginning, more in _MORE_WORDS.items() if method.id.startswith(beginning)]
    if method.request:
        for name, field in schemas_of(method.api)[method.request].get("properties", {}).items():
            # What a batch of changes consists of says what it can do.
            inner = resolved(method.api, field["items"]) if name == "requests" else {}
            words += [name, *inner.get("properties", {})]
    return " ".join(words)


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
