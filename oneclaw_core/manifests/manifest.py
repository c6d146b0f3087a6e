"""Tools of manifests."""

from __future__ import annotations

import json
import logging
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from oneclaw_core.errors import ToolDefinitionError, UsageError
from oneclaw_core.tools.invoke import DeferredTool, Executable, FunctionTarget
from oneclaw_core.tools.registry import with_earlier_behaviour
from oneclaw_core.types.arguments import finite_float, json_pointer, refuse_constant
from oneclaw_core.types.permissions import KNOWN_PERMISSIONS, MAX_NAME_CHARACTERS, is_permission_name, meaning_fault
from oneclaw_core.types.tool_groups import ToolGroupDefinition, generated_group_definition, one_line
from oneclaw_core.types.tools import SelfRunningTool, Tool, ToolBehaviour, ToolDefinition, ToolResult

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable
    from pathlib import Path

    from oneclaw_core.tools.context import ToolContext


class ManifestTool(DeferredTool):
    """A tool whose definition comes from a manifest and whose function from a module named there.

    The function gets JSON data by name; one decorated with ``@tool`` the Python values that its type hints say.

    Attributes:
        target: where its function is found.
    """

    def __init__(
        self,
        definition: ToolDefinition,
        target: FunctionTarget,
        isolation: Literal["process"] | None = None,
        *,
        asks_itself: bool = False,
        is_poll: bool = False,
    ) -> None:
        """Make a tool of its definition.

        Args:
            definition: what a model is told about it.
            target: where its function is found.
            isolation: deprecated, as the next two are; a definition has these in its ``behaviour``.
            asks_itself: the same.
            is_poll: the same.
        """
        super().__init__(definition)
        self.target = target
        if isolation or asks_itself or is_poll:
            self.isolation, self.asks_itself, self.is_poll = isolation, asks_itself, is_poll
            self.definition = with_earlier_behaviour(self, definition)

    def __repr__(self) -> str:
        return f"<tool {self.name} of {self.target.module}:{self.target.attribute}>"

    async def execute(self, arguments: dict[str, Any], context: ToolContext | None = None) -> ToolResult:  # noqa: D102
        if self.definition.behaviour.isolation is None:
            return await super().execute(arguments, context)
        from oneclaw_core.process.isolation import call_in_process
        from oneclaw_core.tools.context import detached_context

        return await call_in_process(
            self.target,
            arguments,
            context or detached_context(self.name),
            is_converted=False,
            permissions=self.definition.required_permissions,
        )

    async def _load(self) -> Executable:
        from oneclaw_core.system.threads import run_in_thread
        from oneclaw_core.tool_functions.function import ToolFunction

        loaded = await run_in_thread(self.target.load)  # an import can take seconds
        is_tool = isinstance(loaded, Tool) and isinstance(loaded, SelfRunningTool)
        return loaded if is_tool else ToolFunction.of(loaded, self.target.origin)


__all__ = [
    "Manifest",
    "ManifestProblem",
    "ManifestTool",
    "load_manifest",
    "parse_group_manifest",
    "parse_json",
    "parse_manifest",
    "parse_tool_manifest",
]

MAX_MANIFEST_BYTES = 4 * 1024 * 1024
# A message repeats what is wrong, which can be as long as the file.
_MAX_MESSAGE_CHARACTERS = 1_000

_META_KEYS = ("_meta", "display_name", "description", "permissions", "parameters")
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")

_log = logging.getLogger("oneclaw.manifest")


@dataclass(frozen=True, slots=True)
class ManifestProblem:
    """Something in a manifest that its author should fix.

    Attributes:
        file: the manifest's file name.
        entry: the entry's index and name, such as ``2 'gmail_search'``; ``None`` if it is about the whole file.
        pointer: JSON Pointer (RFC 6901) to the fault within the file, ``""`` for all of it.
        message: what is wrong.
        is_error: whether something was left out because of it.
    """

    file: str
    entry: str | None
    pointer: str
    message: str
    is_error: bool = True

    def __str__(self) -> str:
        entry = f"entry {self.entry}: " if self.entry is not None else ""
        pointer = f"{self.pointer}: " if self.pointer else ""
        return one_line(f"{self.file}: {entry}{pointer}{self.message}")


@dataclass(frozen=True, slots=True)
class Manifest:
    """The declarations of a manifest.

    Attributes:
        tools: in the order of the file.
        group: what they belong to; ``None`` for a manifest of one tool, or of a group without tools and metadata.
        problems: what was left out or ignored, and why.
    """

    tools: tuple[ManifestTool, ...] = ()
    group: ToolGroupDefinition | None = None
    problems: tuple[ManifestProblem, ...] = ()


def load_manifest(path: Path | Traversable, *, default_module: str | None = None) -> Manifest:
    """Read a manifest; whatever is wrong with the file is among its problems.

    Args:
        path: a JSON file in UTF-8.
        default_module: where functions that are named without a module are found; if not given, in a module named
            like the file.
    """
    try:
        content = _read(path)
    except _FileFaultError as error:
        return Manifest(problems=(ManifestProblem(path.name, None, "", str(error)),))
    return parse_manifest(content, path.name, default_module=default_module)


def parse_manifest(
    content: bytes, file_name: str, *, default_module: str | None = None, rewrite: Callable[[Any], Any] | None = None
) -> Manifest:
    """Read the content of a manifest; whatever is wrong with it is among its problems.

    Args:
        content: JSON in UTF-8.
        file_name: with ``.json``.
        default_module: as for :func:`load_manifest`.
        rewrite: changes the JSON data before they are read.
    """
    problems: list[ManifestProblem] = []
    base_name = re.sub(r"\.json$", "", file_name, flags=re.IGNORECASE)
    try:
        document, repeated_keys = _parse(_decoded(content))
        problems.extend(
            ManifestProblem(file_name, None, "", f"the key {key!r} stands twice in an object; the last one counts")
            for key in repeated_keys
        )
        if rewrite is not None:
            document = rewrite(document)
        if isinstance(document, list):
            tools, group = parse_group_manifest(
                document, base_name, file_name, default_module=default_module, problems=problems
            )
            # Metadata alone declare a group, whose tools the plugin's code may bring.
            is_group = bool(tools) or _metadata_of(document) is not None
            return Manifest(tuple(tools), group if is_group else None, tuple(problems))
        if not isinstance(document, dict):
            raise _FileFaultError("a manifest must be an object (one tool) or an array (a tool group)")
        tool = parse_tool_manifest(document, base_name, file_name, default_module=default_module, problems=problems)
        return Manifest((tool,) if tool is not None else (), None, tuple(problems))
    except (_FileFaultError, ToolDefinitionError) as error:
        return Manifest(problems=(*problems, ManifestProblem(file_name, None, "", str(error))))


def parse_group_manifest(
    entries: Sequence[Any],
    base_name: str,
    file_name: str,
    *,
    default_module: str | None = None,
    problems: list[ManifestProblem] | None = None,
) -> tuple[list[ManifestTool], ToolGroupDefinition]:
    """Read the array form: the tools of a group and its metadata, generated where the manifest has none.

    Args:
        entries: JSON data.
        base_name: the file's name without ``.json``, which is the group's.
        file_name: for messages.
        default_module: where functions that are named without a module are found; if not given, in a module named
            ``base_name``.
        problems: gets what is wrong; without it, that is logged.

    Returns:
        The tools whose entries are good, and the group.

    Raises:
        ToolDefinitionError: a group cannot be named ``base_name``.
    """
    problems_of_call: list[ManifestProblem] = []
    source = ManifestSource(base_name, file_name, default_module)
    meta = _metadata_of(entries)
    if not entries:
        message = "the array is empty: it declares no tools, and so no tool group"
        problems_of_call.append(ManifestProblem(file_name, None, "", message, is_error=False))
    shared = _shared_parameters(meta, _reporter(problems_of_call, file_name, 0, {"name": "_meta"}))
    tools: dict[str, ManifestTool] = {}
    for index, entry in enumerate(entries):
        if index == 0 and meta is not None:
            continue
        report = _reporter(problems_of_call, file_name, index, entry)
        tool = read_tool_entry(_with_shared(entry, shared), source, report, is_single=False)
        if tool is None:
            continue
        if tool.name in tools:
            report("/name", f"a tool named {tool.name!r} stands in this file already; the first one stays")
        else:
            tools[tool.name] = tool
    group = generated_group_definition(base_name, tools)
    if meta is not None:
        group = _with_metadata(group, meta, _reporter(problems_of_call, file_name, 0, {"name": "_meta"}))
    _hand_over(problems_of_call, problems)
    return list(tools.values()), group


def parse_tool_manifest(
    entry: Any,
    base_name: str,
    file_name: str,
    *,
    default_module: str | None = None,
    problems: list[ManifestProblem] | None = None,
) -> ManifestTool | None:
    """Read the object form: one tool, named like its file.

    Args:
        entry: JSON data; without ``function`` the function is named ``execute``.
        base_name: the file's name without ``.json``.
        file_name: for messages.
        default_module: where a function that is named without a module is found; if not given, in a module named
            ``base_name``.
        problems: gets what is wrong; without it, that is logged.

    Returns:
        The tool; ``None`` if the entry cannot be used.
    """
    problems_of_call: list[ManifestProblem] = []
    report = _reporter(problems_of_call, file_name, None, entry)
    tool = read_tool_entry(entry, ManifestSource(base_name, file_name, default_module), report, is_single=True)
    _hand_over(problems_of_call, problems)
    return tool


def _metadata_of(entries: Sequence[Any]) -> Mapping[str, Any] | None:
    first = entries[0] if entries else None
    return first if isinstance(first, dict) and first.get("_meta") is True else None


def _with_metadata(group: ToolGroupDefinition, meta: Mapping[str, Any], report: Report) -> ToolGroupDefinition:
    for key, value in meta.items():
        if key not in _META_KEYS:
            report_unknown_key(key, _META_KEYS, report)
        elif key == "permissions":
            group = replace(group, permissions=_meanings(value, report))
        elif key not in ("_meta", "parameters"):
            try:
                group = replace(group, **{key: value})
            except ToolDefinitionError as error:
                report(error.pointer, f"{error}; a generated one is used", is_error=False)
    return group


def _shared_parameters(meta: Mapping[str, Any] | None, report: Report) -> dict[str, Any]:
    """Read the parameters that every tool of a group takes."""
    value = (meta or {}).get("parameters", {})
    if isinstance(value, dict) and all(isinstance(each, dict) for each in value.values()):
        return value
    report("/parameters", "must be an object of JSON Schemas by the names of parameters; it is ignored", is_error=False)
    return {}


def _with_shared(entry: object, shared: Mapping[str, Any]) -> object:
    """Add the parameters of a group to those of a tool; its own go before them."""
    if not shared or not isinstance(entry, dict):
        return entry
    parameters = entry.get("parameters", {"type": "object", "additionalProperties": False})
    properties = parameters.get("properties", {}) if isinstance(parameters, dict) else None
    if not isinstance(properties, dict):
        return entry  # the fault is found with the entry
    added = {name: schema for name, schema in shared.items() if name not in properties}
    return {**entry, "parameters": {**parameters, "properties": {**properties, **added}}}


def _meanings(value: object, report: Report) -> dict[str, str]:
    """Read what permissions mean, and leave out what cannot be shown, or is not for a group to say."""
    if not isinstance(value, dict):
        example = 'such as {"tables.delete": "delete tables permanently"}'
        report("/permissions", f"must be an object of what permissions mean, {example}; it is ignored", is_error=False)
        return {}
    meanings: dict[str, str] = {}
    for name, meaning in value.items():
        if name in KNOWN_PERMISSIONS:
            fault: str | None = f"{name!r} is OneClaw's own, which says itself what it means"
        else:
            fault = meaning_fault(name, meaning)
        if fault is None:
            meanings[name] = meaning
        else:
            place = f"/{name}" if len(name) <= MAX_NAME_CHARACTERS and is_permission_name(name) else ""
            report(f"/permissions{place}", f"{fault}; this is ignored", is_error=False)
    return meanings


def _reporter(problems: list[ManifestProblem], file_name: str, index: int | None, entry: object) -> Report:
    name = entry.get("name") if isinstance(entry, dict) else None
    place = "" if index is None else f"/{index}"
    words = [str(index)] if index is not None else []
    if isinstance(name, str):
        words.append(repr(name[:80]))

    def report(pointer: str, message: str, *, is_error: bool = True) -> None:
        shown = message if len(message) <= _MAX_MESSAGE_CHARACTERS else message[:_MAX_MESSAGE_CHARACTERS] + "…"
        problems.append(ManifestProblem(file_name, " ".join(words) or None, place + pointer, shown, is_error))

    return report


def _hand_over(found: list[ManifestProblem], problems: list[ManifestProblem] | None) -> None:
    if problems is not None:
        problems.extend(found)
    else:
        for problem in found:
            _log.warning("%s", problem)


def parse_json(content: bytes) -> Any:
    """Read JSON as strictly as that of a manifest, so that nothing of it is lost.

    Args:
        content: JSON in UTF-8.

    Raises:
        UsageError: it is none, or a key stands twice in an object; the message begins with a verb.
    """
    try:
        document, repeated_keys = _parse(_decoded(content))
    except _FileFaultError as error:
        raise UsageError(str(error)) from None
    if repeated_keys:
        raise UsageError(f"has the key {repeated_keys[0][:80]!r} twice in an object: give it once")
    return document


class _FileFaultError(ValueError):
    """The file as a whole cannot be used."""


def _read(path: Path | Traversable) -> bytes:
    try:
        if not path.is_file():
            raise _FileFaultError("there is no such file")
        with path.open("rb") as stream:
            return stream.read(MAX_MANIFEST_BYTES + 1)
    except OSError as error:
        raise _FileFaultError(f"cannot be read: {error.strerror or error}") from None


def _decoded(data: bytes) -> str:
    if len(data) > MAX_MANIFEST_BYTES:
        raise _FileFaultError(f"is larger than {MAX_MANIFEST_BYTES // (1024 * 1024)} MB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _FileFaultError(f"is not UTF-8: {error.reason} at byte {error.start + 1}") from None


def _parse(text: str) -> tuple[Any, list[str]]:
    """Parse JSON strictly; also give the keys that stand twice in one object."""
    repeated_keys: list[str] = []

    def make(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        repeated_keys.extend(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        return dict(pairs)

    try:
        document = json.loads(text, object_pairs_hook=make, parse_constant=refuse_constant, parse_float=finite_float)
        if _SURROGATE_ESCAPE.search(text):
            json.dumps(document, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise _FileFaultError(f"is not valid JSON: {error.msg}, line {error.lineno}, column {error.colno}") from None
    except UnicodeEncodeError as error:
        escape = f"\\u{ord(error.object[error.start]):04x}"
        raise _FileFaultError(f"is not valid JSON: {escape} is half a character (an unpaired surrogate)") from None
    except RecursionError:
        raise _FileFaultError("is nested too deeply") from None
    except ValueError as error:  # a number
        raise _FileFaultError(f"is not valid JSON: {error}") from None
    return document, repeated_keys


TOOL_KEYS = (
    "name",
    "description",
    "parameters",
    "function",
    "required_permissions",
    "timeout_seconds",
    "read_only",
    "idempotent",
    "isolation",
    "asks_itself",
    "is_poll",
    "reads",
    "output_schema",
)
_BEHAVIOUR_KEYS = ("isolation", "asks_itself", "is_poll")
SINGLE_FORM_FUNCTION = "execute"

_FUNCTION = re.compile(
    r"(?:(?P<module>[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*):)?(?P<attribute>[A-Za-z_][A-Za-z0-9_]*)"
)


Report = Callable[..., None]
"""Takes the JSON Pointer of a fault within the entry, what is wrong, and whether something is left out for it."""


class ManifestSource(NamedTuple):
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
    return ManifestTool(definition, target)


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


def _check_reads(value: object) -> str | None:
    if isinstance(value, list) and all(each in ("outside", "private") for each in value):
        return None
    return 'must be a list of what its results hold: "outside", "private" or both'


def _check_isolation(value: object) -> str | None:
    return None if value == "process" else f'must be "process", not {_kind(value)}; leave it out for none'


def _check_boolean(value: object) -> str | None:
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
    "output_schema": _check_parameters,
    "required_permissions": _check_permissions,
    "read_only": _check_boolean,
    "idempotent": _check_boolean,
    "isolation": _check_isolation,
    "asks_itself": _check_boolean,
    "is_poll": _check_boolean,
    "reads": _check_reads,
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
            read_only=values.get("read_only", False),
            idempotent=values.get("idempotent", False),
            reads=tuple(values.get("reads", ())),
            output_schema=values.get("output_schema"),
            behaviour=ToolBehaviour(**{name: values[name] for name in _BEHAVIOUR_KEYS if name in values}),
        )
    except ToolDefinitionError as error:
        report(error.pointer, str(error))
        return None


def _kind(value: object) -> str:
    """Return the JSON type of a value."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    kinds = {dict: "an object", list: "an array", str: "a text", int: "a number", float: "a number"}
    return kinds.get(type(value), f"a {type(value).__name__}")
