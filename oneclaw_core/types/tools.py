"""Tools: which an agent may have, where one comes from, its definition, and what comes back from it."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self, runtime_checkable

from oneclaw_core.errors import ToolDefinitionError
from oneclaw_core.types.schema import check_output_schema, check_parameters_schema
from oneclaw_core.types.text import shown_part

if TYPE_CHECKING:
    from oneclaw_core.types.messages import Attachment

EVERYTHING = "*"

# What OpenAI (Chat and Responses), Anthropic and Gemini all accept, one character to spare.
NAME_PATTERN = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,62}")


@dataclass(frozen=True, slots=True)  # a key of caches, hashed in each turn
class ToolSelection:
    """The names of the tools an agent may have; they need not be installed.

    Attributes:
        tools: core tools, and single tools of groups; ``None`` for all core tools.
        groups: tool groups, each with all its tools; ``None`` for all groups.
        within: a selection that must also allow a tool; ``None`` if there is none.
    """

    tools: frozenset[str] | None = None
    groups: frozenset[str] | None = None
    within: ToolSelection | None = None

    @classmethod
    def naming(cls, tools: Iterable[str] | None = None, groups: Iterable[str] | None = None) -> ToolSelection:
        """Make a selection of names: what is not named is not in it.

        Args:
            tools: names of tools, or ``*`` for all core tools.
            groups: names of tool groups, or ``*`` for all.

        Returns:
            Everything, if neither is given; if one is given, nothing of the other.
        """
        if tools is None and groups is None:
            return cls()
        return cls(_named(tools), _named(groups))

    @property
    def is_everything(self) -> bool:
        """True if every tool is in it, also those that are not installed yet."""
        return self.tools is None and self.groups is None and (self.within is None or self.within.is_everything)

    def allows(self, tool_name: str, group_name: str | None) -> bool:
        """Return True if a tool is in it.

        Args:
            tool_name: the tool.
            group_name: the tool group it belongs to, ``None`` for a core tool.
        """
        wholes = self.tools if group_name is None else self.groups
        is_in = wholes is None or (group_name is not None and group_name in wholes)
        if not is_in:
            is_in = self.tools is not None and tool_name in self.tools
        return is_in and (self.within is None or self.within.allows(tool_name, group_name))

    def allows_whole_group(self, name: str) -> bool:
        """Return True if all tools of a group are in it, whichever these are."""
        is_in = self.groups is None or name in self.groups
        return is_in and (self.within is None or self.within.allows_whole_group(name))

    def narrowed_to(self, outer: ToolSelection) -> ToolSelection:
        """The tools that are both in this selection and in another."""
        if outer.is_everything or outer == self:
            return self
        if self.is_everything:
            return outer
        return replace(self, within=outer if self.within is None else self.within.narrowed_to(outer))


ALL_TOOLS = ToolSelection()


def _named(names: Iterable[str] | None) -> frozenset[str] | None:
    named = frozenset(names or ())
    return None if EVERYTHING in named else named


# What is kept of one result; a tool that says more has gone astray, or should write a file.
MAX_KEPT_CHARACTERS = 10_000_000


class ToolResultStatus(StrEnum):
    """Outcome of a tool call."""

    SUCCESS = "success"
    ERROR = "error"


# Of the text of one file, before or after, and of all changes of a result.
MAX_CHANGED_FILE_CHARACTERS = 400_000
MAX_CHANGED_CHARACTERS = 2_000_000


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file that a tool has changed, for programs that show it, such as editors; no model is sent it.

    Attributes:
        path: absolute.
        before: its text before the change; ``None`` if there was no file.
        after: its text after the change; ``None`` if there is no file any more.
        is_whole: False if its texts are left out, as those of files that are long or no text: then both are empty, or
            ``None`` as above.
    """

    path: str
    before: str | None
    after: str | None
    is_whole: bool = True

    @property
    def size(self) -> int:
        """The length of its texts in characters."""
        return len(self.before or "") + len(self.after or "")

    def without_texts(self) -> FileChange:
        """Return the same change without the texts."""
        before, after = (None if text is None else "" for text in (self.before, self.after))
        return FileChange(self.path, before, after, is_whole=False)


def of_shown_size(changes: Iterable[FileChange]) -> tuple[FileChange, ...]:
    """Leave out texts of changes that are longer than any program shows."""
    kept, total = [], 0
    for each in changes:
        is_long = max(len(each.before or ""), len(each.after or "")) > MAX_CHANGED_FILE_CHARACTERS
        if is_long or total + each.size > MAX_CHANGED_CHARACTERS:
            kept.append(each.without_texts())
        else:
            total += each.size
            kept.append(each)
    return tuple(kept)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """Result of a tool: a value, or an error the model can act on (FEAT-004, "Tool Result Format").

    Made by :meth:`success` and :meth:`error`.

    Attributes:
        status: success or error.
        result: the value of a success, text or anything that JSON can hold.
        error_type: of an error, such as ``validation_error``.
        error_message: of an error, a sentence for the model.
        attachments: images or documents for the model to look at, where it can, and files for the user, with
            ``is_for_user``.
        loads_groups: tool groups that the turn loads after this call, as if the model had called ``load_tool_group``.
        shown: a text for people in a chat, below the line of the call; the model does not see it.
        changes: the files that the tool has changed, for programs that show them; not stored.
    """

    status: ToolResultStatus
    result: Any = None
    error_type: str | None = None
    error_message: str | None = None
    attachments: tuple[Attachment, ...] = ()
    loads_groups: tuple[str, ...] = ()
    shown: str = ""
    changes: tuple[FileChange, ...] = ()

    @classmethod
    def success(
        cls,
        value: Any = "",
        attachments: tuple[Attachment, ...] = (),
        *,
        loads_groups: tuple[str, ...] = (),
        shown: str = "",
        changes: tuple[FileChange, ...] = (),
    ) -> ToolResult:
        """Make the result of a tool that did what it was asked.

        Args:
            value: text, or anything that JSON can hold.
            attachments: images or documents for the model to look at, and files for the user, with
                ``is_for_user``.
            loads_groups: tool groups to load after this call, since what was asked for needs them.
            shown: a text for people in a chat.
            changes: the files that it has changed.
        """
        return cls(
            ToolResultStatus.SUCCESS,
            result=value,
            attachments=attachments,
            loads_groups=loads_groups,
            shown=shown,
            changes=changes,
        )

    @classmethod
    def error(cls, error_type: str, message: str) -> ToolResult:
        """Make the result of a tool that could not do what it was asked.

        Args:
            error_type: ``validation_error``, ``permission_denied``, ``timeout``, ``execution_error``, or a word of
                the tool's own in snake_case.
            message: what is wrong and what the model can do about it.
        """
        return cls(ToolResultStatus.ERROR, error_type=error_type, error_message=message)

    @property
    def is_success(self) -> bool:
        """True if the tool did what it was asked."""
        return self.status is ToolResultStatus.SUCCESS

    def text(self) -> str:
        """The value or the error message as text; structured values as JSON without blanks between the parts."""
        if not self.is_success:
            return self.error_message or ""
        if isinstance(self.result, str):
            return self.result
        return json.dumps(self.result, ensure_ascii=False, separators=(",", ":"))

    def to_dict(self) -> dict[str, Any]:
        """The result in the one format that every provider's wire format is made from."""
        if self.is_success:
            return {"status": str(self.status), "result": self.result}
        return {"status": str(self.status), "error_type": self.error_type, "message": self.error_message}


def of_kept_size(result: ToolResult) -> ToolResult:
    """Cut what a tool says if it is more than any history can hold; all of it is stored, and no model reads so much.

    Args:
        result: of which structured values are left as they are.

    Returns:
        The same, its text or error message cut with a note.
    """
    if isinstance(result.error_message, str) and len(result.error_message) > MAX_KEPT_CHARACTERS:
        return replace(result, error_message=shown_part(result.error_message, MAX_KEPT_CHARACTERS))
    if isinstance(result.result, str) and len(result.result) > MAX_KEPT_CHARACTERS:
        return replace(result, result=shown_part(result.result, MAX_KEPT_CHARACTERS))
    return result


class ToolSourceType(StrEnum):
    """The origin of a tool."""

    BUILTIN = "builtin"
    TOOL_GROUP = "tool_group"
    JS_EXTENSION = "js_extension"
    PLUGIN = "plugin"


@dataclass(frozen=True, slots=True)
class ToolSourceInfo:
    """The source of a tool.

    Attributes:
        type: how it came to be.
        group_name: the tool group it belongs to, ``None`` for a core tool.
        plugin: the plugin that registered it.
        distribution: the installed package of that plugin, with its version.
        is_bound_to_source: True if a tool source published it, and it runs on the same event loop as that.
        is_supplied: True if a tool source published it, independent of its author.
    """

    BUILTIN: ClassVar[ToolSourceInfo]

    type: ToolSourceType
    group_name: str | None = None
    plugin: str | None = None
    distribution: str | None = None
    is_bound_to_source: bool = False
    is_supplied: bool = False

    @property
    def is_foreign(self) -> bool:
        """True if a tool source supplies it, such as a server, and it is none of the user's own tools."""
        return self.is_supplied and self.type is not ToolSourceType.JS_EXTENSION


ToolSourceInfo.BUILTIN = ToolSourceInfo(ToolSourceType.BUILTIN)


MAX_TIMEOUT_SECONDS = 24 * 3600


class _StoredParameters:
    """Parameters as JSON text, which are parsed when they are first used."""

    __slots__ = ("__weakref__", "_text")

    def __getattr__(self, name: str) -> Any:
        # Called for an attribute that is not set: of a definition, only parameters that are still text.
        if name != "parameters":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        parameters = json.loads(object.__getattribute__(self, "_text"))
        object.__setattr__(self, name, parameters)
        return parameters


@dataclass(frozen=True, slots=True)
class ToolBehaviour:
    """The ways in which a tool departs from others.

    Attributes:
        asks_itself: True if it asks for the permissions that it requires, when it knows what it is about to do; the
            executor then refuses only what is denied permanently.
        checks_own_arguments: True if the executor leaves the arguments to the tool.
        is_poll: True if it is called again and again until its outcome changes.
        isolation: ``"process"`` if it runs in a separate process.
        checked_schema: makes, of the parameters, the schema that arguments are checked by; ``None`` for the parameters.
    """

    asks_itself: bool = False
    checks_own_arguments: bool = False
    is_poll: bool = False
    isolation: Literal["process"] | None = None
    checked_schema: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None


PLAIN_BEHAVIOUR = ToolBehaviour()


@dataclass(frozen=True, slots=True)
class ToolDefinition(_StoredParameters):
    """The definition of a tool: its description for the model and data for the executor (FEAT-004).

    Attributes:
        name: unique, in snake_case; 1 to 63 letters, digits, ``_`` and ``-``, which every provider accepts.
        description: what the tool does and when to use it.
        parameters: JSON Schema (draft 2020-12) of the arguments; ``type`` is ``object`` and may be left out.
        required_permissions: permissions checked before every run, such as ``files.write``.
        timeout_seconds: how long one run may take.
        read_only: True if a call changes nothing outside OneClaw, so that it can be repeated at any time.
        idempotent: True if running the same call again changes nothing more than running it once.
        reads: what its results hold: ``outside`` for texts that others wrote, ``private`` for data of the user.
        behaviour: how it departs from other tools; models are not sent it.
        output_schema: JSON Schema of the value of a successful result, for scripts and for clients; ``None`` if it can
            be anything.

    Raises:
        ToolDefinitionError: a value is not acceptable; the message says which and why.
    """

    name: str
    description: str
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})
    required_permissions: tuple[str, ...] = ()
    timeout_seconds: float = 30
    read_only: bool = False
    idempotent: bool = False
    reads: tuple[str, ...] = ()
    behaviour: ToolBehaviour = field(default=PLAIN_BEHAVIOUR, compare=False)
    output_schema: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        check_name(self.name, "tool")
        if not isinstance(self.description, str) or not self.description.strip():
            raise ToolDefinitionError(
                f"tool {self.name!r} needs a description: it is how a model decides to use the tool", "/description"
            )
        if isinstance(self.parameters, dict) and "type" not in self.parameters:
            object.__setattr__(self, "parameters", {"type": "object", **self.parameters})
        check_parameters_schema(self.name, self.parameters)
        if self.required_permissions != ():
            self._check_permissions()
        seconds = self.timeout_seconds
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds <= MAX_TIMEOUT_SECONDS:
            raise ToolDefinitionError(
                f"tool {self.name!r}: timeout_seconds must be a number above 0 and at most {MAX_TIMEOUT_SECONDS}, "
                f"not {seconds!r}",
                "/timeout_seconds",
            )
        for name in ("read_only", "idempotent"):
            value = getattr(self, name)
            if not isinstance(value, bool):
                raise ToolDefinitionError(
                    f"tool {self.name!r}: {name} must be true or false, not {value!r}", f"/{name}"
                )
        if self.reads != ():
            self._check_reads()
        if self.output_schema is not None:
            check_output_schema(self.name, self.output_schema)

    @property
    def is_repeatable(self) -> bool:
        """True if a call whose outcome is unknown can be run again without asking."""
        return self.read_only or self.idempotent

    @classmethod
    def stored(cls, data: Mapping[str, Any], behaviour: ToolBehaviour = PLAIN_BEHAVIOUR) -> Self:
        """Make a definition of what :meth:`to_dict` returned; it was checked before.

        Args:
            data: the parameters in it are parsed when they are first used.
            behaviour: of the tool, which is stored apart.

        Raises:
            KeyError: a part is missing.
        """
        made = object.__new__(cls)
        optional = {"read_only": False, "idempotent": False, "reads": (), "output_schema": None}
        values = {**optional, **data, "behaviour": behaviour}
        values |= {each: tuple(values[each]) for each in ("required_permissions", "reads")}
        values["_text"] = values.pop("parameters")
        for name in _STORED:
            object.__setattr__(made, name, values[name])
        return made

    def to_dict(self) -> dict[str, Any]:
        """Return the definition as JSON data, its parameters as JSON text; what it does not declare is left out.

        Raises:
            ValueError, TypeError: JSON cannot hold the parameters.
        """
        document = {
            "name": self.name,
            "description": self.description,
            "parameters": self.parameters_text(),
            "required_permissions": list(self.required_permissions),
            "timeout_seconds": self.timeout_seconds,
        }
        declared = {"read_only": self.read_only, "idempotent": self.idempotent, "reads": list(self.reads)}
        document |= {name: value for name, value in declared.items() if value}
        return document if self.output_schema is None else document | {"output_schema": dict(self.output_schema)}

    def parameters_text(self) -> str:
        """Return the parameters as JSON text.

        Raises:
            ValueError, TypeError: JSON cannot hold them.
        """
        try:
            return str(object.__getattribute__(self, "_text"))
        except AttributeError:
            return json.dumps(self.parameters, ensure_ascii=False, allow_nan=False, separators=(",", ":"))

    def _check_permissions(self) -> None:
        permissions = self.required_permissions
        if not isinstance(permissions, list | tuple) or not all(isinstance(each, str) and each for each in permissions):
            raise ToolDefinitionError(
                f"tool {self.name!r}: required_permissions must be a list of permission names", "/required_permissions"
            )
        object.__setattr__(self, "required_permissions", tuple(permissions))

    def _check_reads(self) -> None:
        reads = self.reads
        if not isinstance(reads, list | tuple) or not all(each in ("outside", "private") for each in reads):
            raise ToolDefinitionError(
                f'tool {self.name!r}: reads must be a list of "outside" and "private", not {reads!r}', "/reads"
            )
        object.__setattr__(self, "reads", tuple(reads))


_STORED = ("_text", *(each.name for each in fields(ToolDefinition) if each.name != "parameters"))


def check_name(name: object, what: str) -> None:
    """Refuse a tool or group name that some provider would refuse.

    Raises:
        ToolDefinitionError: with the rule that the name breaks.
    """
    if not isinstance(name, str) or not NAME_PATTERN.fullmatch(name):
        raise ToolDefinitionError(
            f"{what} name {name!r} is not acceptable: use 1 to 63 letters, digits, '_' or '-', "
            "beginning with a letter or '_'",
            "/name",
        )


class SelfRunningTool:
    """Base of tools that arrange by themselves where their code runs: on an event loop, in a thread or in a process."""

    __slots__ = ()


@runtime_checkable
class Tool(Protocol):
    """Something the model can call.

    Functions become tools by :func:`oneclaw_core.tool`; this is what they become, and what an author may write by
    hand where a function is not enough.
    """

    @property
    def definition(self) -> ToolDefinition:
        """The tool definition that models are sent."""
        ...

    async def execute(self, arguments: dict[str, Any], context: Any) -> ToolResult:
        """Run the tool.

        Args:
            arguments: checked against the definition's schema; a null for an optional parameter is left out.
            context: the :class:`~oneclaw_core.ToolContext` of this one call. Annotated loosely here, since it leads to
                the services of the home, and these to tools.

        Raises:
            Exception: anything; the executor turns it into an ``execution_error``.
        """
        ...


Act = Callable[[dict[str, Any], Any], Awaitable[ToolResult]]
"""Does what a tool does, in another form, with the arguments of a call of that tool and the context of the call."""
