"""The services that can be chosen, each with its function and address."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_search.backends import BRAVE_URL, TAVILY_URL, search_brave, search_searxng, search_tavily
from oneclaw_search.model_services import (
    ANTHROPIC_URL,
    GEMINI_URL,
    OPENAI_URL,
    search_anthropic,
    search_gemini,
    search_openai,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import httpx

    from oneclaw_search.backends import Query, Result
    from oneclaw_search.settings import SearchSettings

HTTP_BACKENDS: dict[str, Callable[[Query, SearchSettings, httpx.AsyncClient], Awaitable[list[Result]]]] = {
    "searxng": search_searxng,
    "brave": search_brave,
    "tavily": search_tavily,
    "openai": search_openai,
    "anthropic": search_anthropic,
    "gemini": search_gemini,
}
_ADDRESSES = {
    "ddgs": "https://duckduckgo.com",
    "brave": BRAVE_URL,
    "tavily": TAVILY_URL,
    "openai": OPENAI_URL,
    "anthropic": ANTHROPIC_URL,
    "gemini": GEMINI_URL,
}


def service_url(settings: SearchSettings) -> str:
    """Return the address of the service that is asked; for ``ddgs``, that of one of its engines."""
    return settings.url or _ADDRESSES.get(settings.backend, "")
