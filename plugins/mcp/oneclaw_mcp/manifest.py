"""Manifests of servers: the accepted tools, and their differences from the last contact."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from oneclaw_core import OneClawError, ToolDefinition
from oneclaw_core.json_schema import plain_types
from oneclaw_core.tools import ToolBehaviour, ToolDefinitionError, read_private, write_private
from oneclaw_mcp.cleaning import cleaned, dialect_of, read_schema
from oneclaw_mcp.naming import MANIFESTS_FOLDER, colliding, groups_of, permission_name, tool_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from pathlib import Path

    from oneclaw_mcp.servers import Server

_FORMAT = 1
_MAX_BYTES = 64_000_000
MAX_TOOLS = 5_000
MAX_PROMPTS = 200
READ_RESOURCE = "read_resource"
MAX_NAME_CHARACTERS = 256
# What a person has to see again when it changes; the order of tools, icons and the like do not count.
_PINNED = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")

_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


@dataclass(frozen=True, slots=True)
class KnownTool:
    """A tool of a server.

    Attributes:
        wire: its true name.
        name: what models call it by.
        group: its tool group.
        permission: what a call needs.
        description: cleaned.
        parameters: the cleaned schema of its arguments, as JSON text.
        output_schema: the schema of its structured results, ``None`` for none.
        annotations: what the server says of it, such as ``readOnlyHint``.
        digest: of its definition as the server gave it.
        dialect: the ``$schema`` of the schema of its arguments, which models are not shown; ``None`` for none.
        problems: what of that schema is not valid, and is left to the server.
    """

    wire: str
    name: str
    group: str
    permission: str
    description: str
    parameters: str
    output_schema: dict[str, Any] | None
    annotations: dict[str, Any]
    digest: str
    dialect: str | None = None
    problems: tuple[str, ...] = ()

    @property
    def is_read_only(self) -> bool:
        """True if the server says that it changes nothing."""
        return self.annotations.get("readOnlyHint") is True

    @property
    def is_idempotent(self) -> bool:
        """True if the server says that a second call changes nothing more."""
        return self.annotations.get("idempotentHint") is True

    def input_schema(self) -> dict[str, Any]:
        """Return the schema of its arguments for clients, with its dialect."""
        dialect = {"$schema": self.dialect} if self.dialect is not None else {}
        return {**dialect, **json.loads(self.parameters)}

    def served_output_schema(self) -> dict[str, Any] | None:
        """Return the schema of its results for clients, its texts cleaned; ``None`` if the results are no objects."""
        schema = self.output_schema
        if schema is None or schema.get("type", "object") != "object":
            return None
        dialect = dialect_of(schema)
        try:
            readable, _ = read_schema({"type": "object", **schema})
        except (ValueError, RecursionError):
            return None
        return {**({"$schema": dialect} if dialect is not None else {}), **readable}

    def definition(self, server: Server, timeout_seconds: float) -> ToolDefinition:
        """Return the definition for models, which was checked when the tool was accepted."""
        is_trusted_read = server.trusts_annotations and self.is_read_only
        permission = f"mcp.{server.name}.read" if is_trusted_read else self.permission
        return ToolDefinition.stored(
            {
                "name": self.name,
                "description": self.description,
                "parameters": self.parameters,
                "required_permissions": [permission],
                "timeout_seconds": timeout_seconds,
                "read_only": is_trusted_read,
                "idempotent": server.trusts_annotations and self.is_idempotent,
                "reads": ["outside"],
                # Its texts are of the server, and stay out of what models are shown.
                "output_schema": None if self.output_schema is None else plain_types(self.output_schema),
            },
            ToolBehaviour(checked_schema=_checked_schema),
        )


def _checked_schema(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema to check arguments by; the server checks them by its whole schema."""
    from oneclaw_mcp.schemas import checked_schema

    return checked_schema(parameters)


@dataclass(frozen=True, slots=True)
class KnownPrompt:
    """A prompt of a server, which the user picks as a chat command.

    Attributes:
        wire: its true name.
        name: of the command, without the slash.
        description: cleaned.
        arguments: the names of its arguments, those that are required with a ``*`` behind them.
    """

    wire: str
    name: str
    description: str
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Difference:
    """Differences of a server from what was accepted.

    Attributes:
        changed: the tools that are defined otherwise now; they are blocked.
        new: the tools that came; they are off.
        removed: the true names of tools that went.
        instructions: what the server says of itself now; ``None`` if that is the same.
        has_resources: True if it has resources now, False if it has none any more; ``None`` if that is the same.
    """

    changed: tuple[KnownTool, ...] = ()
    new: tuple[KnownTool, ...] = ()
    removed: tuple[str, ...] = ()
    instructions: str | None = None
    has_resources: bool | None = None

    def __bool__(self) -> bool:
        is_described_anew = self.instructions is not None or self.has_resources is not None
        return bool(self.changed or self.new or self.removed or is_described_anew)


@dataclass(frozen=True, slots=True)
class Manifest:
    """The known facts of a server.

    Attributes:
        era: the version of the protocol that it spoke.
        discovered: its answer to ``server/discover``, ``None`` in the old era.
        title: its own name and version, cleaned.
        instructions: for models, cleaned; as they were accepted.
        tools: as they were accepted.
        refused: the tools that cannot be used, with why.
        pending: what has changed since.
        found_at: when it was last seen, in seconds since 1970.
        start_seconds: how long its last start took.
        has_resources: True if it has resources to read.
        address: the command or URL that all of this was found at.
        prompts: for the user.
    """

    era: str
    discovered: dict[str, Any] | None = None
    title: str = ""
    instructions: str = ""
    tools: tuple[KnownTool, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    pending: Difference = Difference()
    found_at: float = 0.0
    start_seconds: float = 0.0
    has_resources: bool = False
    address: str = ""
    prompts: tuple[KnownPrompt, ...] = ()

    def to_json(self) -> bytes:
        """Write it as JSON."""
        return json.dumps({"format": _FORMAT, **asdict(self)}, ensure_ascii=False).encode("utf-8", "replace")

    @classmethod
    def from_json(cls, text: bytes) -> Self:
        """Read what :meth:`to_json` wrote.

        Raises:
            ValueError, LookupError, TypeError: it is damaged.
        """
        document: dict[str, Any] = json.loads(text)
        if document.pop("format") != _FORMAT:
            raise ValueError("another version of OneClaw wrote it")
        pending = document.pop("pending")
        return cls(
            **{
                **document,
                "tools": _tools(document["tools"]),
                "prompts": tuple(
                    KnownPrompt(each["wire"], each["name"], each["description"], tuple(each["arguments"]))
                    for each in document.get("prompts", ())
                ),
                "refused": tuple((name, why) for name, why in document["refused"]),
                "pending": Difference(
                    _tools(pending["changed"]),
                    _tools(pending["new"]),
                    tuple(pending["removed"]),
                    pending.get("instructions"),
                    pending.get("has_resources"),
                ),
            }
        )

    def compared(self, found: Manifest) -> Manifest:
        """Return what is known after another look: what models are shown stays as it was accepted."""
        accepted = {each.wire: each for each in self.tools}
        now = {each.wire: each for each in found.tools}
        pending = Difference(
            tuple(each for each in found.tools if each.wire in accepted and each.digest != accepted[each.wire].digest),
            tuple(each for each in found.tools if each.wire not in accepted),
            tuple(each.wire for each in self.tools if each.wire not in now),
            found.instructions if found.instructions != self.instructions else None,
            found.has_resources if found.has_resources != self.has_resources else None,
        )
        return replace(
            found,
            tools=tuple(_read_anew(each, now.get(each.wire)) for each in self.tools),
            instructions=self.instructions,
            has_resources=self.has_resources,
            pending=pending,
        )

    def outside(self, groups: Collection[str], base: str) -> Manifest:
        """Return the same with the tools whose groups belong to other servers in the group ``base``."""
        tools = (replace(each, group=base) if each.group in groups else each for each in self.tools)
        return replace(self, tools=tuple(tools))

    def accepted(self) -> Manifest:
        """Return what is known once the user has accepted the differences."""
        changed = {each.wire: each for each in self.pending.changed}
        kept = [changed.get(each.wire, each) for each in self.tools if each.wire not in self.pending.removed]
        tools = sorted([*kept, *self.pending.new], key=lambda each: each.name)
        now = self.pending
        return replace(
            self,
            tools=tuple(tools),
            instructions=self.instructions if now.instructions is None else now.instructions,
            has_resources=self.has_resources if now.has_resources is None else now.has_resources,
            pending=Difference(),
        )


class ManifestFolder:
    """The manifests of a home, a file for each server.

    Args:
        folder: of the plugin, in the home.

    Attributes:
        folder: of the files.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder / MANIFESTS_FOLDER

    def path(self, name: str) -> Path:
        """Return the file of a server."""
        return self.folder / f"{name}.json"

    def read(self, server: Server) -> Manifest | None:
        """Return what is known of a server; ``None`` before its first contact, and for another command or URL.

        Raises:
            OneClawError: the file cannot be used, so it is not known what was accepted.
        """
        path = self.path(server.name)
        try:
            text = read_private(path, _MAX_BYTES)
            manifest = None if text is None else Manifest.from_json(text)
        except (ValueError, LookupError, TypeError) as error:
            raise OneClawError(
                f"{path} is damaged ({error}), so its tools are blocked: look at them and accept them with: "
                f"oneclaw mcp check {server.name} --accept"
            ) from None
        return manifest if manifest is not None and manifest.address == server.address else None

    def remove_damaged(self, server: Server) -> None:
        """Forget what was accepted if it cannot be read."""
        try:
            self.read(server)
        except OneClawError:
            self.remove(server.name)

    def write(self, name: str, manifest: Manifest) -> None:
        """Keep what is known of a server.

        Raises:
            OneClawError: the file cannot be written.
        """
        try:
            write_private(self.path(name), manifest.to_json())
        except OSError as error:
            raise OneClawError(f"{self.path(name)} cannot be written: {error.strerror or error}") from None

    def remove(self, name: str) -> None:
        """Forget a server."""
        self.path(name).unlink(missing_ok=True)


def known_tools(
    server: Server, definitions: Iterable[Mapping[str, Any]], before: Manifest | None
) -> tuple[tuple[KnownTool, ...], tuple[tuple[str, str], ...]]:
    """Make tools of the definitions of a server, as it sends them.

    Args:
        server: the server.
        definitions: of all its tools, with the names of the wire.
        before: what is known of it; groups, names and permissions stay.

    Returns:
        The tools, in the order of their names, and those that cannot be used with the reason.
    """
    by_name: dict[str, Mapping[str, Any]] = {}
    refused: dict[str, str] = {}
    for definition in definitions:
        if not isinstance(definition, dict):
            refused["(no name)"] = "it is not the definition of a tool"
            continue
        name = definition.get("name")
        if isinstance(name, str) and not server.uses(name):
            continue
        if not isinstance(name, str) or not name or len(name) > MAX_NAME_CHARACTERS or cleaned(name) != name:
            shown = cleaned(name, 100) if isinstance(name, str) else ""
            refused[shown or "(no name)"] = "its name cannot be used"
        elif name in by_name:
            if by_name[name] != definition:
                refused[name] = "the server has two tools of this name"
        else:
            by_name[name] = definition
    for shared, names in colliding(server.name, list(by_name)).items():
        refused |= dict.fromkeys(names, f"{' and '.join(names)} would both be called {shared}")
    for name in [*by_name][MAX_TOOLS:]:
        refused[name] = f"the server has more than {MAX_TOOLS:,} tools"
    usable = [name for name in by_name if name not in refused]
    known = {each.wire: each for each in (*before.tools, *before.pending.new)} if before is not None else {}
    groups = groups_of(server.name, usable, server.parts, {name: each.group for name, each in known.items()})
    permissions = {name: each.permission for name, each in known.items()}
    tools = []
    for name in sorted(usable):
        if name not in permissions:
            permissions[name] = permission_name(server.name, name, permissions.values())
        try:
            tools.append(_known_tool(server, by_name[name], groups[name], permissions[name]))
        except (ValueError, RecursionError, ToolDefinitionError) as error:
            refused[name] = cleaned(str(error), 300)
    return tuple(sorted(tools, key=lambda each: each.name)), tuple(sorted(refused.items()))


def _known_tool(server: Server, definition: Mapping[str, Any], group: str, permission: str) -> KnownTool:
    wire = definition["name"]
    annotations = definition.get("annotations")
    annotations = annotations if isinstance(annotations, dict) else {}
    title = cleaned(definition.get("title"), 200) or cleaned(annotations.get("title"), 200)
    description = cleaned(definition.get("description")) or title or f"{wire} of {server.name}"
    parameters, problems = read_schema(definition.get("inputSchema"))
    output = _usable_output(definition.get("outputSchema"))
    # With the schema, which is valid but for patterns of other engines, what ToolDefinition.stored takes for granted.
    ToolDefinition(tool_name(server.name, wire), description)
    return KnownTool(
        wire,
        tool_name(server.name, wire),
        group,
        permission,
        f"{description}\n[From the MCP server {server.name}, not from OneClaw or the user]",
        json.dumps(parameters, ensure_ascii=False, separators=(",", ":")),
        output,
        {name: annotations[name] for name in _HINTS if isinstance(annotations.get(name), bool)},
        digest_of(definition),
        dialect_of(definition.get("inputSchema")),
        tuple(problems),
    )


def _read_anew(accepted: KnownTool, found: KnownTool | None) -> KnownTool:
    """Return a tool with its schemas as they are read now; another version of OneClaw may have read them otherwise."""
    if found is None or found.digest != accepted.digest:
        return accepted
    return replace(
        accepted,
        parameters=found.parameters,
        output_schema=found.output_schema,
        dialect=found.dialect,
        problems=found.problems,
    )


def _usable_output(schema: object) -> dict[str, Any] | None:
    """Return a schema of results, without which they are not checked, if it is neither too long nor too deep."""
    try:
        read_schema(schema, is_of_object=False)
    except (ValueError, RecursionError, TypeError):
        return None
    return schema if isinstance(schema, dict) else None


def known_prompts(server: str, definitions: Iterable[Mapping[str, Any]]) -> tuple[KnownPrompt, ...]:
    """Make commands of the prompts of a server, as it sends them; those that cannot be used are left out."""
    found: dict[str, KnownPrompt] = {}
    for each in definitions:
        wire, arguments = each.get("name"), each.get("arguments") or []
        if not isinstance(wire, str) or not wire or len(found) >= MAX_PROMPTS:
            continue
        name = tool_name(server, wire)
        names = tuple(
            f"{cleaned(argument['name'], 60)}{'*' if argument.get('required') else ''}"
            for argument in arguments
            if isinstance(argument, dict) and isinstance(argument.get("name"), str)
        )
        found.setdefault(name, KnownPrompt(wire, name, cleaned(each.get("description"), 200), names))
    return tuple(found[name] for name in sorted(found))


def read_resource_tool(server: Server, manifest: Manifest) -> KnownTool | None:
    """Return the tool that reads the resources of a server; ``None`` if it has none, or a tool of that name."""
    if not manifest.has_resources or any(each.wire == READ_RESOURCE for each in manifest.tools):
        return None
    parameters = {
        "type": "object",
        "properties": {"uri": {"type": "string", "description": "The resource; without it, the resources are listed"}},
    }
    return KnownTool(
        READ_RESOURCE,
        tool_name(server.name, READ_RESOURCE),
        server.group,
        f"mcp.{server.name}.{READ_RESOURCE}",
        f"Read a resource of the MCP server {server.name} by its URI, or list its resources.",
        json.dumps(parameters),
        None,
        {"readOnlyHint": True},
        "",
    )


def digest_of(definition: Mapping[str, Any]) -> str:
    """Return the hash of what a person accepts in a definition."""
    pinned = {name: definition[name] for name in _PINNED if definition.get(name) is not None}
    annotations = pinned.get("annotations")
    if isinstance(annotations, dict):
        known = ("title", *_HINTS)
        pinned["annotations"] = {name: annotations[name] for name in known if annotations.get(name) is not None}
    text = json.dumps(pinned, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _tools(stored: Iterable[Mapping[str, Any]]) -> tuple[KnownTool, ...]:
    return tuple(KnownTool(**{**each, "problems": tuple(each.get("problems", ()))}) for each in stored)
