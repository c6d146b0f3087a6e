"""The application behind the guard: all routes, each with the right that it needs."""

from __future__ import annotations

import asyncio
import ipaddress
from contextlib import asynccontextmanager
from functools import cache, partial
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from oneclaw_core import OneClawError
from oneclaw_core.http import ServerGuard, send_refusal
from oneclaw_serve.access import Access
from oneclaw_serve.errors import Refusal, answer_refusal, read_json
from oneclaw_serve.event_log import EventLog
from oneclaw_serve.headers import PAGE_HEADERS, SecurityHeaders
from oneclaw_serve.pages import page_routes
from oneclaw_serve.stateless_sessions import StatelessSessions
from oneclaw_serve.trials import Trials
from oneclaw_serve.turns import Turns
from oneclaw_serve.waiting import WaitingMessages

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Collection

    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

    from oneclaw_core import OneClaw, ServiceContext
    from oneclaw_serve.endpoint import Endpoint

MAX_BODY_BYTES = 32 * 1024 * 1024
# Where clients end up whose base URL lacks ``/v1``, or that use another API of OpenAI.
_COMPLETIONS_PATHS = ("/completions", "/responses", "/models", "/embeddings", "/api/chat", "/api/tags", "/v1", "/v1/")
STATIC = Path(__file__).parent / "static"


class Site:
    """The parts that routes use.

    Args:
        context: of the service.
        port: that the server listens at.
        origins: the addresses of this server as browsers write them.
        is_public: True if a TLS proxy publishes it.
        proxies: the IP addresses of that proxy.
    """

    def __init__(
        self,
        context: ServiceContext,
        port: int,
        origins: Collection[str],
        *,
        is_public: bool = False,
        proxies: Collection[str] = (),
    ) -> None:
        self.context = context
        self.claw: OneClaw = context.app
        self.origins = list(origins)
        self.is_public = is_public
        self.proxies = frozenset(proxies)
        self.access = Access(context.storage, f"oneclaw_{port}", is_secure=is_public, proxies=proxies)
        self.log: EventLog
        self.waiting: WaitingMessages
        self.turns: Turns
        self.trials: Trials
        self.stateless: StatelessSessions

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None, None]:
        """Run turns until the end of the block."""
        self.log = await EventLog.open(self.context.storage)
        self.waiting = await WaitingMessages.open(self.claw, self.log)
        self.turns = Turns(self.claw, self.log, self.waiting, self.context.logger)
        self.trials = Trials(self.claw, self.context.storage, self.log, self.context.logger)
        self.stateless = StatelessSessions(
            self.claw, self.log.tables, lambda: self.context.settings.stateless_session_days, self.context.logger
        )
        taking = asyncio.create_task(self.turns.keep_taking(), name="messages that wait")
        deleting = asyncio.create_task(self.stateless.keep_deleting(), name="sessions that are no longer used")
        try:
            yield
        finally:
            taking.cancel()
            deleting.cancel()
            await self.trials.aclose()
            await self.turns.aclose()
            await self.waiting.aclose()

    async def decide(self, question: str, answer: str, by: str) -> None:
        """Take a person's answer to a question; the first answer counts.

        Args:
            question: its id.
            answer: what was chosen or written.
            by: who answers.

        Raises:
            Refusal: there is no such question any more, or the answer is none of its choices.
        """
        found = await self.log.questions(approval=question)
        if not found:
            raise Refusal(409, "decided", "this question was answered already, or withdrawn")
        choices = [each["answer"] for each in found[0]["choices"]] if found[0]["kind"] == "approval" else None
        if choices is not None and answer not in choices:
            raise Refusal(400, "invalid_request", f"answer: must be one of {', '.join(choices)}")
        if not await self.log.answer(question, answer, by):
            raise Refusal(409, "decided", "this question was answered already, or withdrawn")
        self.turns.answered(question, found[0]["session"], answer)


def endpoints() -> list[Endpoint]:
    """Return all routes of the API."""
    from oneclaw_serve import catalogue_api, commands_api, sessions_api
    from oneclaw_serve.completions import endpoints as completions

    return [*sessions_api.ENDPOINTS, *commands_api.ENDPOINTS, *catalogue_api.ENDPOINTS, *completions.ENDPOINTS]


def make_application(site: Site) -> ASGIApp:
    """Make the application with its guard and headers."""
    from oneclaw_serve.openapi import describe
    from oneclaw_serve.plugin_routes import plugin_routes

    listed = endpoints()
    document = cache(partial(describe, listed))  # few ask for it

    async def openapi(request: Request) -> JSONResponse:
        await site.access.caller(request)
        return JSONResponse(document())

    routes = [
        Route("/", _page),
        Route("/health", _health),
        Route("/login", _login, methods=["POST"]),
        Route("/logout", _logout, methods=["POST"]),
        Route("/openapi.json", openapi),
        Mount("/static", StaticFiles(directory=STATIC)),
        *page_routes(),
        *(Route(each.path, _served(each), methods=[each.method]) for each in listed),
        *plugin_routes(site),
    ]
    handlers: dict[Any, Any] = dict.fromkeys((Refusal, OneClawError, Exception), answer_refusal)
    handlers |= dict.fromkeys((404, 405), _not_found)
    application = Starlette(routes=routes, exception_handlers=handlers)
    application.state.site = site
    guard = ServerGuard(application, site.origins, max_body_bytes=MAX_BODY_BYTES, is_behind_proxy=bool(site.proxies))
    return SecurityHeaders(_Peers(guard, site.proxies))


class _Peers:
    """ASGI middleware that refuses connections from outside this machine but those of the proxy."""

    def __init__(self, app: ASGIApp, proxies: frozenset[str]) -> None:
        self._app = app
        self._proxies = proxies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        client = scope.get("client")
        if client is not None and client[0] not in self._proxies and not _is_local(client[0]):
            await send_refusal(send, HTTPStatus.FORBIDDEN, "only the TLS proxy may connect from outside this machine")
            return
        await self._app(scope, receive, send)


def _is_local(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def _served(endpoint: Endpoint) -> Any:
    async def serve(request: Request) -> Response:
        site: Site = request.app.state.site
        caller = await site.access.caller(request)
        endpoint.check(caller)
        body = await read_json(request, endpoint.body) if endpoint.body is not None else None
        return await endpoint.answer(site, caller, request, body)

    return serve


async def _page(request: Request) -> Response:
    return Response((STATIC / "index.html").read_bytes(), headers=PAGE_HEADERS, media_type="text/html")


async def _health(request: Request) -> JSONResponse:
    return JSONResponse({"status": "ok"})


async def _login(request: Request) -> JSONResponse:
    from oneclaw_serve.access import check_same_origin
    from oneclaw_serve.endpoint import LoginCode

    site: Site = request.app.state.site
    check_same_origin(request)
    code = await read_json(request, LoginCode)
    response = JSONResponse({"status": "ok"})
    response.set_cookie(**await site.access.log_in(code.code, request))
    return response


async def _logout(request: Request) -> JSONResponse:
    site: Site = request.app.state.site
    response = JSONResponse({"status": "ok"})
    response.set_cookie(**await site.access.log_out(await site.access.caller(request)))
    return response


async def _not_found(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 404)
    what = "there is nothing at this address" if status == 404 else "this address takes another method"
    if request.url.path.endswith(_COMPLETIONS_PATHS):
        origin = str(request.base_url).rstrip("/")
        what = f"{what}: the base URL of clients is {origin}/v1, and they use Chat Completions (/v1/chat/completions)"
    return await answer_refusal(request, Refusal(status, "not_found" if status == 404 else "method_not_allowed", what))
