"""Make ``catalogue.zip``, what OneClaw knows of Google's APIs, from their Discovery documents.

Run it with the folder that has the documents, such as that of google-api-python-client::

    python -m oneclaw_google_workspace.google_api.make_catalogue .../googleapiclient/discovery_cache/documents

Methods of all APIs are in ``methods.json``; what their requests and answers consist of, in ``schemas/API.json``, which
is read for a call of the API. The same documents give the same bytes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

DOCUMENTS = {
    "gmail": "gmail.v1",
    "drive": "drive.v3",
    "calendar": "calendar.v3",
    "people": "people.v1",
    "docs": "docs.v1",
    "sheets": "sheets.v4",
    "slides": "slides.v1",
    "forms": "forms.v1",
    "tasks": "tasks.v1",
    "chat": "chat.v1",
    "meet": "meet.v2",
    "keep": "keep.v1",
}
"""By the first word of the ids of an API's methods, the name of its document."""

CATALOGUE = Path(__file__).with_name("catalogue.zip")

_SCOPE_PREFIX = "https://www.googleapis.com/auth/"
_PARAMETER_KEYS = (
    "type", "format", "location", "required", "repeated", "enum", "minimum", "maximum", "pattern", "description"
)  # fmt: skip
_SCHEMA_KEYS = ("type", "format", "$ref", "enum", "readOnly", "description")
# Everybody may leave these out, and few have a use for them.
_EARLIEST = (1980, 1, 1, 0, 0, 0)


def catalogue_of(document: Mapping[str, Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Take what OneClaw uses out of a Discovery document.

    Args:
        document: as Google publishes it.

    Returns:
        The methods, and the schemas by name.
    """
    base = f"/{document['servicePath']}"
    methods = [_method(base, each) for each in _methods(document)]
    return methods, {name: _schema(each) for name, each in document["schemas"].items()}


def write_catalogue(folder: Path, target: Path = CATALOGUE) -> None:
    """Write the catalogue.

    Args:
        folder: with the documents.
        target: the file to write.
    """
    methods: list[dict[str, Any]] = []
    revisions: dict[str, str] = {}
    schemas: dict[str, dict[str, Any]] = {}
    for api, name in DOCUMENTS.items():
        document = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        revisions[api] = document["revision"]
        found, schemas[api] = catalogue_of(document)
        methods += found
    with ZipFile(target, "w") as archive:
        _write(archive, "methods.json", {"revisions": revisions, "methods": methods})
        for api, each in schemas.items():
            _write(archive, f"schemas/{api}.json", each)


def _methods(resource: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield from resource.get("methods", {}).values()
    for each in resource.get("resources", {}).values():
        yield from _methods(each)


def _method(base: str, raw: Mapping[str, Any]) -> dict[str, Any]:
    made = {
        "id": raw["id"],
        "verb": raw["httpMethod"],
        "path": base + raw["path"],
        "description": _one_line(raw["description"]),
        "parameters": {
            name: _picked(each, _PARAMETER_KEYS)
            for name, each in raw.get("parameters", {}).items()
            if not each.get("deprecated") or each.get("required")
        },
        "request": raw.get("request", {}).get("$ref"),
        "response": raw.get("response", {}).get("$ref"),
        "scopes": [each.removeprefix(_SCOPE_PREFIX) for each in raw["scopes"]],
        "takes_file": bool(raw.get("mediaUpload")),
        "gives_file": bool(raw.get("supportsMediaDownload")),
    }
    return {name: value for name, value in made.items() if value}


def _schema(raw: Mapping[str, Any]) -> dict[str, Any]:
    made = _picked(raw, _SCHEMA_KEYS)
    if "properties" in raw:
        made["properties"] = {name: _schema(each) for name, each in raw["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(raw.get(key), dict):
            made[key] = _schema(raw[key])
    return made


def _picked(raw: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    picked = {key: raw[key] for key in keys if key in raw}
    if "description" in picked:
        picked["description"] = _one_line(picked["description"])
    return picked


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _write(archive: ZipFile, name: str, value: object) -> None:
    entry = ZipInfo(name, _EARLIEST)
    entry.compress_type = ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    content = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    archive.writestr(entry, content, compresslevel=9)


if __name__ == "__main__":
    write_catalogue(Path(sys.argv[1]))
