"""Manifests of the user's tools. Homes of version 0.1 may hold keys that manifests do not have any more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_core.manifests import parse_json, parse_manifest

if TYPE_CHECKING:
    from oneclaw_core.manifests import Manifest

TOOLS_KEY = "tools"
_CURRENT_KEYS = {"requiredPermissions": "required_permissions", "timeoutSeconds": "timeout_seconds"}


def parse_user_manifest(content: bytes, file_name: str, *, default_module: str) -> Manifest:
    """Read the content of a manifest, with the keys of today or those of version 0.1.

    Args:
        content: JSON in UTF-8.
        file_name: with ``.json``.
        default_module: where functions that are named without a module are found.
    """
    return parse_manifest(content, file_name, default_module=default_module, rewrite=_of_core)


def declared_tools(content: bytes) -> dict[str, tuple[str, ...]]:
    """Return the tools that the code of each tool calls, which its manifest names under ``tools``.

    Args:
        content: of a manifest that can be read.
    """
    document = with_current_keys(parse_json(content))
    entries = document if isinstance(document, list) else [document]
    found = {}
    for entry in entries:
        names = entry.get(TOOLS_KEY) if isinstance(entry, dict) else None
        if isinstance(names, list) and isinstance(entry.get("name"), str):
            found[entry["name"]] = tuple(each for each in names if isinstance(each, str))
    return found


def _of_core(document: Any) -> Any:
    """Return a manifest as the core reads it, which does not know what code calls."""
    document = with_current_keys(document)
    if isinstance(document, list):
        return [_of_core(entry) for entry in document]
    return (
        {key: value for key, value in document.items() if key != TOOLS_KEY} if isinstance(document, dict) else document
    )


def with_current_keys(document: Any) -> Any:
    """Rename the keys of version 0.1 in a manifest; where both are given, the one of today counts."""
    if isinstance(document, list):
        return [with_current_keys(entry) for entry in document]
    if not isinstance(document, dict):
        return document
    return {
        _CURRENT_KEYS.get(key, key): value for key, value in document.items() if _CURRENT_KEYS.get(key) not in document
    }
