"""The management pages: the server's own below ``/manage/``, and those that plugins register."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from oneclaw_core.http import ServerTokens
from oneclaw_core.plugins import WebPage, WebRequest
from oneclaw_serve.access import FORM_TOKEN, FORM_TYPE, form_token
from oneclaw_serve.errors import Refusal
from oneclaw_serve.page_html import Frame, page_response

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from starlette.requests import Request

    from oneclaw_serve.access import Caller
    from oneclaw_serve.application import Site

BASE = "/manage/"
MAX_FORM_BYTES = 1024 * 1024
_NEWS_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class GoTo:
    """The answer to a form that leads to another page below ``/manage/``."""

    path: str


@dataclass(frozen=True, slots=True)
class LivePage:
    """A page that changes by itself, and looks for news now and then."""

    page: WebPage


@dataclass(frozen=True, slots=True)
class SitePage:
    """A page of the server itself.

    Attributes:
        path: below ``/manage/``, with parameters in braces.
        title: what the menu calls it; empty for a page that is not in it.
        answer: async function of the site and the request that returns the page, or where to go.
        takes_forms: True if it answers forms too.
    """

    path: str
    title: str
    answer: Callable[[Any, WebRequest], Awaitable[WebPage | LivePage | GoTo]]
    takes_forms: bool = False


def site_pages() -> tuple[SitePage, ...]:
    """Return the pages in the order of the menu."""
    from oneclaw_serve.manage import agents, permissions, plugins, prompt, providers, settings, tools, usage

    modules = (tools, plugins, agents, permissions, providers, usage, settings, prompt)
    return tuple(page for module in modules for page in module.PAGES)


def page_routes() -> Iterator[Route]:
    """Yield the routes of the pages, and one that leads to the first."""
    pages = site_pages()

    async def first(request: Request) -> Response:
        return RedirectResponse(f"{BASE}{pages[0].path}")

    yield Route(BASE, first)
    for each in pages:
        yield Route(f"{BASE}{each.path}", _served(each), methods=["GET", "POST"] if each.takes_forms else ["GET"])


def _served(page: SitePage) -> Any:
    async def serve(request: Request) -> Response:
        site: Site = request.app.state.site
        caller = await site.access.person(request)
        answer = await page.answer(site, await web_request(request, BASE))
        if isinstance(answer, GoTo):
            return RedirectResponse(f"{BASE}{answer.path}", 303)
        return answer_page(site, caller, request, answer, BASE)

    return serve


def answer_page(site: Site, caller: Caller, request: Request, page: WebPage | LivePage, base: str) -> Response:
    """Show a page in the look of the server.

    Args:
        site: the server.
        caller: who is logged in.
        request: for the page.
        page: what to show.
        base: what the paths of its links are below.
    """
    frame = Frame(
        menu=menu(site),
        here=request.url.path,
        base=base,
        form_token=form_token(caller),
        refresh_seconds=_NEWS_SECONDS if isinstance(page, LivePage) else 0,
    )
    return page_response(page.page if isinstance(page, LivePage) else page, frame)


def menu(site: Site) -> tuple[tuple[str, str], ...]:
    """Return address and title of each page; those of plugins stand before the last four of the server's own."""
    own = [(f"{BASE}{each.path}", each.title) for each in site_pages() if each.title]
    others = [
        (f"/{each.plugin}/{each.name}", each.options["title"])
        for each in site.claw.plugins.registrations("register_routes")
        if each.options.get("title")
    ]
    return (("/", "Chat"), *own[:3], *sorted(others, key=lambda each: each[1]), *own[3:])


async def web_request(request: Request, base: str, max_body_bytes: int = MAX_FORM_BYTES) -> WebRequest:
    """Return a request as plugins get it, without the credentials of this server.

    Args:
        request: to the route.
        base: what the path is below.
        max_body_bytes: the longest body.

    Raises:
        Refusal: the body is longer.
    """
    body = await _body(request, max_body_bytes)
    if request.headers.get("content-type", "").startswith(FORM_TYPE):
        fields = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True)
        if any(name == FORM_TOKEN for name, _ in fields):  # any other body stays as it is, such as for a signature
            body = urlencode([each for each in fields if each[0] != FORM_TOKEN]).encode()
    return WebRequest(
        method=request.method,
        path=request.url.path.removeprefix(base),
        path_parameters={name: str(value) for name, value in request.path_params.items()},
        query={name: tuple(request.query_params.getlist(name)) for name in request.query_params},
        # Credentials of this server are none of the plugin's business; those of its own callers are.
        headers={
            name: value
            for name, value in request.headers.items()
            if name != "cookie" and not (name == "authorization" and _is_ours(value))
        },
        body=body,
        client=request.client.host if request.client else None,
    )


async def _body(request: Request, max_bytes: int) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > max_bytes:
            raise Refusal(413, "content_too_large", f"the body is longer than {max_bytes} bytes")
    return bytes(body)


def _is_ours(authorization: str) -> bool:
    return any(ServerTokens.is_token(word) for word in authorization.split())
