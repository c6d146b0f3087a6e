"""Routes and pages of other plugins, below ``/PLUGIN/``, behind the same guard."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from oneclaw_core import OneClawError
from oneclaw_core.plugins import WebPage, WebResponse
from oneclaw_serve.access import RateLimit, source_of
from oneclaw_serve.errors import Refusal
from oneclaw_serve.headers import ALWAYS
from oneclaw_serve.pages import answer_page, web_request

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.requests import Request

    from oneclaw_serve.application import Site

TIMEOUT_SECONDS = 60.0
PUBLIC_REQUESTS_PER_MINUTE = 600
RESERVED = frozenset({"api", "v1", "static", "login", "logout", "health", "openapi", "manage"})
_OURS = frozenset({"set-cookie", "content-length", "transfer-encoding", "connection", *ALWAYS}) - {"cache-control"}


def plugin_routes(site: Site) -> Iterator[Route]:
    """Yield the routes that plugins have registered."""
    limit = RateLimit(PUBLIC_REQUESTS_PER_MINUTE, 60)
    for each in site.claw.plugins.registrations("register_routes"):
        if each.plugin in RESERVED:
            site.context.logger.warning("the routes of plugin %s are left out: the name is taken", each.plugin)
            continue
        yield Route(f"/{each.plugin}/{each.name}", _served(each, limit), methods=list(each.options["methods"]))


def _served(registration: Any, limit: RateLimit) -> Any:
    async def serve(request: Request) -> Response:
        site: Site = request.app.state.site
        caller = None
        if registration.options["is_public"]:
            limit.check(f"{registration.plugin} {source_of(request, site.proxies)}")
        else:
            caller = await site.access.person(request)
        base = f"/{registration.plugin}/"
        asked = await web_request(request, base, registration.options["max_body_bytes"])
        try:
            context = await site.claw.plugins.context_of(registration.plugin)
            target = await site.claw.plugins.object_of(registration)
            async with asyncio.timeout(TIMEOUT_SECONDS):
                answer = await target(context, asked)
        except OneClawError:
            raise
        except Exception:
            site.context.logger.exception("the route %s of plugin %s failed", registration.name, registration.plugin)
            raise Refusal(500, "plugin_failed", f"plugin {registration.plugin} failed; oneclaw log shows it") from None
        if isinstance(answer, WebPage) and caller is not None:
            return answer_page(site, caller, request, answer, base)
        return _response(registration.plugin, answer)

    return serve


def _response(plugin: str, answer: Any) -> Response:
    if not isinstance(answer, WebResponse):
        raise Refusal(500, "plugin_failed", f"the route of plugin {plugin} returned no WebResponse")
    headers = {name: value for name, value in answer.headers.items() if name.lower() not in _OURS}
    if isinstance(answer.body, bytes | str):
        return Response(answer.body, answer.status, headers, answer.media_type)
    return StreamingResponse(answer.body, answer.status, headers, answer.media_type)
