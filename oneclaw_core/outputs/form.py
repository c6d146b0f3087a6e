"""The form of an answer: the schema that a model is told, and the check of what it gave. No I/O."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import isroutine
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import ToolDefinitionError, UsageError, describe_error
from oneclaw_core.json_schema.faults import argument_faults_of
from oneclaw_core.json_schema.validation import argument_faults, compile_schema, fault_texts
from oneclaw_core.types.model_requests import Output, OutputSchema
from oneclaw_core.types.schema import check_parameters_schema
from oneclaw_core.types.text import compact_json

if TYPE_CHECKING:
    from pydantic import TypeAdapter

# What stands for a value that is no object, since services and tools want an object.
WRAPPED = "result"
NOT_YET: Any = object()
"""Stands for a part of a value of which nothing has come."""

_FENCES = ("```json", "```JSON", "```")


class OutputFaults(Exception):  # noqa: N818  # it says what is wrong, and is no failure
    """A value is not of the form; the arguments are what is wrong, each with its JSON Pointer."""

    @property
    def faults(self) -> tuple[str, ...]:
        """The faults of the value."""
        return tuple(map(str, self.args))


@dataclass(frozen=True, slots=True)
class OutputForm:
    """The form of an answer.

    Attributes:
        wanted: what the program asked for.
        told: what a model is told; its schema is that of an object.
        is_wrapped: True if the value stands in that object under ``result``.
        validate: makes the value, of the JSON text of the object.
    """

    wanted: Output
    told: OutputSchema
    is_wrapped: bool
    validate: Callable[[str], Any]

    @classmethod
    def of(cls, wanted: object) -> OutputForm:
        """Make the form of what a program wants.

        Args:
            wanted: an ``Output``, a type, or a JSON Schema as a dictionary.

        Raises:
            UsageError: it cannot be described by JSON Schema.
        """
        output = wanted if isinstance(wanted, Output) else Output(wanted)
        make = _of_schema if isinstance(output.type, Mapping) else _of_type
        schema, is_wrapped, validate = make(output.type)
        try:
            check_parameters_schema(output.name, schema)
        except ToolDefinitionError as error:
            raise UsageError(f"the output cannot be asked for: {error}") from error
        description = output.description or str(schema.get("description") or "")
        return cls(output, OutputSchema(output.name, description, schema), is_wrapped, validate)

    def read(self, text: str) -> Any:
        """Return the value in the text of an answer, which may stand in a code fence.

        Raises:
            OutputFaults: it is not of the form.
        """
        written = text.strip()
        for fence in _FENCES:
            if written.startswith(fence) and written.endswith("```") and len(written) > len(fence) + 2:
                written = written.removeprefix(fence).removesuffix("```")
                break
        try:
            document = json.loads(written)
        except (ValueError, RecursionError) as error:
            raise OutputFaults(f"/: it is not JSON alone: {error}") from None
        if self.is_wrapped and not (isinstance(document, dict) and document.keys() == {WRAPPED}):
            document = {WRAPPED: document}  # models forget the wrapping
        return self.accept(document)

    def accept(self, document: Any) -> Any:
        """Return the value of a JSON object.

        Raises:
            OutputFaults: it is not of the form.
        """
        try:
            written = compact_json(document)
        except (ValueError, RecursionError) as error:
            raise OutputFaults(f"/: it cannot be read: {error}") from None
        return self.validate(written)

    def part_of(self, text: str) -> Any:
        """Return the part of a value that has arrived, as unchecked JSON data; :data:`NOT_YET` for nothing."""
        from pydantic_core import from_json

        written = text.lstrip()
        for fence in _FENCES:
            written = written.removeprefix(fence).lstrip()
        if not written:
            return NOT_YET
        try:
            found = from_json(written.removesuffix("```"), allow_partial="trailing-strings")
        except ValueError:
            return NOT_YET
        if not self.is_wrapped:
            return found
        return found[WRAPPED] if isinstance(found, dict) and WRAPPED in found else NOT_YET

    def instruction(self) -> str:
        """Return what tells a model to answer in this form."""
        about = f"{self.told.description}\n" if self.wanted.description else ""
        schema = compact_json(self.told.schema)
        return f"{about}Answer with JSON alone, without any other text. This JSON Schema describes it:\n{schema}"


def _of_type(wanted: Any) -> tuple[dict[str, Any], bool, Callable[[str], Any]]:
    from pydantic import PydanticUserError, TypeAdapter, create_model
    from pydantic_core import SchemaError

    if isroutine(wanted):  # pydantic would call it
        raise UsageError(f"the function {wanted.__name__} cannot be the output: give a type")
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(wanted)
        schema = _with_plain_root(adapter.json_schema())
        is_wrapped = not _is_of_object(schema)
        if is_wrapped:
            adapter = TypeAdapter(create_model("Result", result=(wanted, ...)))
            schema = adapter.json_schema()
            schema.pop("title", None)
    except (PydanticUserError, SchemaError, TypeError, NameError, RecursionError) as error:
        name = getattr(wanted, "__name__", None) or repr(wanted)
        raise UsageError(f"{name[:100]} cannot be the output: {describe_error(error)}") from error

    def validate(text: str) -> Any:
        value = _validated(adapter, text, schema)
        return value.result if is_wrapped else value

    return schema, is_wrapped, validate


def _validated(adapter: TypeAdapter[Any], text: str, schema: Mapping[str, Any]) -> Any:
    from pydantic import ValidationError

    try:
        return adapter.validate_json(text)
    except ValidationError as error:
        found = argument_faults_of(error, json.loads(text), lambda name: _tags(schema, name))
        raise OutputFaults(*fault_texts(found)) from error


def _tags(schema: Mapping[str, Any], name: str) -> list[Any]:
    """Return the values that a discriminator may have."""
    definitions = schema.get("$defs", {})
    found = (each.get("properties", {}).get(name, {}) for each in definitions.values() if isinstance(each, dict))
    return list(dict.fromkeys(each["const"] for each in found if "const" in each))


def _of_schema(wanted: Mapping[str, Any]) -> tuple[dict[str, Any], bool, Callable[[str], Any]]:
    schema = _with_plain_root(dict(wanted))
    is_wrapped = not _is_of_object(schema)
    if is_wrapped:
        definitions: dict[str, Any] = {key: schema.pop(key) for key in ("$defs", "definitions") if key in schema}
        schema = {"type": "object", "properties": {WRAPPED: schema}, "required": [WRAPPED]} | definitions
    validator = compile_schema(schema)

    def validate(text: str) -> Any:
        document = json.loads(text)
        if faults := argument_faults(validator, document):
            raise OutputFaults(*faults)
        return document[WRAPPED] if is_wrapped else document

    return schema, is_wrapped, validate


def _with_plain_root(schema: dict[str, Any]) -> dict[str, Any]:
    """Put the definition that the root refers to in its place."""
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    target = schema.get("$defs", {}).get(name)
    if not isinstance(target, dict):
        return schema
    rest = {key: value for key, value in schema.items() if key != "$ref"}
    made = {**target, **rest}
    if f'"#/$defs/{name}"' not in json.dumps(made["$defs"]):
        made["$defs"] = {key: value for key, value in made["$defs"].items() if key != name}
    return made


def _is_of_object(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") == "object" and schema.keys().isdisjoint({"anyOf", "oneOf", "allOf", "$ref"})
