"""Texts and schemas of servers as models may see them."""

from __future__ import annotations

import json
import re
from typing import Any

from oneclaw_core.tools import INVISIBLE_CHARACTERS, clean_text
from oneclaw_mcp.schemas import LATEST_DIALECT, checked_schema, readable_schema

MAX_DESCRIPTION_CHARACTERS = 2_048
MAX_SCHEMA_BYTES = 65_536
MAX_SCHEMA_DEPTH = 50
_DIALECT_CHARACTERS = 200
# Control characters but for tabs and line breaks, and what cannot be seen; tags can hide whole sentences.
_HIDDEN = f"\x00-\x08\x0b-\x1f\x7f-\x9f{INVISIBLE_CHARACTERS}"
_UNSEEN = re.compile(f"[{_HIDDEN}\ufe00-\ufe0f\U000e0080-\U000e0fff]")
_UNSEEN_IN_VALUES = re.compile(f"[{_HIDDEN}]")


def cleaned(text: object, limit: int = MAX_DESCRIPTION_CHARACTERS) -> str:
    """Return a text without what cannot be seen, cut to a length."""
    if not isinstance(text, str):
        return ""
    found = _UNSEEN.sub("", clean_text(text[: 4 * limit])).strip()
    return found if len(found) <= limit else found[: limit - 1].rstrip() + "…"


def cleaned_line(text: object, limit: int = MAX_DESCRIPTION_CHARACTERS) -> str:
    """Return a text as :func:`cleaned` does, on one line."""
    return " ".join(cleaned(text, limit).split())


def cleaned_schema(schema: object) -> dict[str, Any]:
    """Return a schema of arguments that can be shown to models, its texts cleaned.

    Raises:
        ValueError: it is too large or too deep, or not one of an object.
    """
    return read_schema(schema)[0]


def read_schema(schema: object, *, is_of_object: bool = True) -> tuple[dict[str, Any], list[str]]:
    """Return a schema that can be shown to models, and what was left out of it because it is not valid.

    Args:
        schema: as the server gave it.
        is_of_object: True for one of arguments.

    Raises:
        ValueError: it is too large or too deep, or not one of an object.
    """
    if isinstance(schema, dict):
        schema = _cleaned_part(schema, MAX_SCHEMA_DEPTH)
        if len(json.dumps(schema, ensure_ascii=False).encode("utf-8", "replace")) > MAX_SCHEMA_BYTES:
            raise ValueError(f"its schema of arguments has more than {MAX_SCHEMA_BYTES // 1024} KiB")
    made, problems = readable_schema(schema, is_of_object=is_of_object)
    return made, [cleaned(each, 300) for each in problems]


def dialect_of(schema: object) -> str | None:
    """Return the ``$schema`` of a schema, cleaned; ``None`` if it names none, or another one than it is read as."""
    found = cleaned(schema.get("$schema"), _DIALECT_CHARACTERS) if isinstance(schema, dict) else ""
    return found if found.rstrip("#") == LATEST_DIALECT else None


def foreign_faults(schema: dict[str, Any], value: Any) -> list[str]:
    """Check a value by a schema of a server, but for what is left to the server.

    Raises:
        ValueError: it cannot be used.
    """
    from oneclaw_core.json_schema import argument_faults, compile_schema

    readable, _ = read_schema(schema, is_of_object=False)
    return argument_faults(compile_schema(checked_schema(readable)), value)


def _cleaned_part(part: Any, levels: int) -> Any:
    if isinstance(part, str):
        return _UNSEEN_IN_VALUES.sub("", clean_text(part))
    if not isinstance(part, dict | list):
        return part
    if not levels:
        raise ValueError(f"its schema of arguments is nested more than {MAX_SCHEMA_DEPTH} levels deep")
    if isinstance(part, list):
        return [_cleaned_part(each, levels - 1) for each in part]
    return {_UNSEEN_IN_VALUES.sub("", key): _cleaned_part(value, levels - 1) for key, value in part.items()}
