"""Checks of what a tool of the user's is to be made of: whatever is refused is refused before anything is written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from oneclaw_core import UsageError
from oneclaw_core.manifests import parse_json
from oneclaw_core.permissions import KNOWN_PERMISSIONS
from oneclaw_javascript.errors import JavaScriptError
from oneclaw_javascript.user_tools.javascript import definition_fault
from oneclaw_javascript.user_tools.manifest import parse_user_manifest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from oneclaw_core import ToolDefinition

DEFAULT_TIMEOUT_SECONDS = 30
MAX_TIMEOUT_SECONDS = 600
MAX_DESCRIPTION_CHARACTERS = 4_000
MAX_SCHEMA_CHARACTERS = 100_000
# What JSON Schema knows at the top of the parameters; any other name there is a parameter in the wrong place.
_TOP_KEYWORDS = frozenset(
    {
        "type",
        "properties",
        "required",
        "additionalProperties",
        "patternProperties",
        "propertyNames",
        "unevaluatedProperties",
        "minProperties",
        "maxProperties",
        "dependentRequired",
        "dependentSchemas",
        "dependencies",
        "title",
        "description",
        "default",
        "examples",
        "deprecated",
        "readOnly",
        "writeOnly",
        "enum",
        "const",
        "not",
        "if",
        "then",
        "else",
        "allOf",
        "anyOf",
        "oneOf",
        "$schema",
        "$id",
        "$defs",
        "definitions",
        "$ref",
        "$anchor",
        "$comment",
    }
)

# What stands there is data, be it like a schema or not.
_EXAMPLE_KEYWORDS = frozenset({"default", "examples", "enum", "const"})


def checked_description(text: str) -> str:
    """Refuse a description that is blank or too long.

    Raises:
        UsageError: it is.
    """
    stripped = text.strip()
    if not stripped or len(stripped) > MAX_DESCRIPTION_CHARACTERS:
        raise UsageError(
            f"description must be a text of at most {MAX_DESCRIPTION_CHARACTERS:,} characters: it is how a model "
            "decides to use the tool"
        )
    return stripped


def checked_parameters(given: str | Mapping[str, Any]) -> dict[str, Any]:
    """Read a schema, all of it.

    Args:
        given: as text or as JSON data.

    Raises:
        UsageError: it is none, or part of it would be lost or mean nothing.
    """
    what = "parameters_schema"
    if not isinstance(given, str):
        try:
            given = json.dumps(given, ensure_ascii=False, allow_nan=False)
        except (ValueError, TypeError, RecursionError) as error:
            raise UsageError(f"{what} is not JSON: {error}") from None
    if len(given) > MAX_SCHEMA_CHARACTERS:
        raise UsageError(f"{what} is longer than {MAX_SCHEMA_CHARACTERS:,} characters")
    try:
        schema = parse_json(given.encode())
    except UnicodeEncodeError:
        raise UsageError(f"{what} holds half a character (an unpaired surrogate)") from None
    except UsageError as error:
        raise UsageError(f"{what} {error}") from None
    if not isinstance(schema, dict):
        raise UsageError(f'{what} must be a JSON object such as {{"properties": {{}}, "required": []}}')
    misplaced = sorted(key for key in schema if key not in _TOP_KEYWORDS)
    if misplaced:
        raise UsageError(
            f"{what}: {', '.join(repr(key[:50]) for key in misplaced[:5])} would mean nothing there: put parameters "
            'into "properties"'
        )
    schema.setdefault("type", "object")
    schema.setdefault("properties", {})
    required, properties = schema.get("required", []), schema["properties"]
    if isinstance(required, list) and isinstance(properties, dict):
        unknown = [each for each in required if isinstance(each, str) and each not in properties]
        if unknown:
            raise UsageError(f"{what}: required names {', '.join(unknown[:5])}, which properties does not describe")
    for reference in _references(schema):
        if not _leads_somewhere(reference, schema):
            raise UsageError(
                f"{what}: $ref {reference[:100]!r} leads nowhere: describe what is meant in the schema itself, such as "
                "under #/$defs/NAME"
            )
    return schema


def _references(schema: dict[str, Any]) -> Iterator[str]:
    remaining: list[Any] = [schema]
    while remaining:
        found = remaining.pop()
        if isinstance(found, list):
            remaining += found
        elif isinstance(found, dict):
            if isinstance(found.get("$ref"), str):
                yield found["$ref"]
            remaining += [value for key, value in found.items() if key not in _EXAMPLE_KEYWORDS]


def _leads_somewhere(reference: str, schema: dict[str, Any]) -> bool:
    """Return True if a reference names a place in the schema; no other reference is ever fetched."""
    if not reference.startswith("#/"):
        return reference.startswith("#")  # the whole, or an anchor
    found: Any = schema
    for step in unquote(reference[2:]).split("/"):
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and step.isdecimal() and int(step) < len(found):
            found = found[int(step)]
        elif isinstance(found, dict) and step in found:
            found = found[step]
        else:
            return False
    return isinstance(found, dict | bool)


def checked_permissions(given: str) -> list[str]:
    """Read names of permissions with commas between them.

    Raises:
        UsageError: there is no such permission.
    """
    names = list(dict.fromkeys(name.strip() for name in given.split(",") if name.strip()))
    unknown = [name[:50] for name in names if name not in KNOWN_PERMISSIONS]
    if unknown:
        raise UsageError(
            f"required_permissions: there is no permission {', '.join(unknown)}; there are: "
            f"{', '.join(KNOWN_PERMISSIONS)}"
        )
    return names


def checked_timeout(seconds: float) -> float:
    """Refuse a timeout that is out of bounds.

    Raises:
        UsageError: it is.
    """
    if isinstance(seconds, bool) or not 1 <= seconds <= MAX_TIMEOUT_SECONDS:
        raise UsageError(f"timeout_seconds must be a number from 1 to {MAX_TIMEOUT_SECONDS}")
    return seconds


def written_manifest(document: Mapping[str, Any]) -> tuple[bytes, ToolDefinition]:
    """Write a manifest, and read it in the way in which it is going to be read.

    Raises:
        UsageError: it is not acceptable.
    """
    name = str(document["name"])
    try:
        content = (json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False) + "\n").encode()
    except UnicodeEncodeError:
        raise UsageError("a text holds half a character (an unpaired surrogate)") from None
    parsed = parse_user_manifest(content, f"{name}.json", default_module="javascript")
    faults = [problem.message for problem in parsed.problems if problem.is_error]
    if not parsed.tools or faults:
        raise UsageError(faults[0] if faults else "this is no manifest of a tool")
    definition = parsed.tools[0].definition
    fault = definition_fault(definition)
    if fault is not None:
        raise UsageError(fault)
    return content, definition


async def checked_code(code: str, function_name: str) -> bytes:
    """Parse code, and see that it defines its function.

    Raises:
        UsageError: it cannot be parsed, or does not.
    """
    from oneclaw_javascript.running import check_javascript

    if not code.strip():
        raise UsageError(f"js_code is blank: write a function {function_name}(params)")
    try:
        content = code.encode()
        is_defined = await check_javascript(code, function_name)
    except UnicodeEncodeError:
        raise UsageError("js_code holds half a character (an unpaired surrogate)") from None
    except JavaScriptError as error:
        raise UsageError(f"js_code: {error}") from None
    if not is_defined:
        raise UsageError(
            f"js_code defines no function {function_name}: write it as async function {function_name}(params) {{ ... }}"
        )
    return content


def permissions_text(definition: ToolDefinition) -> str:
    """Say what a tool declares."""
    names = ", ".join(definition.required_permissions)
    return f"permissions {names}" if names else "no permissions in advance"


def size_text(code: str) -> str:
    """Say how long code is."""
    return f"{len(code):,} characters"
