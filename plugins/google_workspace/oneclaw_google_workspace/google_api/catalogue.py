"""The catalogue of the methods of Google's APIs; ``make_catalogue.py`` makes the data."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

from oneclaw_google_workspace.methods import METHODS, Method

if TYPE_CHECKING:
    from collections.abc import Mapping

Schema = dict[str, Any]
"""A schema as Discovery documents have it: JSON Schema of an early draft, with ``$ref`` to the name of another."""

_SETTINGS = "gmail.users.settings."
_LABELS = "gmail.users.labels."
_SERVICES = {"people": "contacts"}


@dataclass(frozen=True, slots=True)
class ApiMethod:
    """A method as Google describes it.

    Attributes:
        id: such as ``calendar.acl.insert``.
        verb: of HTTP.
        path: below the host, with parameters in braces.
        description: Google's, on one line.
        parameters: of path and query, by name.
        request: name of the body's schema; ``None`` if it takes no body.
        response: name of the answer's schema; ``None`` if it answers nothing, or a file.
        scopes: one of them is enough; without ``https://www.googleapis.com/auth/``.
        takes_file: True if a file can be sent along.
        gives_file: True if it can answer with a file.
    """

    id: str
    verb: str
    path: str
    description: str
    parameters: Mapping[str, Schema]
    request: str | None
    response: str | None
    scopes: tuple[str, ...]
    takes_file: bool
    gives_file: bool

    @property
    def api(self) -> str:
        """The first word of the id."""
        return self.id.partition(".")[0]

    @property
    def service(self) -> str:
        """The service to sign in for; a key of ``SERVICES``."""
        if self.id.startswith(_SETTINGS) or (self.id.startswith(_LABELS) and self.verb != "GET"):
            return "gmail_settings"
        return _SERVICES.get(self.api, self.api)

    @property
    def sentence(self) -> str:
        """The first sentence of the description."""
        return self.description.partition(". ")[0].rstrip(".")

    def as_called(self, *, is_reading: bool) -> Method:
        """Describe it as the client calls it.

        Args:
            is_reading: True if it changes nothing.
        """
        known = METHODS.get(self.id)
        return Method(
            self.id,
            self.verb,
            self.path,
            is_repeatable=is_reading or self.verb != "POST" or (known is not None and known.is_repeatable),
            is_reading=is_reading,
            takes_all_drives="supportsAllDrives" in self.parameters,
        )


@cache
def api_methods() -> Mapping[str, ApiMethod]:
    """Return all methods by id."""
    return MappingProxyType({each["id"]: _method(each) for each in _read("methods.json")["methods"]})


@cache
def schemas_of(api: str) -> Mapping[str, Schema]:
    """Return the schemas of an API by name."""
    return MappingProxyType(_read(f"schemas/{api}.json"))


def resolved(api: str, schema: Schema) -> Schema:
    """Follow a schema that stands for another one."""
    while "$ref" in schema:
        schema = schemas_of(api)[schema["$ref"]]
    return schema


def reader_of(method: ApiMethod) -> str | None:
    """Find the method that shows what another one has changed.

    Args:
        method: that changes something.
    """
    resource = method.id.rpartition(".")[0]
    names = (f"{resource}.get", f"{resource}.list", f"{resource.rpartition('.')[0]}.get")
    return next((name for name in names if name in api_methods()), None)


def _method(raw: Mapping[str, Any]) -> ApiMethod:
    return ApiMethod(
        raw["id"],
        raw["verb"],
        raw["path"],
        raw["description"],
        MappingProxyType(raw.get("parameters", {})),
        raw.get("request"),
        raw.get("response"),
        tuple(raw["scopes"]),
        raw.get("takes_file", False),
        raw.get("gives_file", False),
    )


def _read(name: str) -> Any:
    resource = files(__package__) / "catalogue.zip"
    with resource.open("rb") as stream, ZipFile(stream) as archive:
        return json.loads(archive.read(name))
