"""Routes of other plugins, below ``/PLUGIN/``, behind the same guard."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from oneclaw_core import OneClawError
from oneclaw_core.plugins import WebRequest, WebResponse
from oneclaw_serve.errors import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.requests import Request

    from oneclaw_serve.application import Site

TIMEOUT_SECONDS = 60.0
RESERVED = frozenset({"api", "v1", "static", "login", "logout", "health", "openapi"})
_OURS = frozenset({"set-cookie", "content-length", "transfer-encoding", "connection"})


def plugin_routes(site: Site) -> Iterator[Route]:
    """Yield the routes that plugins have registered."""
    for each in site.claw.plugins.registrations("register_routes"):
        if each.plugin in RESERVED:
            site.context.logger.warning("the routes of plugin %s are left out: the name is taken", each.plugin)
            continue
        yield Route(f"/{each.plugin}/{each.name}", _served(each), methods=list(each.options["methods"]))


def _served(registration: Any) -> Any:
    async def serve(request: Request) -> Response:
        site: Site = request.app.state.site
        if not registration.options["is_public"]:
            caller = await site.access.caller(request)
            if not caller.is_person:
                raise Refusal(403, "forbidden", "this page is for a person who is logged in")
        web_request = await _web_request(registration.plugin, request)
        try:
            context = await site.claw.plugins.context_of(registration.plugin)
            target = await site.claw.plugins.object_of(registration)
            async with asyncio.timeout(TIMEOUT_SECONDS):
                answer = await target(context, web_request)
        except OneClawError:
            raise
        except Exception:
            site.context.logger.exception("the route %s of plugin %s failed", registration.name, registration.plugin)
            raise Refusal(500, "plugin_failed", f"plugin {registration.plugin} failed; oneclaw log shows it") from None
        return _response(registration.plugin, answer)

    return serve


async def _web_request(plugin: str, request: Request) -> WebRequest:
    # Credentials of this server are none of the plugin's business; those of its own callers are.
    headers = {name: value for name, value in request.headers.items() if name != "cookie"}
    return WebRequest(
        method=request.method,
        path=request.url.path.removeprefix(f"/{plugin}/"),
        path_parameters={name: str(value) for name, value in request.path_params.items()},
        query={name: tuple(request.query_params.getlist(name)) for name in request.query_params},
        headers=headers,
        body=await request.body(),
        client=request.client.host if request.client else None,
    )


def _response(plugin: str, answer: Any) -> Response:
    if not isinstance(answer, WebResponse):
        raise Refusal(500, "plugin_failed", f"the route of plugin {plugin} returned no WebResponse")
    headers = {name: value for name, value in answer.headers.items() if name.lower() not in _OURS}
    if isinstance(answer.body, bytes | str):
        return Response(answer.body, answer.status, headers, answer.media_type)
    return StreamingResponse(answer.body, answer.status, headers, answer.media_type)
