"""Functions as tools: their type hints and docstrings as JSON Schemas, and conversion from JSON."""

from __future__ import annotations

import collections.abc
import dataclasses
import inspect
import json
import logging
import re
import sys
import types
import typing
from functools import cache, cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from oneclaw_core.errors import ToolDefinitionError
from oneclaw_core.json_schema.compact import compact_schema, discriminators
from oneclaw_core.json_schema.validation import fault_texts
from oneclaw_core.tools.context import ToolContext
from oneclaw_core.types.arguments import json_pointer
from oneclaw_core.types.tools import ToolResult

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic import TypeAdapter
    from pydantic.fields import FieldInfo
    from typing_extensions import TypeIs


_OTHER_STYLES = re.compile(r"^\s*(?::\w|@\w|---)", re.MULTILINE)
"""Marks of NumPy, Sphinx and Epydoc style."""


def parse_docstring(text: str) -> tuple[str, dict[str, str]]:
    """Parse a docstring in Google, NumPy, Sphinx or Epydoc style.

    Returns:
        The text without its sections, and the descriptions of parameters by name, each on one line.
    """
    import docstring_parser

    try:
        # Trying all styles takes four times as long.
        style = docstring_parser.DocstringStyle
        parsed = docstring_parser.parse(text, style.AUTO if _OTHER_STYLES.search(text) else style.GOOGLE)
    except docstring_parser.ParseError:  # then it is a description without sections
        return inspect.cleandoc(text).strip(), {}
    descriptions = {
        name.strip(): " ".join((each.description or "").split())
        for each in parsed.params
        for name in each.arg_name.split(",")
    }
    return (parsed.description or "").strip(), descriptions


def is_field(value: object) -> TypeIs[FieldInfo]:
    """Return True if a value is pydantic's ``Field(...)``, without importing pydantic."""
    module = sys.modules.get("pydantic.fields")
    return isinstance(value, getattr(module, "FieldInfo", ()))


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """The signature of a function, whether or not the names in its type hints can be resolved.

    Raises:
        ValueError: a builtin that has none.
    """
    if sys.version_info >= (3, 14):
        from annotationlib import Format

        return inspect.signature(function, annotation_format=Format.FORWARDREF)
    return inspect.signature(function)


_BUILTIN_TYPES = {each.__name__: each for each in (str, int, float, bool, list, dict)}


def resolve_hint(hint: Any, function: Callable[..., Any], local_names: Mapping[str, Any]) -> Any:
    """Turn a type hint into the type it means, also when it is written as text.

    Args:
        hint: from the function's signature.
        function: whose module's names the hint may use.
        local_names: further names, such as those of the function around it.

    Raises:
        Exception: whatever evaluating a hint can raise, mostly ``NameError``.
    """
    if type(hint) is type:
        return hint
    module_names = getattr(inspect.unwrap(function), "__globals__", {})
    if isinstance(hint, str) and hint in _BUILTIN_TYPES and hint not in module_names and hint not in local_names:
        return _BUILTIN_TYPES[hint]
    # Linters move an import that only hints use under `if TYPE_CHECKING`; ToolContext must be found nevertheless.
    own_names = {"ToolContext": ToolContext, "oneclaw_core": sys.modules["oneclaw_core"]}
    names = {name: value for name, value in own_names.items() if name not in module_names}
    holder = types.SimpleNamespace(__annotations__={"hint": hint})
    resolved = typing.get_type_hints(holder, module_names, {**names, **local_names}, include_extras=True)
    return resolved["hint"]


def is_context_hint(hint: Any) -> bool:
    """Return True if a resolved hint is ``ToolContext``, plain, optional or annotated."""
    if get_origin(hint) is Annotated:
        return is_context_hint(get_args(hint)[0])
    if get_origin(hint) in (Union, types.UnionType):
        members = [member for member in get_args(hint) if member is not type(None)]
        return len(members) == 1 and is_context_hint(members[0])
    return isinstance(hint, type) and issubclass(hint, ToolContext)


def context_parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of the parameters that take the ``ToolContext``; other hints need not make sense."""
    try:
        parameters = signature_of(function).parameters
    except (TypeError, ValueError):  # a builtin without a signature takes none
        return ()
    return tuple(name for name, each in parameters.items() if _takes_context(each, function))


def _takes_context(parameter: inspect.Parameter, function: Callable[..., Any]) -> bool:
    if parameter.annotation is parameter.empty:
        return False
    try:
        return is_context_hint(resolve_hint(parameter.annotation, function, {}))
    except Exception:  # noqa: BLE001  # a hint is code; one that fails, and is not needed, is not this call's matter
        return False


_REFUSED_KINDS: dict[int, str] = {
    inspect.Parameter.POSITIONAL_ONLY: "it is positional-only, and arguments come by name; remove the '/'",
    inspect.Parameter.VAR_POSITIONAL: "a model cannot be told what '*' takes; use a list",
    inspect.Parameter.VAR_KEYWORD: "a model cannot be told what '**' takes; name the parameters, or use a dict",
}


class FunctionParameters:
    """The parameters of a function, derived from its signature.

    Args:
        function: every parameter needs a type hint.
        tool_name: for messages.
        local_names: names its hints may use beside those of its module.

    Attributes:
        hints: the resolved type hint of each parameter that the model gives.
        context_names: the parameters that take the ``ToolContext``.

    Raises:
        ToolDefinitionError: a parameter is of a kind, or has a type, that cannot be expressed; names it.
    """

    def __init__(self, function: Callable[..., Any], tool_name: str, local_names: Mapping[str, Any]) -> None:
        self._tool_name = tool_name
        self._parameters: dict[str, inspect.Parameter] = {}
        self.hints: dict[str, Any] = {}
        context_names: list[str] = []
        for name, parameter in signature_of(function).parameters.items():
            hint = self._resolve(parameter, function, local_names)
            if is_context_hint(hint):
                context_names.append(name)
            else:
                self.hints[name] = hint
                self._parameters[name] = parameter
        self.context_names = tuple(context_names)
        self._fields = {name: _field(self.hints[name], each) for name, each in self._parameters.items()}
        if not self._is_plain:
            self._adapter  # noqa: B018  # raises what is wrong with a type

    def schema(self, descriptions: Mapping[str, str]) -> dict[str, Any]:
        """The JSON Schema of the arguments.

        Raises:
            ToolDefinitionError: a type has no JSON Schema.
        """
        schema = self._full_schema()
        properties = schema["properties"]
        for name, parameter in self._parameters.items():
            described = properties.get(_json_name(name, self._fields[name]))
            if described is not None:
                if descriptions.get(name):
                    described.setdefault("description", descriptions[name])
                _note_default(described, parameter.default)
        return schema if self._is_plain else compact_schema(schema)

    def convert(self, arguments: Mapping[str, Any]) -> dict[str, Any] | ToolResult:
        """Turn JSON data into the values that the function takes.

        Returns:
            Values by parameter name, or a ``validation_error`` that lists what is wrong, or the first of it.
        """
        from pydantic import ValidationError

        try:
            # As JSON, because types mean something else there: a date is text, a tuple is a list.
            converted: dict[str, Any] = self._adapter.validate_json(json.dumps(arguments))
        except ValidationError as error:
            from oneclaw_core.json_schema.faults import argument_faults_of

            faults = argument_faults_of(error, arguments, self._tags_of)
            text = "\n".join([f"Tool '{self._tool_name}' was called with wrong arguments:", *fault_texts(faults)])
            return ToolResult.error("validation_error", text)
        return converted

    def _resolve(
        self, parameter: inspect.Parameter, function: Callable[..., Any], local_names: Mapping[str, Any]
    ) -> Any:
        fault = _REFUSED_KINDS.get(parameter.kind)
        if fault is not None:
            raise self._error(parameter.name, fault)
        if parameter.annotation is parameter.empty:
            hint = "decorate a function, or the bound method" if parameter.name in ("self", "cls") else "add one"
            raise self._error(parameter.name, f"it has no type hint, so there is no JSON Schema for it; {hint}")
        try:
            return resolve_hint(parameter.annotation, function, local_names)
        except Exception as error:
            raise self._error(
                parameter.name,
                f"its type hint {parameter.annotation!r} cannot be resolved: {error}; "
                "import what it names at module level, outside 'if TYPE_CHECKING'",
            ) from error

    @cached_property
    def _is_plain(self) -> bool:
        return not any(self._fields.values()) and all(map(_is_plain, self.hints.values()))

    def _full_schema(self) -> dict[str, Any]:
        if self._is_plain:
            return self._plain_schema()

        from pydantic.errors import PydanticUserError

        try:
            schema = self._adapter.json_schema()
        except PydanticUserError as error:
            raise self._blame(error, lambda adapter: adapter.json_schema()) from error
        schema.setdefault("properties", {})
        return schema

    def _plain_schema(self) -> dict[str, Any]:
        """Return what the adapter would, without making one: that takes longer than all else about a tool."""
        properties = {name: dict(_schema_of(hint, repr(hint))) for name, hint in self.hints.items()}
        required = [name for name, each in self._parameters.items() if not _is_optional(each, None)]
        more = {"required": required} if required else {}
        return {"additionalProperties": False, "properties": properties, **more, "type": "object"}

    def _tags_of(self, discriminator: str) -> tuple[Any, ...]:
        """Return the values of a discriminator; none if several unions have one of that name."""
        tags = {tuple(tags) for name, tags in discriminators(self._full_schema()) if name == discriminator}
        return tags.pop() if len(tags) == 1 else ()

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        import typing_extensions
        from pydantic import ConfigDict
        from pydantic.errors import PydanticUserError

        # A TypedDict, unlike a model, takes any name: 'schema', 'copy' and '_private' are good parameters.
        make_typed_dict: Any = typing_extensions.TypedDict
        typed_dict = make_typed_dict(
            "Arguments",
            {
                name: typing_extensions.NotRequired[hint] if _is_optional(self._parameters[name], field) else hint
                for name, (hint, field) in self._annotated().items()
            },
        )
        typed_dict.__pydantic_config__ = ConfigDict(extra="forbid")
        try:
            return _adapter_of(typed_dict)
        except (PydanticUserError, TypeError) as error:
            raise self._blame(error, lambda adapter: None) from error

    def _annotated(self) -> dict[str, tuple[Any, FieldInfo | None]]:
        return {
            name: (
                Annotated[self.hints[name], each.default] if is_field(each.default) else self.hints[name],
                self._fields[name],
            )
            for name, each in self._parameters.items()
        }

    def _blame(self, error: Exception, use: Callable[[TypeAdapter[Any]], object]) -> ToolDefinitionError:
        """Find the parameter that pydantic does not like; it says only what is wrong."""
        from pydantic import TypeAdapter
        from pydantic.errors import PydanticUserError

        for name, (hint, _) in self._annotated().items():
            try:
                use(TypeAdapter(hint))
            except (PydanticUserError, TypeError) as fault:
                return self._error(name, f"its type cannot be described as JSON: {_without_advice(hint, fault)}")
        return ToolDefinitionError(
            f"tool {self._tool_name!r}: its parameters cannot be described as JSON: {_first_line(error)}", "/parameters"
        )

    def _error(self, parameter_name: str, fault: str) -> ToolDefinitionError:
        pointer = "/parameters" + json_pointer(["properties", parameter_name])
        return ToolDefinitionError(f"tool {self._tool_name!r}: parameter {parameter_name!r}: {fault}", pointer)


def _is_plain(hint: Any) -> bool:
    """Return True for a type of the language, whose schema depends on nothing else."""
    origin = get_origin(hint)
    if origin in (list, dict, Union, types.UnionType):
        return all(map(_is_plain, get_args(hint)))
    return origin is Literal or hint in (str, int, float, bool, list, dict, Any, type(None))


@cache
def _schema_of(hint: Any, shown: str) -> dict[str, Any]:
    """Return the schema of a plain type.

    Args:
        hint: the type.
        shown: its text: ``int | str`` and ``str | int`` are equal, and their schemas are not.
    """
    # Most tools have these alone, and a listing of them need not import pydantic.
    names = {str: "string", int: "integer", float: "number", bool: "boolean"}
    return {"type": names[hint]} if hint in names else _adapter_of(hint).json_schema()


def _adapter_of(hint: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    try:
        return TypeAdapter(hint)
    except UnicodeDecodeError:
        # The first time, pydantic reads the metadata of all packages, and one of them is damaged.
        return TypeAdapter(hint)


def _field(hint: Any, parameter: inspect.Parameter) -> FieldInfo | None:
    """The ``Field(...)`` of a parameter, written as its default or within ``Annotated``."""
    metadata = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    return next((each for each in (parameter.default, *metadata) if is_field(each)), None)


def _is_optional(parameter: inspect.Parameter, field: FieldInfo | None) -> bool:
    if field is not None and not field.is_required():
        return True
    has_default = parameter.default is not parameter.empty
    return has_default and (field is None or parameter.default is not field)


def _json_name(name: str, field: FieldInfo | None) -> str:
    alias = (field.validation_alias or field.alias) if field is not None else None
    return alias if isinstance(alias, str) else name


def _note_default(described: dict[str, Any], default: Any) -> None:
    """Tell the model a default; for ``None`` it is enough that it can leave the argument out."""
    if default is None or described.get("default", ...) is None:
        described.pop("default", None)
        _leave_out_null(described)
    elif type(default) in (str, int, bool):
        described.setdefault("default", default)
    elif default is not inspect.Parameter.empty and "default" not in described:
        from pydantic_core import to_jsonable_python

        try:
            value = to_jsonable_python(default)
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError, RecursionError):  # it stays a default, only an unspoken one
            return
        described["default"] = value


def _leave_out_null(described: dict[str, Any]) -> None:
    choices = described.get("anyOf", [])
    remaining = [choice for choice in choices if choice != {"type": "null"}]
    if len(remaining) == 1 and isinstance(remaining[0], dict):
        del described["anyOf"]
        for key, value in remaining[0].items():
            described.setdefault(key, value)
    elif choices:
        described["anyOf"] = remaining


def _without_advice(hint: Any, error: Exception) -> str:
    """Say what pydantic finds wrong with a type, but for what it advises authors of models to do about it."""
    if getattr(error, "code", None) not in ("schema-for-unknown-type", "class-not-fully-defined"):
        return _first_line(error)
    name = hint.__qualname__ if isinstance(hint, type) and get_origin(hint) is None else str(hint)
    return f"{name}; use str, int, float, bool, list, dict, Literal, an enum, a dataclass or a pydantic model"


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


_LISTS = (list, tuple, set, frozenset, collections.abc.Sequence, collections.abc.Iterable)

_log = logging.getLogger("oneclaw.tools")


def output_schema_of(
    function: Callable[..., Any], tool_name: str, local_names: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Return the JSON Schema of what a function returns; ``None`` if its return type says too little.

    Args:
        function: of the tool.
        tool_name: for the log.
        local_names: names that its hints may use beside those of its module.
    """
    annotation = signature_of(function).return_annotation
    try:
        hint = resolve_hint(annotation, function, local_names)
    except Exception:  # noqa: BLE001  # a hint is code; this one is not needed to call the tool
        return None
    if not _is_structured(hint):
        return None
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError

    try:
        schema: dict[str, Any] = TypeAdapter(hint).json_schema(mode="serialization")
    except (PydanticUserError, TypeError) as error:
        _log.warning("tool %s: no schema of its results: %s", tool_name, _reason(error))
        return None
    return compact_schema(schema)


def _is_structured(hint: Any) -> bool:
    """Return True for types with named members, for lists of those, and for unions of both."""
    origin = get_origin(hint)
    if origin is Annotated:
        return _is_structured(get_args(hint)[0])
    if origin in (Union, types.UnionType):
        return all(_is_structured(each) for each in get_args(hint) if each is not type(None))
    if origin in _LISTS:
        items = [each for each in get_args(hint) if each is not Ellipsis]
        return bool(items) and all(map(_is_structured, items))
    if not isinstance(hint, type) or issubclass(hint, ToolResult):
        return False
    is_typed_dict = issubclass(hint, dict) and hasattr(hint, "__required_keys__")
    pydantic = sys.modules.get("pydantic")
    is_model = pydantic is not None and issubclass(hint, pydantic.BaseModel)
    return is_typed_dict or is_model or dataclasses.is_dataclass(hint)


def _reason(error: Exception) -> str:
    if getattr(error, "code", None) == "typed-dict-version":
        return "take `TypedDict` from typing_extensions, which works before Python 3.12 too"
    return str(error).strip().partition("\n")[0]
