"""Answers of a server as the SDK takes them: of a list or a result, each part is judged alone.

The SDK refuses a whole answer for one odd part of it. So odd parts are taken out before, for OneClaw to judge.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mcp_types.methods import parse_server_result
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, KNOWN_PROTOCOL_VERSIONS, LATEST_HANDSHAKE_VERSION
from pydantic import ValidationError

from oneclaw_mcp.messages import RAW, VALUE

if TYPE_CHECKING:
    from collections.abc import Iterable

CALL = "tools/call"
_LISTS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
_CAPABILITIES = ("completions", "experimental", "extensions", "logging", "prompts", "resources", "tasks", "tools")
_COMPLETE = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


def usable_result(method: str, version: str, result: Any) -> tuple[dict[str, Any], list[Any]]:
    """Return a result that the SDK takes, and the items of a list that it does not.

    Args:
        method: of the request.
        version: of the protocol that the server speaks.
        result: as the server has sent it.
    """
    if isinstance(result, dict) and VALUE in result:
        result = result[VALUE]
    given = result if isinstance(result, dict) else {}
    if given.get("resultType") == "input_required" and _fits(method, version, given):
        return given, []
    if method == CALL:
        return {**_COMPLETE, "content": [], RAW: result}, []
    if given and _fits(method, version, given):
        return given, []
    if method == "initialize":
        return _initialized(given), []
    if method in _LISTS:
        return _list(method, version, given, _items(given.get(_LISTS[method], result)))
    if method == "prompts/get":
        messages = [_prompt_message(version, each) for each in _items(given.get("messages"))]
        return {**_COMPLETE, "messages": messages}, []
    if method == "resources/read":
        contents = [_resource_content(version, each) for each in _items(given.get("contents"))]
        return {**_COMPLETE, "contents": contents}, []
    return ({**_COMPLETE, **given} if method == "server/discover" else given), []


def _fits(method: str, version: str, result: dict[str, Any]) -> bool:
    try:
        parse_server_result(method, version if version in KNOWN_PROTOCOL_VERSIONS else LATEST_HANDSHAKE_VERSION, result)
    except ValidationError:
        return False
    except KeyError:  # a method that the version does not have
        return True
    return True


def _items(value: Any) -> list[Any]:
    """Return a list; of an object, its members with their names."""
    if isinstance(value, dict):
        return [{"name": name, **each} if isinstance(each, dict) else each for name, each in value.items()]
    return value if isinstance(value, list) else []


def _list(method: str, version: str, given: dict[str, Any], items: Iterable[Any]) -> tuple[dict[str, Any], list[Any]]:
    key = _LISTS[method]
    shell: dict[str, Any] = {**_COMPLETE, key: []}
    cursor = given.get("nextCursor")
    if isinstance(cursor, str | int) and not isinstance(cursor, bool):
        shell["nextCursor"] = str(cursor)
    usable: list[Any] = []
    odd: list[Any] = []
    for each in items:
        fits = isinstance(each, dict) and _fits(method, version, {**shell, key: [each]})
        (usable if fits else odd).append(each)
    return {**shell, key: usable}, odd


def _initialized(given: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to ``initialize``; a version that no one knows is spoken as the latest one with a handshake."""
    version, info, capabilities = given.get("protocolVersion"), given.get("serverInfo"), given.get("capabilities")
    info = info if isinstance(info, dict) else {}
    capabilities = capabilities if isinstance(capabilities, dict) else {}
    found: dict[str, Any] = {
        "protocolVersion": version if isinstance(version, str) else LATEST_HANDSHAKE_VERSION,
        "serverInfo": {name: str(info.get(name) or "") for name in ("name", "version")},
        "capabilities": {name: {} for name in _CAPABILITIES if capabilities.get(name) not in (None, False)},
    }
    for name, each in capabilities.items():
        if isinstance(each, dict):
            is_changing = each.get("listChanged") is True and name in ("tools", "prompts", "resources")
            found["capabilities"][name] = {"listChanged": True} if is_changing else {}
    if isinstance(given.get("instructions"), str):
        found["instructions"] = given["instructions"]
    return found


def with_known_version(result: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to ``initialize`` with a version that the SDK speaks."""
    if result.get("protocolVersion") in HANDSHAKE_PROTOCOL_VERSIONS:
        return result
    return {**result, "protocolVersion": LATEST_HANDSHAKE_VERSION}


def _prompt_message(version: str, message: Any) -> dict[str, Any]:
    if isinstance(message, dict) and _fits("prompts/get", version, {**_COMPLETE, "messages": [message]}):
        return message
    given = message if isinstance(message, dict) else {"content": message}
    role = "assistant" if given.get("role") == "assistant" else "user"
    return {"role": role, "content": {"type": "text", "text": _as_text(given.get("content", given))}}


def _resource_content(version: str, content: Any) -> dict[str, Any]:
    if isinstance(content, dict) and _fits("resources/read", version, {**_COMPLETE, "contents": [content]}):
        return content
    given = content if isinstance(content, dict) else {"text": content}
    kept = {name: given[name] for name in ("mimeType", "blob") if isinstance(given.get(name), str)}
    if "blob" not in kept:
        kept["text"] = _as_text(given.get("text", given))
    return {"uri": str(given.get("uri") or ""), **kept}


def _as_text(value: Any) -> str:
    """Return a text, that of a block, or those of several; anything else as JSON."""
    if isinstance(value, list):
        return "\n".join(map(_as_text, value))
    if isinstance(value, dict) and isinstance(value.get("text"), str):
        return str(value["text"])
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
