"""Services that search the web. Each takes a query and gives results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx

    from oneclaw_search.settings import SearchSettings

BRAVE_URL = "https://api.search.brave.com"
TAVILY_URL = "https://api.tavily.com"
_REASON_CHARACTERS = 200
# SearXNG knows no week.
_SEARXNG_PERIODS = {"day": "day", "week": "month", "month": "month", "year": "year"}
_BRAVE_PERIODS = {"day": "pd", "week": "pw", "month": "pm", "year": "py"}


class SearchError(Exception):
    """A service gave no results; the message says why and what to do, as a sentence."""


@dataclass(frozen=True, slots=True)
class Query:
    """A search.

    Attributes:
        text: as the model wrote it.
        max_results: how many results are wanted.
        period: ``day``, ``week``, ``month`` or ``year``; ``None`` for pages of any age.
    """

    text: str
    max_results: int
    period: str | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """A page that was found.

    Attributes:
        title, url, excerpt: as the service gives them.
    """

    title: str
    url: str
    excerpt: str


def search_ddgs(query: Query, settings: SearchSettings) -> list[Result]:
    """Ask public search engines, without a key.

    Raises:
        SearchError: none of them answered.
    """
    from ddgs import DDGS
    from ddgs.exceptions import DDGSException, RatelimitException, TimeoutException

    try:
        found = DDGS(timeout=10).text(
            query.text,
            region=settings.region or "us-en",
            timelimit=query.period[0] if query.period else None,
            max_results=query.max_results,
            backend=settings.engines,
        )
    except (RatelimitException, TimeoutException):
        raise SearchError(
            "The search engines do not answer, or refuse so many searches. Try again later, or set up a service with "
            "a key: oneclaw config set search.backend brave"
        ) from None
    except DDGSException as error:
        if "No results" in str(error):
            return []
        raise SearchError(f"The search failed: {str(error)[:_REASON_CHARACTERS]}.") from None
    return [_result(each.get("title"), each.get("href"), each.get("body")) for each in found]


async def search_searxng(query: Query, settings: SearchSettings, http: httpx.AsyncClient) -> list[Result]:
    """Ask an instance of SearXNG (https://docs.searxng.org/dev/search_api.html).

    Raises:
        SearchError: it gave no results in JSON.
    """
    if not settings.url:
        raise SearchError("No SearXNG instance is set. The user can set one with: oneclaw config set search.url URL")
    parameters = {"q": query.text, "format": "json"}
    if settings.region:
        country, _, language = settings.region.partition("-")
        parameters["language"] = f"{language}-{country.upper()}" if language else country
    if query.period is not None:
        parameters["time_range"] = _SEARXNG_PERIODS[query.period]
    response = await http.get(f"{settings.url.rstrip('/')}/search", params=parameters)
    if response.status_code == 403:
        raise SearchError(f"{settings.url} gives no JSON: its settings.yml must list json under search.formats.")
    found = objects(read_document(response), "results")
    return [_result(each.get("title"), each.get("url"), each.get("content")) for each in found]


async def search_brave(query: Query, settings: SearchSettings, http: httpx.AsyncClient) -> list[Result]:
    """Ask Brave Search (https://api-dashboard.search.brave.com/app/documentation/web-search).

    Raises:
        SearchError: the key is missing or refused, or there was no answer.
    """
    parameters: dict[str, str | int] = {"q": query.text, "count": query.max_results, "text_decorations": "false"}
    if settings.region:
        country, _, language = settings.region.partition("-")
        parameters["country"] = country.upper()
        if language:
            parameters["search_lang"] = language
    if query.period is not None:
        parameters["freshness"] = _BRAVE_PERIODS[query.period]
    headers = {"X-Subscription-Token": key_of(settings), "Accept": "application/json"}
    url = f"{(settings.url or BRAVE_URL).rstrip('/')}/res/v1/web/search"
    document = read_document(await http.get(url, params=parameters, headers=headers))
    found = objects(object_of(document, "web"), "results")
    return [_result(each.get("title"), each.get("url"), each.get("description")) for each in found]


async def search_tavily(query: Query, settings: SearchSettings, http: httpx.AsyncClient) -> list[Result]:
    """Ask Tavily (https://docs.tavily.com/documentation/api-reference/endpoint/search).

    Raises:
        SearchError: the key is missing or refused, or there was no answer.
    """
    body: dict[str, Any] = {"query": query.text, "max_results": query.max_results}
    if query.period is not None:
        body["time_range"] = query.period
    url = f"{(settings.url or TAVILY_URL).rstrip('/')}/search"
    response = await http.post(url, json=body, headers={"Authorization": f"Bearer {key_of(settings)}"})
    found = objects(read_document(response), "results")
    return [_result(each.get("title"), each.get("url"), each.get("content")) for each in found]


def key_of(settings: SearchSettings) -> str:
    """Return the key of the service.

    Raises:
        SearchError: none is set.
    """
    key = settings.api_key.get_secret_value()
    if not key:
        raise SearchError(
            f"{settings.backend} needs a key, which is not set. The user can set it with: "
            "oneclaw keys set search.api_key"
        )
    return key


def read_document(response: httpx.Response) -> dict[str, Any]:
    """Read the JSON object that a service answered.

    Raises:
        SearchError: it answered with an error, or something else.
    """
    host = response.url.host
    if response.status_code in (401, 403):
        raise SearchError(f"{host} refuses the key. The user can set another with: oneclaw keys set search.api_key")
    if response.status_code == 429:
        raise SearchError(f"{host} refuses so many searches (HTTP 429). Try again later.")
    if response.status_code >= 400:
        raise SearchError(f"{host} answered with HTTP {response.status_code}.")
    try:
        document = response.json()
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise SearchError(f"{host} gave no JSON object; check search.url.")
    return document


def objects(document: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the objects of a list in an object; none if there is no such list."""
    found = document.get(name)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def object_of(document: dict[str, Any], name: str) -> dict[str, Any]:
    """Return an object in an object; an empty one if there is none."""
    found = document.get(name)
    return found if isinstance(found, dict) else {}


def _result(title: object, url: object, excerpt: object) -> Result:
    return Result(*(each if isinstance(each, str) else "" for each in (title, url, excerpt)))
