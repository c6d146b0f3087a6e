"""Texts and schemas of servers as models may see them."""

from __future__ import annotations

import json
import re
from typing import Any

from oneclaw_core.tools import INVISIBLE_CHARACTERS, clean_text

MAX_DESCRIPTION_CHARACTERS = 2_048
MAX_SCHEMA_BYTES = 65_536
MAX_SCHEMA_DEPTH = 50
_DIALECT_CHARACTERS = 200
# Control characters but for tabs and line breaks, and what cannot be seen; tags can hide whole sentences.
_HIDDEN = f"\x00-\x08\x0b-\x1f\x7f-\x9f{INVISIBLE_CHARACTERS}"
_UNSEEN = re.compile(f"[{_HIDDEN}\ufe00-\ufe0f\U000e0080-\U000e0fff]")
_UNSEEN_IN_VALUES = re.compile(f"[{_HIDDEN}]")
_REFERENCES = ("$ref", "$dynamicRef")


def cleaned(text: object, limit: int = MAX_DESCRIPTION_CHARACTERS) -> str:
    """Return a text without what cannot be seen, cut to a length."""
    if not isinstance(text, str):
        return ""
    found = _UNSEEN.sub("", clean_text(text[: 4 * limit])).strip()
    return found if len(found) <= limit else found[: limit - 1].rstrip() + "…"


def cleaned_schema(schema: object) -> dict[str, Any]:
    """Return a schema of arguments that can be shown to models, its texts cleaned.

    Raises:
        ValueError: it is too large or too deep, or refers to something outside of itself.
    """
    if not isinstance(schema, dict):
        raise ValueError("its schema of arguments is not an object")  # one error for all that is wrong
    found = _cleaned_part(schema, MAX_SCHEMA_DEPTH)
    if len(json.dumps(found, ensure_ascii=False).encode("utf-8", "replace")) > MAX_SCHEMA_BYTES:
        raise ValueError(f"its schema of arguments has more than {MAX_SCHEMA_BYTES // 1024} KiB")
    made: dict[str, Any] = {"type": "object", **{key: value for key, value in found.items() if key != "$schema"}}
    return made


def dialect_of(schema: object) -> str | None:
    """Return the ``$schema`` of a schema, cleaned; ``None`` if it names none."""
    found = cleaned(schema.get("$schema"), _DIALECT_CHARACTERS) if isinstance(schema, dict) else ""
    return found or None


def foreign_faults(schema: dict[str, Any], value: Any) -> list[str]:
    """Check a value by a schema of a server; ``compile_schema`` takes for granted that it is a harmless one.

    Raises:
        ToolDefinitionError: it is no valid schema, or could take forever.
    """
    from oneclaw_core import ToolDefinition
    from oneclaw_core.tools import argument_faults, compile_schema

    # As one of arguments; what is wrong with such a schema is said when it is made.
    ToolDefinition("checked", "Takes a value.", {"type": "object", "properties": {"value": schema}})
    return argument_faults(compile_schema(schema), value)


def _cleaned_part(part: Any, levels: int) -> Any:
    if isinstance(part, str):
        return _UNSEEN_IN_VALUES.sub("", clean_text(part))
    if not isinstance(part, dict | list):
        return part
    if not levels:
        raise ValueError(f"its schema of arguments is nested more than {MAX_SCHEMA_DEPTH} levels deep")
    if isinstance(part, list):
        return [_cleaned_part(each, levels - 1) for each in part]
    for name in _REFERENCES:
        target = part.get(name)
        if isinstance(target, str) and not target.startswith("#"):
            raise ValueError(f"its schema refers to {target[:100]!r}, and no schema is fetched from elsewhere")
    return {_UNSEEN_IN_VALUES.sub("", key): _cleaned_part(value, levels - 1) for key, value in part.items()}
