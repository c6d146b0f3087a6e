"""The list of models of a server that speaks Chat Completions. No I/O.

OpenAI's own says little more than the names; others add what they know, each in its own words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_core.providers.base import ModelInfo
from oneclaw_core.providers.openai_chat_dialect import PDF_MEDIA_TYPE

if TYPE_CHECKING:
    from collections.abc import Mapping

_CONTEXT_KEYS = ("context_length", "max_model_len", "max_context_length", "context_window", "max_input_tokens")
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
    return [
        _model_info(entry)
        for entry in entries
        if isinstance(entry, dict) and isinstance(entry.get("id"), str) and entry["id"]
    ]


def _model_info(entry: Mapping[str, Any]) -> ModelInfo:
    name = entry.get("name")
    return ModelInfo(
        name=entry["id"],
        display_name=name if isinstance(name, str) and name and name != entry["id"] else None,
        context_window=_token_count(entry, _CONTEXT_KEYS),
        max_output_tokens=_token_count(entry, _OUTPUT_KEYS) or _token_count(entry.get("top_provider"), _OUTPUT_KEYS),
        input_media_types=_input_media_types(entry),
    )


def _token_count(entry: object, keys: tuple[str, ...]) -> int | None:
    counts = (entry.get(key) for key in keys) if isinstance(entry, dict) else ()
    return next((each for each in counts if isinstance(each, int) and not isinstance(each, bool) and each > 0), None)


def _input_media_types(entry: Mapping[str, Any]) -> tuple[str, ...] | None:
    architecture = entry.get("architecture")
    modalities = architecture.get("input_modalities") if isinstance(architecture, dict) else None
    if isinstance(modalities, list):  # OpenRouter
        return tuple(_MEDIA_TYPES[each] for each in modalities if isinstance(each, str) and each in _MEDIA_TYPES)
    capabilities = entry.get("capabilities")
    vision = capabilities.get("vision") if isinstance(capabilities, dict) else None
    if isinstance(vision, bool):  # Mistral
        return ("image/",) if vision else ()
    return None
