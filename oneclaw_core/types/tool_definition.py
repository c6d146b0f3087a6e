"""Tool definitions, and the protocol of a tool."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, runtime_checkable

from oneclaw_core.errors import ToolDefinitionError
from oneclaw_core.types.schema import check_output_schema, check_parameters_schema
from oneclaw_core.types.tools import NAME_PATTERN, ToolResult

if TYPE_CHECKING:
    from collections.abc import Mapping

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
        for attribute, value in (
            ("name", data["name"]),
            ("description", data["description"]),
            ("_text", data["parameters"]),
            ("required_permissions", tuple(data["required_permissions"])),
            ("timeout_seconds", data["timeout_seconds"]),
            ("read_only", data.get("read_only", False)),
            ("idempotent", data.get("idempotent", False)),
            ("reads", tuple(data.get("reads", ()))),
            ("behaviour", behaviour),
            ("output_schema", data.get("output_schema")),
        ):
            object.__setattr__(made, attribute, value)
        return made

    def to_dict(self) -> dict[str, Any]:
        """Return the definition as JSON data, its parameters as JSON text; what it does not declare is left out.

        Raises:
            ValueError, TypeError: JSON cannot hold the parameters.
        """
        return {
            "name": self.name,
            "description": self.description,
            "parameters": self.parameters_text(),
            "required_permissions": list(self.required_permissions),
            "timeout_seconds": self.timeout_seconds,
            **({"read_only": True} if self.read_only else {}),
            **({"idempotent": True} if self.idempotent else {}),
            **({"reads": list(self.reads)} if self.reads else {}),
            **({} if self.output_schema is None else {"output_schema": dict(self.output_schema)}),
        }

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
