"""Services of language models that search the web themselves: a model is asked to search, and names its sources.

The tokens of the model are paid for at the service, beside the search.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_search.backends import Query, Result, SearchError, key_of, object_of, objects, read_document

if TYPE_CHECKING:
    import httpx

    from oneclaw_search.settings import SearchSettings

OPENAI_URL = "https://api.openai.com"
ANTHROPIC_URL = "https://api.anthropic.com"
GEMINI_URL = "https://generativelanguage.googleapis.com"
_ANTHROPIC_VERSION = "2023-06-01"
_MAX_TOKENS = 2_000
_TIMEOUT_SECONDS = 60.0


async def search_openai(query: Query, settings: SearchSettings, http: httpx.AsyncClient) -> list[Result]:
    """Ask a model of OpenAI (https://developers.openai.com/api/docs/guides/tools-web-search).

    Raises:
        SearchError: the key or the model is missing or refused, or there was no answer.
    """
    body: dict[str, Any] = {
        "model": _model(settings),
        "input": _prompt(query, settings),
        "tools": [{"type": "web_search", "search_context_size": "low", **_place(settings)}],
        "tool_choice": "required",
        "include": ["web_search_call.action.sources"],
        "store": False,
    }
    headers = {"Authorization": f"Bearer {key_of(settings)}"}
    document = await _post(http, settings.url or OPENAI_URL, "/v1/responses", body, headers)
    found: dict[str, Result] = {}
    for item in objects(document, "output"):
        for part in objects(item, "content"):
            text = part.get("text")
            for each in objects(part, "annotations"):
                _add(found, each.get("title"), each.get("url"), _line_at(text, each.get("start_index")))
    for item in objects(document, "output"):
        for each in objects(object_of(item, "action"), "sources"):
            _add(found, each.get("url"), each.get("url"), "")
    return list(found.values())


async def search_anthropic(query: Query, settings: SearchSettings, http: httpx.AsyncClient) -> list[Result]:
    """Ask a model of Anthropic (https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool).

    Raises:
        SearchError: the key or the model is missing or refused, or there was no answer.
    """
    body = {
        "model": _model(settings),
        "max_tokens": _MAX_TOKENS,
        "messages": [{"role": "user", "content": _prompt(query, settings)}],
        "tools": [{"type": "web_search_20250305", "name": "web_search", "max_uses": 1, **_place(settings)}],
    }
    headers = {"x-api-key": key_of(settings), "anthropic-version": _ANTHROPIC_VERSION}
    document = await _post(http, settings.url or ANTHROPIC_URL, "/v1/messages", body, headers)
    blocks = objects(document, "content")
    # The results themselves are encrypted.
    cited = {str(each.get("url")): each.get("cited_text") for block in blocks for each in objects(block, "citations")}
    found: dict[str, Result] = {}
    for block in blocks:
        fault = object_of(block, "content").get("error_code")
        if fault is not None:
            raise SearchError(f"The search of anthropic failed: {fault}.")
        if block.get("type") == "web_search_tool_result":
            for each in objects(block, "content"):
                _add(found, each.get("title"), each.get("url"), cited.get(str(each.get("url"))))
    return list(found.values())


async def search_gemini(query: Query, settings: SearchSettings, http: httpx.AsyncClient) -> list[Result]:
    """Ask a model of Gemini (https://ai.google.dev/gemini-api/docs/google-search).

    Raises:
        SearchError: the key or the model is missing or refused, or there was no answer.
    """
    body = {
        "contents": [{"role": "user", "parts": [{"text": _prompt(query, settings)}]}],
        "tools": [{"googleSearch": {}}],
    }
    path = f"/v1beta/models/{_model(settings)}:generateContent"
    document = await _post(http, settings.url or GEMINI_URL, path, body, {"x-goog-api-key": key_of(settings)})
    found: dict[str, Result] = {}
    for candidate in objects(document, "candidates"):
        grounding = object_of(candidate, "groundingMetadata")
        texts: dict[int, str] = {}
        for support in objects(grounding, "groundingSupports"):
            indices = support.get("groundingChunkIndices")
            for index in indices if isinstance(indices, list) else []:
                if isinstance(index, int):
                    texts.setdefault(index, str(object_of(support, "segment").get("text", "")))
        for index, chunk in enumerate(objects(grounding, "groundingChunks")):
            page = object_of(chunk, "web")
            _add(found, page.get("title"), page.get("uri"), texts.get(index))
    return list(found.values())


async def _post(
    http: httpx.AsyncClient, address: str, path: str, body: dict[str, Any], headers: dict[str, str]
) -> dict[str, Any]:
    response = await http.post(f"{address.rstrip('/')}{path}", json=body, headers=headers, timeout=_TIMEOUT_SECONDS)
    if response.status_code in (400, 404):
        raise SearchError(
            f"{response.url.host} refuses the request (HTTP {response.status_code}). The model of search.model has to "
            "be one that can search the web."
        )
    return read_document(response)


def _model(settings: SearchSettings) -> str:
    if not settings.model or not settings.model.replace("-", "").replace(".", "").replace("_", "").isalnum():
        raise SearchError(
            f"{settings.backend} needs a model that can search the web. The user can choose one with: "
            "oneclaw config set search.model MODEL"
        )
    return settings.model


def _prompt(query: Query, settings: SearchSettings) -> str:
    age = f" Use pages of the last {query.period} only." if query.period else ""
    region = f" Prefer pages of the country and language {settings.region}." if settings.region else ""
    return (
        f"Search the web once for the words below. Then name up to {query.max_results} pages that were found, a line "
        f"each: one sentence of what the page says, with its citation.{age}{region}\n\n{query.text}"
    )


def _place(settings: SearchSettings) -> dict[str, Any]:
    country = settings.region.partition("-")[0].upper()
    return {"user_location": {"type": "approximate", "country": country}} if len(country) == 2 else {}


def _line_at(text: object, index: object) -> str:
    """Return the line of a text that holds an index."""
    if not isinstance(text, str) or not isinstance(index, int):
        return ""
    return text[text.rfind("\n", 0, max(index, 0)) + 1 : max(index, 0)].strip(" ([-*")


def _add(found: dict[str, Result], title: object, url: object, excerpt: object) -> None:
    if isinstance(url, str) and url not in found:
        texts = (each if isinstance(each, str) else "" for each in (title, excerpt))
        found[url] = Result(next(texts), url, next(texts))
