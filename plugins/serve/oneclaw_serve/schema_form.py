"""Forms made from a JSON Schema: their fields as HTML, and the values that come back."""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING, Any

from oneclaw_core import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_SHORT_CHARACTERS = 200
_ROWS = {"multiline": 12, "paragraph": 2}


def fields_html(schema: Mapping[str, Any], values: Mapping[str, Any], prefix: str) -> str:
    """Return the fields of an object's properties, each with its label and description.

    Args:
        schema: of the object.
        values: that the fields hold now, by name.
        prefix: of the ids of the fields, different for each form of a page.
    """
    required = set(schema.get("required", ()))
    return "".join(
        _field(name, _resolved(each, schema), values.get(name), f"{prefix}-{number}", is_required=name in required)
        for number, (name, each) in enumerate(schema.get("properties", {}).items())
    )


def read_fields(schema: Mapping[str, Any], form: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of a form by their types; what is empty is left out unless it is required.

    Args:
        schema: that the form was made from.
        form: the texts that came back.

    Raises:
        UsageError: a text is no value of its field's type.
    """
    return dict(_read(schema, form))


def _read(schema: Mapping[str, Any], form: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    required = set(schema.get("required", ()))
    for name, each in schema.get("properties", {}).items():
        text = form.get(name, "")
        resolved = _resolved(each, schema)
        if text.strip():
            yield name, _value(name, text.replace("\r\n", "\n"), resolved)
        elif name in required and _type(resolved) == "string":
            yield name, text


def _value(name: str, text: str, schema: Mapping[str, Any]) -> Any:
    choices = _choices(schema)
    if choices is not None:
        return choices.get(text, text)
    kind = _type(schema)
    try:
        if kind == "string":
            return text
        if kind == "lines":
            return [line for line in text.split("\n") if line.strip()]
        if kind == "integer":
            return int(text)
        return json.loads(text)
    except ValueError:
        what = {"integer": "a whole number", "number": "a number"}.get(kind, "JSON")
        raise UsageError(f"{name}: this is not {what}") from None


def _field(name: str, schema: Mapping[str, Any], value: Any, place: str, *, is_required: bool) -> str:
    about = " ".join(f"{schema.get('description') or ''} {_how_to_write(schema)}".split())
    hint = f'<p class="hint" id="{place}-hint">{escape(about)}</p>' if about else ""
    described = f' aria-describedby="{place}-hint"' if about else ""
    common = f'id="{place}" name="{escape(name)}"{described}{" required" if is_required else ""}'
    mark = " (required)" if is_required else ""
    control = _control(schema, value, common, is_required=is_required)
    label = f'<label for="{place}">{escape(str(schema.get("title") or name))}{mark}</label>'
    return f'<div class="field">{label}{hint}{control}</div>'


def _control(schema: Mapping[str, Any], value: Any, common: str, *, is_required: bool) -> str:
    choices = _choices(schema)
    if choices is not None:
        default = schema.get("default")
        empty = f"default: {_text(default)}" if "default" in schema and default is not None else ""
        options = "".join(
            f'<option value="{escape(each)}"{" selected" if value is not None and each == _text(value) else ""}>'
            f"{escape(each)}</option>"
            for each in choices
        )
        first = "" if is_required and value is not None else f'<option value="">{escape(empty)}</option>'
        return f"<select {common}>{first}{options}</select>"
    kind = _type(schema)
    shown = "" if value is None else "\n".join(map(_text, value)) if kind == "lines" else _text(value)
    default = schema.get("default")
    hint = f' placeholder="{escape(_text(default)[:100])}"' if default not in (None, "", [], {}) else ""
    if kind in ("integer", "number"):
        step = ' step="any"' if kind == "number" else ""
        return f'<input type="number"{step} {common} value="{escape(shown)}"{hint}>'
    if schema.get("format") == "password":
        return f'<input type="password" autocomplete="off" {common}>'
    if kind == "string" and not (schema.get("format") in _ROWS or "\n" in shown or len(shown) > _SHORT_CHARACTERS):
        return f'<input type="text" autocomplete="off" {common} value="{escape(shown)}"{hint}>'
    rows = _ROWS.get(str(schema.get("format")), 3)
    return f'<textarea rows="{rows}" {common}{hint}>\n{escape(shown)}</textarea>'


def _how_to_write(schema: Mapping[str, Any]) -> str:
    if _choices(schema) is not None:
        return ""
    return {"lines": "One a line.", "any": "As JSON."}.get(_type(schema), "")


def _choices(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the values that are allowed by their texts; ``None`` if there is no list of them."""
    if "const" in schema:
        return {_text(schema["const"]): schema["const"]}
    if isinstance(schema.get("enum"), list):
        return {_text(each): each for each in schema["enum"] if each is not None}
    return {"true": True, "false": False} if _type(schema) == "boolean" else None


def _type(schema: Mapping[str, Any]) -> str:
    """Return the type of a field: one of JSON Schema, ``lines`` for a list of texts, or ``any`` for JSON."""
    kind = schema.get("type")
    if isinstance(kind, list):
        others = [each for each in kind if each != "null"]
        kind = others[0] if len(others) == 1 else "any"
    items = schema.get("items")
    if kind == "array" and isinstance(items, dict) and items.get("type") == "string":
        return "lines"
    return str(kind) if kind in ("string", "integer", "number", "boolean") else "any"


def _resolved(schema: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow a reference within the schema, and leave ``null`` out of alternatives."""
    if not isinstance(schema, dict):
        return {}
    schema = dict[str, Any](schema)
    for word in ("anyOf", "oneOf"):
        others = [each for each in schema.get(word, ()) if each != {"type": "null"}]
        if len(others) == 1 and isinstance(others[0], dict):
            schema = {**others[0], **{name: each for name, each in schema.items() if name != word}}
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/$defs/"):
        target = root.get("$defs", {}).get(reference.removeprefix("#/$defs/"))
        if isinstance(target, dict):
            schema = {**target, **{name: each for name, each in schema.items() if name != "$ref"}}
    found: Mapping[str, Any] = schema
    return found


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
