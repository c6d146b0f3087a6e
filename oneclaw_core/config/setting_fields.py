"""Settings as data, made of the JSON Schema of a pydantic model, which need not be imported for it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from oneclaw_core.errors import PluginError
from oneclaw_core.plugins.plugin import MAX_TIMEOUT_SECONDS
from oneclaw_core.shipped.missing import EARLIER_KEYS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic import BaseModel


ENVIRONMENT_PREFIX = "ONECLAW_"
CORE_DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {
        "model": None,
        "disabled_plugins": (),
        "reviewed_plugins_only": False,
        "plugin_order": (),
        "hook_timeouts": (),
        "provider_concurrency": {},
        "turn_deadline_seconds": 3600.0,
        "turn_max_tool_rounds": 200,
        "turn_max_tokens": 2_000_000,
        "turn_max_cost": None,
        "day_max_tokens": None,
        "day_max_cost": None,
        "tool_result_max_characters": 30_000,
        "history_max_characters": 400_000,
        "session_wait_seconds": 60.0,
        "free_requests": 200,
        "sandbox": "auto",
    }
)
"""OneClaw's own settings with their defaults, told without importing pydantic; a test compares them with the model."""

_FLAGS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


@dataclass(frozen=True, slots=True)
class SettingField:
    """One setting.

    Attributes:
        name: of the model's field.
        key: what ``oneclaw config set`` takes: the name, ``PLUGIN.FIELD``, or what the plugin registered.
        variable: the environment variable that goes before a stored value.
        schema: JSON Schema of its values.
        default: as JSON data; ``None`` if the field is required.
        aliases: keys that earlier versions stored the value under.
        is_secret: True if the value is kept in the secret store.
        is_required: True if there is no default.
    """

    name: str
    key: str
    variable: str
    schema: Mapping[str, Any] = field(default_factory=dict)
    default: Any = None
    aliases: tuple[str, ...] = ()
    is_secret: bool = False
    is_required: bool = False

    @property
    def is_user_only(self) -> bool:
        """True if no tool may change it: ``json_schema_extra={"user_only": True}``."""
        return self.schema.get("user_only") is True

    @property
    def description(self) -> str:
        """The meaning, one line."""
        return " ".join(str(self.schema.get("description") or "").split())

    def parse(self, text: str) -> Any:
        """Read a value as a user writes it, by the field's type; a text of no such form stays one.

        Lists are JSON, or parts with commas between them; other structures are JSON, those of any names also
        ``NAME=VALUE,NAME=VALUE``.
        """
        try:
            return _parsed(text, self.schema, self.schema.get("$defs", {}))
        except (ValueError, RecursionError):
            return text


def variable_of(key: str) -> str:
    """Return the name of a setting's environment variable."""
    return ENVIRONMENT_PREFIX + re.sub(r"[^A-Z0-9]", "_", key.upper())


def secret_key(plugin: str, name: str) -> str:
    """Return the name under which a plugin's secret is stored; no two plugins share one."""
    return f"{plugin.replace('.', '%2E')}.{name}"


def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """Describe a model's fields as JSON data.

    Returns:
        ``schema``, the JSON Schema by the names of the fields, and ``aliases``, other names of them.

    Raises:
        pydantic.PydanticUserError: a field has no JSON Schema.
        PluginError: a secret is within another value, which is stored in plain text.
    """
    schema = model.model_json_schema(by_alias=False)
    for name, each in schema.get("properties", {}).items():
        if not _is_secret(each) and _holds_secret(each, schema.get("$defs", {})):
            raise PluginError(f"the field {name!r} of {model.__name__} holds a secret: make that a field by itself")
    aliases = {}
    for name, each in model.model_fields.items():
        choices = getattr(each.validation_alias, "choices", [each.validation_alias])
        aliases[name] = [choice for choice in choices if isinstance(choice, str)]
    return {"schema": schema, "aliases": aliases}


def fields_of(described: Mapping[str, Any], owner: str | None = None) -> tuple[SettingField, ...]:
    """Make fields of what :func:`schema_of` returned.

    Args:
        described: a model; ``keys``, if there are any, holds other keys of fields.
        owner: the plugin, ``None`` for OneClaw's own settings.
    """
    schema, prefix = described["schema"], f"{owner}." if owner is not None else ""
    definitions = {"$defs": schema["$defs"]} if "$defs" in schema else {}
    required = schema.get("required", ())
    keys = {name: prefix + name for name in schema.get("properties", {})} | described.get("keys", {})
    return tuple(
        SettingField(
            name=name,
            key=keys[name],
            variable=variable_of(keys[name]),
            schema={**each, **definitions},
            default=_default(each),
            aliases=(
                *(prefix + alias for alias in described["aliases"][name]),
                *([EARLIER_KEYS[keys[name]]] if keys[name] in EARLIER_KEYS else ()),
            ),
            is_secret=_is_secret(each),
            is_required=name in required,
        )
        for name, each in schema.get("properties", {}).items()
    )


def _default(schema: Mapping[str, Any]) -> Any:
    default: Any = schema.get("default")
    is_number = schema.get("type") == "number" and isinstance(default, int)
    return float(default) if is_number else default


def _is_secret(schema: Mapping[str, Any]) -> bool:
    if schema.get("writeOnly") and schema.get("format") == "password":
        return True
    return any(_is_secret(branch) for branch in schema.get("anyOf", ()))


def _holds_secret(part: Any, definitions: Mapping[str, Any], seen: frozenset[str] = frozenset()) -> bool:
    if isinstance(part, list):
        return any(_holds_secret(each, definitions, seen) for each in part)
    if not isinstance(part, dict):
        return False
    reference = str(part.get("$ref", "")).rpartition("/")[2]
    if reference in definitions and reference not in seen:
        return _holds_secret(definitions[reference], definitions, seen | {reference})
    return _is_secret(part) or any(_holds_secret(each, definitions, seen) for each in part.values())


def _parsed(text: str, schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Any:
    """Read a text as a value that a schema describes.

    Raises:
        ValueError: it has another form.
    """
    if "$ref" in schema:
        return _parsed(text, definitions.get(str(schema["$ref"]).rpartition("/")[2], {}), definitions)
    for keyword in ("anyOf", "oneOf", "allOf"):
        if keyword in schema:
            return _first_parsed(text, schema[keyword], definitions)
    if "const" in schema or "enum" in schema:
        wanted = [schema["const"]] if "const" in schema else schema["enum"]
        return next((each for each in wanted if each == text or json.dumps(each) == text), text)
    match schema.get("type"):
        case "integer":
            return int(text)
        case "number":
            from oneclaw_core.types.arguments import finite_float  # listings read no numbers

            return finite_float(text)
        case "boolean":
            return _FLAGS.get(text.strip().lower(), text)
        case "array":
            return _list(text, schema, definitions)
        case "object":
            return _object(text, schema, definitions)
        case "null":
            raise ValueError("a text is not null")
    return text


def _first_parsed(text: str, branches: list[Mapping[str, Any]], definitions: Mapping[str, Any]) -> Any:
    # A text fits a branch of texts whatever it says, so that goes last.
    for branch in sorted(branches, key=lambda each: each.get("type") == "string"):
        try:
            value = _parsed(text, branch, definitions)
        except (ValueError, RecursionError):
            continue
        if not isinstance(value, str) or branch.get("type") == "string" or "enum" in branch:
            return value
    return text


def _list(text: str, schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Any:
    if text.lstrip().startswith("["):
        return json.loads(text)
    items: Mapping[str, Any] = schema.get("items") or next(iter(schema.get("prefixItems", ())), {})
    return [_parsed(part, items, definitions) for part in _parts(text)]


def _object(text: str, schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Any:
    values = schema.get("additionalProperties")
    if text.lstrip().startswith("{") or not isinstance(values, dict):
        return json.loads(text)
    pairs = [part.partition("=") for part in _parts(text)]
    if not all(equals for _, equals, _ in pairs):
        raise ValueError("a part without '='")
    return {name.strip(): _parsed(value.strip(), values, definitions) for name, _, value in pairs}


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def read_timeout(text: str) -> tuple[str, float] | None:
    """Read ``NAME=SECONDS``; return ``None`` if it is something else."""
    name, _, number = text.partition("=")
    try:
        seconds = float(number)
    except ValueError:
        return None
    return (name.strip(), seconds) if name.strip() and 0 < seconds <= MAX_TIMEOUT_SECONDS else None


class SettingsModel(NamedTuple):
    """The pydantic model of some settings.

    Attributes:
        plugin: whose settings they are, ``None`` for OneClaw's own.
        fields: of the model.
        load: imports the model; raises ``PluginError`` if that is not possible.
    """

    plugin: str | None
    fields: tuple[SettingField, ...]
    load: Callable[[], type[BaseModel]]
