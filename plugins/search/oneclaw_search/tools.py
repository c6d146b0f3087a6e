"""The tool of the group ``search``, as ``search.json`` declares it."""

from __future__ import annotations

import asyncio
from html import unescape
from typing import TYPE_CHECKING

from oneclaw_core import ToolContext, ToolResult, untrusted
from oneclaw_search.backends import Query, SearchError, search_ddgs
from oneclaw_search.services import HTTP_BACKENDS, service_url

if TYPE_CHECKING:
    from oneclaw_search.backends import Result
    from oneclaw_search.settings import SearchSettings

DEFAULT_RESULTS = 8
_TITLE_CHARACTERS = 200
_EXCERPT_CHARACTERS = 500
_URL_CHARACTERS = 2_000


async def web_search(
    query: str, max_results: int = DEFAULT_RESULTS, period: str | None = None, *, context: ToolContext
) -> ToolResult:
    """Search the web with the service that the user has chosen.

    Args:
        query: the words to search for.
        max_results: how many results to return, 1 to 20.
        period: ``day``, ``week``, ``month`` or ``year``: only pages from the last one.
        context: of the call.

    Raises:
        PermissionDeniedError: the service may not be asked.
    """
    import httpx

    if not query.strip():
        return ToolResult.error("validation_error", "query must not be blank.")
    settings: SearchSettings = context.plugin.settings
    wanted = Query(query.strip(), max_results, period)
    try:
        if settings.backend == "ddgs":
            await context.allow_url(service_url(settings), f"a search for {wanted.text}")
            found = await asyncio.to_thread(search_ddgs, wanted, settings)
        else:
            found = await HTTP_BACKENDS[settings.backend](wanted, settings, context.http)
    except SearchError as error:
        return ToolResult.error("execution_error", str(error))
    except httpx.InvalidURL:
        return ToolResult.error("execution_error", f"search.url is not a URL: {settings.url!r}.")
    except httpx.HTTPError as error:
        return ToolResult.error("execution_error", f"The search failed: {str(error) or type(error).__name__}.")
    shown = [each for each in found if each.url.startswith(("http://", "https://"))][:max_results]
    if not shown:
        return ToolResult.success("Nothing was found.")
    context.mark_page(service_url(settings))  # so that the model may follow what was found
    return ToolResult.success(untrusted("\n\n".join(_described(each) for each in shown), "a web search"))


def _described(result: Result) -> str:
    lines = [_one_line(result.title, _TITLE_CHARACTERS) or "(no title)", result.url[:_URL_CHARACTERS]]
    excerpt = _one_line(result.excerpt, _EXCERPT_CHARACTERS)
    return "\n".join([*lines, excerpt] if excerpt else lines)


def _one_line(text: str, limit: int) -> str:
    line = " ".join(unescape(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
