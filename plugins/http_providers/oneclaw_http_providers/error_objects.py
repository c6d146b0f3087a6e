"""Find the error of a service in what it sends, wherever it stands. No I/O.

What an error means is decided by :mod:`oneclaw_http_providers.service_errors`.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from oneclaw_http_providers.body_documents import (
    ERROR_EVENT,
    BodyDocuments,
    BodyTooLargeError,
    BrokenDocumentError,
    Document,
)
from oneclaw_http_providers.wire import member, objects_in

if TYPE_CHECKING:
    from collections.abc import Mapping

# Members of parts of answers, in any wire format.
_ANSWER_KEYS = frozenset(
    {"choices", "candidates", "content", "delta", "output", "response", "usage", "usageMetadata", "promptFeedback"}
)
_MESSAGE_KEYS = ("message", "msg", "error_msg", "error_message", "detail", "error_description", "title", "reason")
_CODE_KEYS = ("code", "error_code", "status_code", "status", "type", "error_type")


def error_in(document: Document) -> object:
    """Return the error that a document of an answer reports; ``None`` if it reports none.

    Returns:
        A text, or an object with its text under ``message``.
    """
    value = document.value
    if not isinstance(value, dict):
        return value if document.event == ERROR_EVENT else None
    if value.get("error"):
        return _from_member(value, value["error"])
    if (errors := [each for each in _listed(value.get("errors")) if each]) and _ANSWER_KEYS.isdisjoint(value):
        return _in_words(errors[0])
    choice = next(objects_in(value.get("choices")), {})
    if choice.get("error"):  # OpenRouter
        return _in_words(choice["error"])
    if gateway := member(value.get("x_groq"), "error"):
        return _in_words(gateway)
    base = value.get("base_resp")  # MiniMax
    if code := member(base, "status_code"):
        return {"message": member(base, "status_msg"), "code": code}
    if value.get("type") == ERROR_EVENT:  # an event of the wire format, which knows its members
        return None
    is_error = ERROR_EVENT in (document.event, value.get("object"))
    if is_error or (_ANSWER_KEYS.isdisjoint(value) and not isinstance(value.get("type"), str) and _has_message(value)):
        return _in_words(value)
    return None


def error_in_body(body: bytes) -> object:
    """Find the error in the body of a refused request, in the forms that servers use."""
    documents = BodyDocuments()
    found: list[Document] = []
    with suppress(BodyTooLargeError, BrokenDocumentError):
        found = [*documents.feed(body), *documents.end()]
    for document in found:
        if (error := error_in(document)) is not None:
            return error
    if found and not found[0].is_end:
        return _in_words(found[0].value)
    text = body.decode("utf-8", "replace").strip()
    # A web page comes from some gateway, not from the service, and says nothing in a line.
    return "" if text.startswith("<") else _unquoted(text)


def _from_member(value: Mapping[str, Any], error: object) -> object:
    """Return the error under the key ``error``; what stands beside it may say more (xAI, Ollama, Hugging Face)."""
    if isinstance(error, str):
        texts = [error, *(value[key] for key in _MESSAGE_KEYS if isinstance(value.get(key), str) and value[key])]
        codes = {key: value[key] for key in _CODE_KEYS if isinstance(value.get(key), str | int)}
        return {**codes, "message": " - ".join(dict.fromkeys(texts))} if codes or len(texts) > 1 else _unquoted(error)
    if isinstance(error, dict):
        return _in_words(error)
    return _in_words(next(iter(_listed(error)), "")) if isinstance(error, list) else {"message": "", "code": error}


def _in_words(error: object) -> object:
    if not isinstance(error, dict):
        return error
    if error.get("message") is not None:
        return error
    text = next((error[key] for key in _MESSAGE_KEYS if error.get(key)), None)
    if isinstance(text, list):  # FastAPI
        text = "; ".join(str(each.get("msg")) if isinstance(each, dict) else str(each) for each in text)
    code = next((error[key] for key in _CODE_KEYS if isinstance(error.get(key), str | int)), None)
    return error | ({} if text is None else {"message": text}) | ({} if code is None else {"code": code})


def _has_message(value: Mapping[str, Any]) -> bool:
    return any(isinstance(value.get(key), str | list) and value[key] for key in _MESSAGE_KEYS)


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _unquoted(text: str) -> str:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, str) else text
