"""The list of models of a server that speaks Chat Completions. No I/O.

OpenAI's own says little more than the names; others add what they know, each in its own words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_http_providers import count_member, member, text_member

from oneclaw_core.providers import ModelInfo
from oneclaw_openai.chat_dialect import PDF_MEDIA_TYPE

if TYPE_CHECKING:
    from collections.abc import Mapping

_CONTEXT_KEYS = ("context_length", "max_model_len", "max_context_length", "context_window", "max_input_tokens")
# What a server has made room for; of a model that could read more.
_SERVED_KEYS = ("loaded_context_length", "n_ctx", "max_model_len")
_OUTPUT_KEYS = ("max_output_tokens", "max_completion_tokens", "max_output_length")
# OpenRouter's words for what a model takes.
_MEDIA_TYPES = {"image": "image/", "file": PDF_MEDIA_TYPE, "audio": "audio/", "video": "video/"}


def offered_models(body: object) -> list[ModelInfo] | None:
    """Read the answer of ``GET /models``.

    Args:
        body: its JSON.

    Returns:
        The models in the server's order; ``None`` if the answer holds no list. Entries without a name are left out.
    """
    entries = body.get("data") if isinstance(body, dict) else body
    if not isinstance(entries, list):
        return None
    return [_model_info(entry) for entry in entries if text_member(entry, "id")]


def served_context(body: object, model: str) -> int | None:
    """Read the context size of a model from a page of its server; ``None`` if it does not say.

    Args:
        body: the JSON of ``/v1/models``, of ``/props`` of llama.cpp, or of ``/api/v0/models`` of LM Studio.
        model: its name.
    """
    if isinstance(body, dict) and "default_generation_settings" in body:
        return count_member(body["default_generation_settings"], "n_ctx") or None
    entries = body.get("data") if isinstance(body, dict) else body
    listed = [each for each in entries if isinstance(each, dict)] if isinstance(entries, list) else []
    named = [each for each in listed if each.get("id") == model] or (listed if len(listed) == 1 else [])
    for entry in named:
        places = (entry, entry.get("meta"), entry.get("top_provider"))
        found = (
            _token_count(place, keys) for keys in (_SERVED_KEYS, (*_CONTEXT_KEYS, "n_ctx_train")) for place in places
        )
        if (tokens := next(filter(None, found), None)) is not None:
            return tokens
    return None


def _model_info(entry: Mapping[str, Any]) -> ModelInfo:
    name = text_member(entry, "name")
    return ModelInfo(
        name=entry["id"],
        display_name=name if name != entry["id"] else None,
        context_window=_token_count(entry, _CONTEXT_KEYS),
        max_output_tokens=_token_count(entry, _OUTPUT_KEYS) or _token_count(entry.get("top_provider"), _OUTPUT_KEYS),
        input_media_types=_input_media_types(entry),
    )


def _token_count(entry: object, keys: tuple[str, ...]) -> int | None:
    return next((each for each in (count_member(entry, key) for key in keys) if each), None)


def _input_media_types(entry: Mapping[str, Any]) -> tuple[str, ...] | None:
    modalities = member(entry.get("architecture"), "input_modalities")
    if isinstance(modalities, list):  # OpenRouter
        return tuple(_MEDIA_TYPES[each] for each in modalities if isinstance(each, str) and each in _MEDIA_TYPES)
    vision = member(entry.get("capabilities"), "vision")
    if isinstance(vision, bool):  # Mistral
        return ("image/",) if vision else ()
    return None
