"""The server for MCP clients over HTTP: one process for all clients, each with a token."""

from __future__ import annotations

import asyncio
import logging
import signal
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import anyio

from oneclaw_core import OneClawError
from oneclaw_core.http import ImpatientConnection, ServerGuard, bearer_token, listen, send_refusal
from oneclaw_mcp.offer import CALL, READ
from oneclaw_mcp.served import ServedOffer, sdk_server
from oneclaw_mcp.serving import end_in_time

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterable, Iterator

    import uvicorn
    from mcp.server.lowlevel import Server as SdkServer
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from oneclaw_core import OneClaw, ServiceContext
    from oneclaw_core.http import ServerToken, ServerTokens
    from oneclaw_mcp.journal import CallJournal
    from oneclaw_mcp.offer import Offer

PATH = "/mcp"
MAX_SESSIONS = 100
MAX_REQUESTS = 100
SESSION_SECONDS = 30 * 60.0
DRAIN_SECONDS = 5.0
_SHORT_DRAIN_SECONDS = 0.5
_CHECK_SECONDS = 5.0
_ADDRESS = "127.0.0.1"


@dataclass(slots=True)
class _Place:
    """The sessions of one token; no other token reaches them."""

    token: ServerToken
    served: ServedOffer
    server: SdkServer[Any]
    manager: StreamableHTTPSessionManager
    requests: set[anyio.CancelScope] = field(default_factory=set)
    calls: set[asyncio.Future[None]] = field(default_factory=set)
    task: asyncio.Task[None] | None = None
    _stop: asyncio.Event = field(default_factory=asyncio.Event)
    _started: asyncio.Event = field(default_factory=asyncio.Event)

    async def start(self) -> None:
        """Get ready for sessions."""
        self.task = asyncio.create_task(self._run())
        await self._started.wait()

    async def _run(self) -> None:
        watching = asyncio.create_task(self.served.watch())
        try:
            async with self.manager.run():
                self._started.set()
                await self._stop.wait()
        finally:
            watching.cancel()

    async def handle(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
        if len(self.requests) >= MAX_REQUESTS:
            await send_refusal(send, HTTPStatus.SERVICE_UNAVAILABLE, "too many requests at once; try again later")
            return
        # For the client that comes now; known, unless the tools have changed.
        self.server.instructions = self.served.tools.instructions()
        ended = asyncio.get_running_loop().create_future()
        if scope["method"] == "POST":
            self.calls.add(ended)
        try:
            with anyio.CancelScope() as cancelling:
                self.requests.add(cancelling)
                try:
                    await self.manager.handle_request(scope, receive, send)
                finally:
                    self.requests.discard(cancelling)
        finally:
            ended.set_result(None)
            self.calls.discard(ended)

    async def aclose(self) -> None:
        """End all sessions, streams and calls."""
        for each in list(self.requests):
            each.cancel()
        await self.served.aclose()
        self._stop.set()
        if self.task is not None:
            await asyncio.gather(self.task, return_exceptions=True)


class HttpServer:
    """The ASGI application: it checks tokens and keeps the clients of each apart.

    Args:
        claw: the open home.
        tokens: that clients need.
        offer: the tools that are offered, before a token narrows them.
        journal: of all calls.
        is_direct: list the tools themselves instead of the gateway's.
    """

    def __init__(
        self, claw: OneClaw, tokens: ServerTokens, offer: Offer, journal: CallJournal, *, is_direct: bool = False
    ) -> None:
        self._claw = claw
        self._tokens = tokens
        self._offer = offer
        self._journal = journal
        self._is_direct = is_direct
        self._places: dict[str, _Place] = {}
        self._making = asyncio.Lock()
        self._is_closing = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
        if scope["path"] != PATH:
            await send_refusal(send, HTTPStatus.NOT_FOUND, f"the server is at {PATH}")
            return
        token = await self._tokens.find(bearer_token(scope))
        if token is None:
            text = "a token is needed in the header Authorization: Bearer; make one with: oneclaw mcp token create NAME"
            await send_refusal(send, HTTPStatus.UNAUTHORIZED, text, [(b"www-authenticate", b"Bearer")])
            return
        if not any(each.partition(":")[0] in (READ, CALL) for each in token.scopes):
            await send_refusal(send, HTTPStatus.FORBIDDEN, "this token is not for MCP")
            return
        if self._is_closing:
            await send_refusal(send, HTTPStatus.SERVICE_UNAVAILABLE, "the server stops")
            return
        place = await self._place(token)
        await place.handle(scope, receive, send)

    async def _place(self, token: ServerToken) -> _Place:
        async with self._making:
            place = self._places.get(token.name)
            if place is not None and place.token == token:
                return place
            if place is not None:  # a new token of an old name
                await place.aclose()
            self._places[token.name] = place = self._made(token)
            await place.start()
            return place

    def _made(self, token: ServerToken) -> _Place:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        offer = replace(self._offer, token=token)
        served = ServedOffer.make(self._claw, offer, self._journal, is_direct=self._is_direct)
        server = sdk_server(served)
        # The guard in front checks Host and Origin.
        manager = StreamableHTTPSessionManager(server, session_idle_timeout=SESSION_SECONDS, max_sessions=MAX_SESSIONS)
        return _Place(token, served, server, manager)

    async def watch(self) -> None:
        """End what belongs to tokens that are revoked or too old, until cancelled."""
        while True:
            await asyncio.sleep(_CHECK_SECONDS)
            with suppress(OneClawError):  # the database is busy: the next look counts
                await self.drop_revoked()

    async def drop_revoked(self) -> None:
        """End the sessions, streams and calls of tokens that are invalid by now."""
        valid = {each.name: each for each in await self._tokens.list()}
        async with self._making:
            for name, place in list(self._places.items()):
                if valid.get(name) != place.token:
                    del self._places[name]
                    await place.aclose()

    async def drain(self, seconds: float = DRAIN_SECONDS) -> None:
        """Let calls end for a while, then end all that is left."""
        self._is_closing = True
        for place in self._places.values():
            place.served.end_subscriptions()
        calls = [call for place in self._places.values() for call in place.calls]
        if calls:
            await asyncio.wait(calls, timeout=seconds)
        await asyncio.gather(*(each.aclose() for each in self._places.values()))
        self._places.clear()


async def serve_http(
    app: HttpServer,
    port: int,
    *,
    origins: Iterable[str] = (),
    say: Callable[[str], None],
) -> None:
    """Serve clients on 127.0.0.1 until SIGINT or SIGTERM.

    Args:
        app: the application.
        port: where to listen; 0 for a free one.
        origins: addresses that a proxy in front of it has, such as ``https://tools.example``.
        say: shows a line to the user.

    Raises:
        PortError: the port cannot be used.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    advice = "choose another port with --http PORT (0 for any free one)"
    with _listening(app, port, origins, advice) as (server, sock, address):

        def ask_to_stop() -> None:
            server.force_exit = stop.is_set()
            if not stop.is_set():
                say("stopping")
                end_in_time(status=0)
            stop.set()

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, ask_to_stop)
        say(f"serving MCP on {address}; Ctrl-C stops it")
        try:
            await _serve_until(stop, app, server, sock, _SHORT_DRAIN_SECONDS)
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)


async def serve_gateway(context: ServiceContext) -> None:
    """Serve clients in ``oneclaw serve``, at the port that the user has chosen.

    Args:
        context: of the service.

    Raises:
        PortError: the port cannot be used.
    """
    from oneclaw_core.http import ServerTokens
    from oneclaw_mcp.serving import make_offer, open_journal

    settings = context.settings
    tokens = ServerTokens(context.storage)
    agent = settings.gateway_agent or None
    offer = await make_offer(context.app, (), agent=agent, is_read_only=settings.gateway_read_only)
    app = HttpServer(context.app, tokens, offer, await open_journal(context.storage))
    has_tokens = bool(await tokens.list())
    advice = "end that program, or choose another port with: oneclaw config set mcp.gateway_port PORT"
    with _listening(app, settings.gateway_port, settings.gateway_origins, advice) as (server, sock, address):
        context.ready(address)
        if not has_tokens:
            context.show("no client has a token yet: oneclaw mcp token create NAME")
        await _serve_until(context.stopping, app, server, sock, DRAIN_SECONDS)


@contextmanager
def _listening(
    app: HttpServer, port: int, origins: Iterable[str], advice: str
) -> Iterator[tuple[uvicorn.Server, socket.socket, str]]:
    with listen(_ADDRESS, port, advice=advice) as sock:
        port = sock.getsockname()[1]
        yield guarded_server(app, port, origins), sock, f"http://{_ADDRESS}:{port}{PATH}"


async def _serve_until(
    stop: asyncio.Event, app: HttpServer, server: uvicorn.Server, sock: socket.socket, drain_seconds: float
) -> None:
    # Faults of clients are answered, and need not be logged too.
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    watching = asyncio.create_task(app.watch())
    serving = asyncio.create_task(server.serve(sockets=[sock]))
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
        server.should_exit = True
        # Streams that are ended now would each be logged as a fault.
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        await app.drain(drain_seconds)
        await serving
    finally:
        for task in (stopping, watching, serving):
            task.cancel()


def guarded_server(app: HttpServer, port: int, origins: Iterable[str] = ()) -> uvicorn.Server:
    """Make the server for an application behind the guard.

    Args:
        app: the application.
        port: it is reached at.
        origins: addresses of a proxy in front.

    Raises:
        UsageError: an origin is not the address of a server.
    """
    public = list(origins)
    own = [f"http://{name}:{port}" for name in (_ADDRESS, "localhost")]
    return _uvicorn_server(ServerGuard(app, [*own, *public], is_behind_proxy=bool(public)))


def _uvicorn_server(app: Any) -> uvicorn.Server:
    """Make a server that leaves signals alone, and closes connections that send no request."""
    import uvicorn
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Protocol(ImpatientConnection, H11Protocol):
        """Is closed when it sends no request."""

    class Server(uvicorn.Server):
        """Is stopped by its caller."""

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

    return Server(
        uvicorn.Config(
            app,
            http=Protocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=15,
            timeout_graceful_shutdown=2,
        )
    )
