"""Routes of other plugins, below ``/PLUGIN/``, behind the same guard."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from oneclaw_core import OneClawError
from oneclaw_core.http import ServerTokens
from oneclaw_core.plugins import WebRequest, WebResponse
from oneclaw_serve.access import RateLimit
from oneclaw_serve.errors import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.requests import Request

    from oneclaw_serve.application import Site

TIMEOUT_SECONDS = 60.0
PUBLIC_REQUESTS_PER_MINUTE = 600
RESERVED = frozenset({"api", "v1", "static", "login", "logout", "health", "openapi"})
_OURS = frozenset({"set-cookie", "content-length", "transfer-encoding", "connection"})


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
        if registration.options["is_public"]:
            limit.check(f"{registration.plugin} {request.client.host if request.client else ''}")
        else:
            caller = await site.access.caller(request)
            if not caller.is_person:
                raise Refusal(403, "forbidden", "this page is for a person who is logged in")
        body = await _body(request, registration.options["max_body_bytes"])
        web_request = _web_request(registration.plugin, request, body)
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


async def _body(request: Request, max_bytes: int) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > max_bytes:
            raise Refusal(413, "content_too_large", f"the body is longer than {max_bytes} bytes")
    return bytes(body)


def _web_request(plugin: str, request: Request, body: bytes) -> WebRequest:
    # Credentials of this server are none of the plugin's business; those of its own callers are.
    headers = {
        name: value
        for name, value in request.headers.items()
        if name != "cookie" and not (name == "authorization" and _is_ours(value))
    }
    return WebRequest(
        method=request.method,
        path=request.url.path.removeprefix(f"/{plugin}/"),
        path_parameters={name: str(value) for name, value in request.path_params.items()},
        query={name: tuple(request.query_params.getlist(name)) for name in request.query_params},
        headers=headers,
        body=body,
        client=request.client.host if request.client else None,
    )


def _is_ours(authorization: str) -> bool:
    return any(ServerTokens.is_token(word) for word in authorization.split())


def _response(plugin: str, answer: Any) -> Response:
    if not isinstance(answer, WebResponse):
        raise Refusal(500, "plugin_failed", f"the route of plugin {plugin} returned no WebResponse")
    headers = {name: value for name, value in answer.headers.items() if name.lower() not in _OURS}
    if isinstance(answer.body, bytes | str):
        return Response(answer.body, answer.status, headers, answer.media_type)
    return StreamingResponse(answer.body, answer.status, headers, answer.media_type)
