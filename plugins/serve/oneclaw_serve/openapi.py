"""The OpenAPI description, made from the routes and their models."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from oneclaw_core import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_serve.endpoint import Endpoint

_ERROR = {
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "properties": {"type": {"type": "string"}, "message": {"type": "string"}},
            "required": ["type", "message"],
        }
    },
    "required": ["error"],
}


def describe(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    """Return the description of all routes as JSON data."""
    schemas: dict[str, Any] = {"Error": _ERROR}
    paths: dict[str, Any] = {}
    for each in endpoints:
        path = re.sub(r"\{(\w+):\w+\}", r"{\1}", each.path)
        paths.setdefault(path, {})[each.method.lower()] = _operation(each, path, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "OneClaw", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "login": {"type": "apiKey", "in": "cookie", "name": "oneclaw_PORT"},
            },
        },
        "security": [{"token": []}, {"login": []}],
    }


def _operation(endpoint: Endpoint, path: str, schemas: dict[str, Any]) -> dict[str, Any]:
    media_type = "text/event-stream" if endpoint.is_stream else "application/json"
    operation: dict[str, Any] = {
        "summary": endpoint.summary,
        "operationId": f"{endpoint.method.lower()}{re.sub(r'[^a-zA-Z0-9]+', '_', path)}",
        "x-oneclaw-scope": endpoint.scope,
        "responses": {
            "2XX": {"description": "done", "content": {media_type: {"schema": {}}}},
            "default": {
                "description": "refused",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
            },
        },
    }
    names = re.findall(r"\{(\w+)\}", path)
    if names:
        operation["parameters"] = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names
        ]
    if endpoint.body is not None:
        schema = endpoint.body.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas.update(schema.pop("$defs", {}))
        schemas[endpoint.body.__name__] = schema
        reference = {"$ref": f"#/components/schemas/{endpoint.body.__name__}"}
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": reference}}}
    if endpoint.scope == "person":
        operation["security"] = [{"login": []}]
    return operation
