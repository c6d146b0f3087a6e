"""One tool entry of a manifest: which keys it has and what they may hold.

The published JSON Schema, ``manifest.schema.json``, says the same; a test holds the two together. The checks are
written out here because a program with hundreds of tools reads all their manifests every time it starts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from oneclaw_core.errors import ToolDefinitionError
from oneclaw_core.tools.calling import FunctionTarget
from oneclaw_core.tools.definition import ToolDefinition
from oneclaw_core.tools.manifest_tool import ManifestTool
from oneclaw_core.tools.schema import json_pointer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

TOOL_KEYS = (
    "name",
    "description",
    "parameters",
    "function",
    "required_permissions",
    "timeout_seconds",
    "isolation",
    "asks_itself",
)
SINGLE_FORM_FUNCTION = "execute"

_FUNCTION = re.compile(
    r"(?:(?P<module>[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*):)?(?P<attribute>[A-Za-z_][A-Za-z0-9_]*)"
)


class Report(Protocol):
    """Takes the JSON Pointer of a fault within the entry, what is wrong, and whether something is left out for it."""

    def __call__(self, pointer: str, message: str, *, is_error: bool = True) -> None:
        """Note a fault."""
        ...


@dataclass(frozen=True, slots=True)
class ManifestSource:
    """The manifest that an entry stands in.

    Attributes:
        base_name: of the file, without ``.json``.
        file_name: for messages.
        default_module: where a function named without a module is found; ``None`` for a module of the base name.
    """

    base_name: str
    file_name: str
    default_module: str | None


def read_tool_entry(entry: object, source: ManifestSource, report: Report, *, is_single: bool) -> ManifestTool | None:
    """Make a tool of an entry, and report everything that is wrong with it.

    Args:
        entry: JSON data.
        source: where it stands.
        report: called for every fault.
        is_single: whether the entry is the whole manifest: then its name is the file's, and ``function`` can be left
            out.

    Returns:
        The tool; ``None`` if a fault makes it unusable.
    """
    if not isinstance(entry, dict):
        report("", f"a tool must be an object, not {_kind(entry)}")
        return None
    if entry.get("_meta") is True:
        report("/_meta", "a '_meta' entry describes a tool group and stands first in an array; this one is left out")
        return None
    values = _read_keys(entry, report, allowed=("$schema",) if is_single else ())
    if is_single:
        values.setdefault("function", SINGLE_FORM_FUNCTION)
    missing = [key for key in ("name", "description", "function") if key not in values]
    for key in missing:
        report("", f"{key!r} is missing")
    faults = [(key, fault) for key, check in _CHECKS.items() if key in values and (fault := check(values[key]))]
    for key, fault in faults:
        report(json_pointer([key]), fault)
    target = _find_target(values, source, report)
    if is_single and "name" in values and values["name"] != source.base_name:
        report("/name", f"the tool must be named like its file, {source.base_name!r}, not {values['name']!r}")
        missing.append("name")
    definition = _define(values, report) if not missing and not faults else None
    if definition is None or target is None:
        return None
    return ManifestTool(definition, target, values.get("isolation"), asks_itself=values.get("asks_itself", False))


def report_unknown_key(key: str, known: tuple[str, ...], report: Report) -> None:
    """Say that a key is not known, and which one may have been meant."""
    from difflib import get_close_matches

    close = get_close_matches(key, known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(known)}"
    report(json_pointer([key]), f"unknown key {key[:80]!r}, which is ignored; {hint}", is_error=False)


def _read_keys(entry: Mapping[str, Any], report: Report, allowed: tuple[str, ...]) -> dict[str, Any]:
    """Select the known keys and report the others."""
    values: dict[str, Any] = {}
    for key, value in entry.items():
        if key in TOOL_KEYS:
            values[key] = value
        elif key not in allowed:
            report_unknown_key(key, TOOL_KEYS, report)
        elif not isinstance(value, str):
            report(json_pointer([key]), f"must be a text, not {_kind(value)}")
    return values


def _check_parameters(value: object) -> str | None:
    return None if isinstance(value, dict) else f"must be a JSON Schema object, not {_kind(value)}"


def _check_permissions(value: object) -> str | None:
    if isinstance(value, list) and all(isinstance(each, str) and each for each in value):
        return None
    return 'must be a list of permission names, such as ["files.write"]'


def _check_isolation(value: object) -> str | None:
    return None if value == "process" else f'must be "process", not {_kind(value)}; leave it out for none'


def _check_asks_itself(value: object) -> str | None:
    return None if isinstance(value, bool) else f"must be true or false, not {_kind(value)}"


def _check_function(value: object) -> str | None:
    if isinstance(value, str) and _FUNCTION.fullmatch(value):
        return None
    return 'must name a function, as "module:function" or "function"' + (
        f", not {value[:80]!r}" if isinstance(value, str) else f"; it is {_kind(value)}"
    )


# What ToolDefinition does not check itself, or takes in more forms than JSON has.
_CHECKS: dict[str, Callable[[object], str | None]] = {
    "parameters": _check_parameters,
    "required_permissions": _check_permissions,
    "isolation": _check_isolation,
    "asks_itself": _check_asks_itself,
    "function": _check_function,
}


def _find_target(values: Mapping[str, Any], source: ManifestSource, report: Report) -> FunctionTarget | None:
    function = values.get("function")
    match = _FUNCTION.fullmatch(function) if isinstance(function, str) else None
    if match is None:
        return None
    module = match["module"] or source.default_module or source.base_name
    if not all(part.isidentifier() for part in module.split(".")):
        report(
            "/function",
            f"{function!r} would be looked up in a module named like the manifest, and {module!r} cannot be one; "
            'write "module:function"',
        )
        return None
    return FunctionTarget(module, match["attribute"], f"tool {values.get('name')!r} of manifest {source.file_name}")


def _define(values: Mapping[str, Any], report: Report) -> ToolDefinition | None:
    parameters = values.get("parameters", {"properties": {}, "additionalProperties": False})
    if "type" not in parameters:
        parameters = {"type": "object", **parameters}
    try:
        return ToolDefinition(
            name=values["name"],
            description=values["description"],
            parameters=parameters,
            required_permissions=tuple(values.get("required_permissions", ())),
            timeout_seconds=values.get("timeout_seconds", 30),
        )
    except ToolDefinitionError as error:
        report(error.pointer, str(error))
        return None


def _kind(value: object) -> str:
    """What a value is, in the words of JSON."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    kinds = {dict: "an object", list: "an array", str: "a text", int: "a number", float: "a number"}
    return kinds.get(type(value), f"a {type(value).__name__}")
