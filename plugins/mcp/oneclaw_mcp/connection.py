"""A started server: one task owns the connection, calls come from any task.

Works around the SDK's client: it must be closed in the task that opened it; it probes for ten seconds even where the
era is known; it lists one page of tools; and it stays dead after a server has forgotten its session.
"""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections import Counter
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from http.client import UNAUTHORIZED
from typing import TYPE_CHECKING, Any

from oneclaw_core import OneClawError
from oneclaw_core.process import run_in_thread
from oneclaw_mcp.cleaning import cleaned, cleaned_line
from oneclaw_mcp.listing import Listed, listed
from oneclaw_mcp.manifest import MAX_PROMPTS, MAX_TOOLS, Manifest, known_prompts, known_tools

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from mcp import Client

    from oneclaw_core import ToolContext
    from oneclaw_mcp.servers import Server
    from oneclaw_mcp.stdio import ServerLog, ServerProgram
    from oneclaw_mcp.tolerant_streams import Exchange

MOST_CALLS = 8
MOST_QUESTIONS = 20
# Of deaths, after which a server is left alone for as long.
_DEATHS = 3
_DEATH_SECONDS = 60.0
_NEWS_SECONDS = 5.0
# For the tools of a server that does not say that it has any.
_UNDECLARED_SECONDS = 3.0
_UNKNOWN_METHOD = -32601
# Notices of changes come in bursts; a server that sends them without an end is looked at ever more rarely.
_SETTLE_SECONDS = 0.5
_MOST_SETTLE_SECONDS = 60.0
_LOWEST_NEW_ERA = "2026"
# A user name and password in an address, which errors of the SDK quote.
_USERINFO = re.compile(r"://[^\s/?#]*@")
# Modules of the SDK import each other, which can make two threads wait for each other.
importing = threading.Lock()
# How long a start waits for the first subscription to changes.
_SUBSCRIBED_SECONDS = 2.0
# Between two subscriptions to changes, where the first one broke.
_SUBSCRIBE_SECONDS = 5.0
_MOST_SUBSCRIBE_SECONDS = 300.0
# Over HTTP the SDK hands it on from the request of a call to what the server sends in its answer.
_current_call: ContextVar[ToolContext | None] = ContextVar("current_call", default=None)


class ServerError(OneClawError):
    """A server could not be started or asked; the message names it.

    Attributes:
        error_type: for the result of a call.
    """

    def __init__(self, message: str, error_type: str = "not_available") -> None:
        super().__init__(message)
        self.error_type = error_type


@dataclass(slots=True)
class HttpState:
    """The state of an HTTP server, by its last answers.

    Attributes:
        statuses: of the last answers.
        refusal: the text of the last answer with a status of an error that was no message.
        sign_ins: of the user that were wanted in vain; each breaks the connection.
    """

    statuses: list[int] = field(default_factory=list)
    refusal: str = ""
    sign_ins: list[str] = field(default_factory=list)

    @property
    def is_refused(self) -> bool:
        """True if the server wants its user to sign in."""
        return bool(self.sign_ins) or self.statuses[-1:] in ([401], [403])


@dataclass(frozen=True, slots=True)
class Transport:
    """A way to a server that is about to be started.

    Attributes:
        streams: async context manager of the streams of messages.
        program: the running program, ``None`` for HTTP.
        http: what the SDK does not tell of the answers over HTTP.
    """

    streams: Any
    program: ServerProgram | None = None
    http: HttpState = field(default_factory=HttpState)


@dataclass(slots=True)
class Connection:
    """A server that is started when it is first needed, and stopped when it is idle.

    Attributes:
        server: as it is configured.
        open_transport: starts the program, or finds what HTTP needs.
        log: what the program writes to standard error; ``None`` for HTTP.
        read_known: returns what is known of the server.
        learn: keeps what was found at a contact, and returns what is known then.
        elicit: answers questions of the server; ``None`` to refuse them.
        tools: the definitions that the server has now, as digests by their true names.
        calls: the contexts of the calls that are under way.
        limits: stops and starts the clock of a call, by the id of its context.
        questions: how many were asked in a call, by the id of its context.
        slots: limits the calls at once.
    """

    server: Server
    open_transport: Callable[[], Awaitable[Transport]]
    read_known: Callable[[], Manifest | None]
    learn: Callable[[Manifest], Manifest]
    log: ServerLog | None = None
    elicit: Any = None
    tools: dict[str, str] = field(default_factory=dict)
    calls: list[ToolContext] = field(default_factory=list)
    limits: dict[int, Callable[[bool], None]] = field(default_factory=dict)
    questions: Counter[int] = field(default_factory=Counter)
    slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MOST_CALLS))
    _client: Client | None = None
    _owner: asyncio.Task[None] | None = None
    _ready: asyncio.Future[None] | None = None
    _ending: asyncio.Event = field(default_factory=asyncio.Event)
    _list_changed: asyncio.Event = field(default_factory=asyncio.Event)
    _program: ServerProgram | None = None
    _http: HttpState = field(default_factory=HttpState)
    _exchange: Exchange | None = None
    _has_looked: bool = False
    _last_used: float = 0.0
    _deaths: list[float] = field(default_factory=list)

    @property
    def is_running(self) -> bool:
        """True if the server is started, or is being started."""
        return self._owner is not None and not self._owner.done()

    @property
    def is_refused(self) -> bool:
        """True if an HTTP server wants its user to sign in."""
        return self._http.is_refused

    @property
    def has_ended(self) -> bool:
        """True if the server has ended, or the connection to it."""
        has_stopped = self._program is not None and self._program.has_ended
        return has_stopped or (self._exchange is not None and self._exchange.has_ended)

    @property
    def is_in_sandbox(self) -> bool:
        """True if the server is a program in a sandbox."""
        return self._program is not None and self._program.is_in_sandbox and self.server.sandbox is not None

    @property
    def refusal(self) -> str:
        """The text of the last answer over HTTP that was none to a message; ``""`` for none."""
        return self._http.refusal

    @property
    def client(self) -> Client:
        """The client of the SDK.

        Raises:
            ServerError: the server does not run.
        """
        if self._client is None:
            raise ServerError(f"The MCP server {self.server.name} does not run.", "interrupted")
        return self._client

    def running(self) -> Client | None:
        """Return the client of the SDK; ``None`` if the server has to be started, or is on its way out."""
        if self._client is None or self._ending.is_set():
            return None
        self._last_used = time.monotonic()
        return self._client

    async def started(self, progress: Callable[[str], None] | None = None) -> Client:
        """Start the server if it does not run, and wait for that.

        Args:
            progress: is told how long it has been starting.

        Raises:
            ServerError: it does not start; the message says why, with the end of what it wrote.
        """
        self._last_used = time.monotonic()
        if self._ending.is_set() and self._owner is not None:  # on its way out
            await asyncio.wait({self._owner})
        if not self.is_running:
            self._refuse_dying()
            loop = asyncio.get_running_loop()
            self._ready, self._ending, self._list_changed = loop.create_future(), asyncio.Event(), asyncio.Event()
            self._owner = loop.create_task(self._own(self._ready), name=f"mcp: {self.server.name}")
        ready, began = self._ready, time.monotonic()
        assert ready is not None
        while not ready.done():
            await asyncio.wait({ready}, timeout=_NEWS_SECONDS)
            if progress is not None and not ready.done():
                progress(f"starting the MCP server {self.server.name}, {time.monotonic() - began:.0f} s")
        ready.result()
        return self.client

    async def aclose(self) -> None:
        """Stop the server, and wait until nothing of it is left."""
        self._ending.set()
        owner = self._owner
        if owner is None:
            return
        if self._client is None:
            owner.cancel()
        await asyncio.wait({owner})

    @asynccontextmanager
    async def in_call(self, context: ToolContext) -> AsyncIterator[None]:
        """Note that a call is under way."""
        self.calls.append(context)
        token = _current_call.set(context)
        try:
            yield
        finally:
            _current_call.reset(token)
            self.calls.remove(context)
            self.limits.pop(id(context), None)
            self.questions.pop(id(context), None)
            self._last_used = time.monotonic()

    def asking_call(self) -> ToolContext | None:
        """Return the call that a question of the server belongs to; ``None`` if that cannot be known.

        Over HTTP a question comes in the answer to a call. Over standard input and output an old server does not say
        which call it asks for, so calls of several conversations cannot be told apart.
        """
        current = _current_call.get()
        if any(each is current for each in self.calls):
            return current
        conversations = {each.session_id or id(each) for each in self.calls}
        return self.calls[-1] if len(conversations) == 1 else None

    async def answers(self, requests: Mapping[str, Any]) -> dict[str, Any]:
        """Answer what a server of the new era wants to know before it goes on.

        Raises:
            ServerError: it asks for something that it is not given.
        """
        from mcp_types import ElicitRequest, ErrorData

        found: dict[str, Any] = {}
        for key, request in requests.items():
            if not isinstance(request, ElicitRequest) or self.elicit is None:
                raise ServerError(f"The MCP server {self.server.name} asks for something that no server is given.")
            found[key] = await self.elicit(None, request.params)
            if isinstance(found[key], ErrorData):
                raise ServerError(f"The MCP server {self.server.name}: {found[key].message}")
        return found

    def note_death(self) -> None:
        """Note that the server has ended; its owner may not have seen it yet."""
        if self._client is not None and not self._ending.is_set():
            self._deaths.append(time.monotonic())
            self._ending.set()

    def disconnect(self) -> None:
        """Leave the connection, because it is of no use any more; the next call starts another one."""
        self._ending.set()

    def last_words(self) -> str:
        """Say how the program ended and what it wrote, for an error; ``""`` if there is nothing to say."""
        program = self._program
        said = [each for each in (program.fault or program.end if program is not None else "",) if each]
        tail = self.log.tail() if self.log is not None else ""
        if tail:
            said.append(f"the end of its standard error:\n{tail}")
        return "; ".join(said)

    async def _own(self, ready: asyncio.Future[None]) -> None:
        began = time.monotonic()
        try:
            async with AsyncExitStack() as stack:
                try:
                    client = await self._started_client(stack, began)
                except Exception as error:
                    ready.set_exception(self._start_error(error))  # before it is closed, and has ended anyway
                    raise
                self._client = client
                ready.set_result(None)
                await self._serve(client)
        except asyncio.CancelledError:
            if not ready.done():
                ready.set_exception(ServerError(f"The MCP server {self.server.name} was stopped.", "interrupted"))
        except BaseException as error:  # noqa: BLE001  # a library and a foreign server; told to who waits
            if not ready.done():
                ready.set_exception(self._start_error(error))
        finally:
            self._client = None
            if ready.done() and not ready.cancelled():
                ready.exception()  # seen, also where no one waits any more
            if not self._ending.is_set() and not self.is_refused:
                self._deaths.append(time.monotonic())

    async def _started_client(self, stack: AsyncExitStack, began: float) -> Client:
        try:
            async with asyncio.timeout(self.server.start_seconds):
                client = await self._connect(stack)
                await self._subscribed(client, stack)
                self._has_looked = True
                await self._look(client, time.monotonic() - began)
                return client
        except TimeoutError:
            text = f"it has not answered within {self.server.start_seconds:g} s (start_seconds)"
            raise ServerError(text) from None

    async def _subscribed(self, client: Client, stack: AsyncExitStack) -> None:
        """Listen for changes before the first look: else one that comes between the two would be missed."""
        self._has_looked = False
        tried = asyncio.Event()
        subscription = asyncio.ensure_future(self._subscribe(client, tried))

        async def end() -> None:
            subscription.cancel()
            await asyncio.wait({subscription})

        stack.push_async_callback(end)
        with suppress(TimeoutError):  # then the tools are listed once more when it listens
            async with asyncio.timeout(_SUBSCRIBED_SECONDS):
                await tried.wait()

    async def _connect(self, stack: AsyncExitStack) -> Client:
        from mcp_types import DiscoverResult

        known = self.read_known()
        if known is not None and known.era < _LOWEST_NEW_ERA:
            return await self._connected(stack, "legacy", offered_version=known.era)
        if known is not None and known.discovered is not None:
            return await self._connected(stack, known.era, DiscoverResult.model_validate(known.discovered))
        try:
            return await self._connected(stack, "auto")
        except Exception as error:
            if self._program is not None and self._program.has_exited and self.log is not None:
                # There are servers of the old era that end at any request before "initialize".
                self.log.forget()
                return await self._connected(stack, "legacy")
            version = self._named_version(error)
            if version is None:
                raise
            return await self._connected(stack, "legacy", offered_version=version)

    def _named_version(self, error: Exception) -> str | None:
        """Return the latest version that a server names when it refuses the one that it was offered."""
        from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

        found = first_error(error)
        text = f"{found} {getattr(found, 'data', '')} {self.refusal}"
        named = [each for each in HANDSHAKE_PROTOCOL_VERSIONS[:-1] if each in text]
        return named[-1] if named else None

    async def _connected(
        self, stack: AsyncExitStack, mode: str, discovered: Any = None, offered_version: str | None = None
    ) -> Client:
        importing = asyncio.ensure_future(run_in_thread(_import_sdk))
        transport = await self.open_transport()
        self._program, self._http = transport.program, transport.http
        if transport.program is not None:
            transport.program.start()
            stack.push_async_callback(transport.program.close)
        await importing
        from mcp import Client
        from mcp_types import Implementation

        from oneclaw_core import __version__
        from oneclaw_mcp.tolerant_streams import Exchange, tolerant

        self._exchange = Exchange(offered_version=offered_version)
        client = Client(
            tolerant(transport.streams(), self._exchange),
            mode=mode,
            prior_discover=discovered,
            read_timeout_seconds=self.server.start_seconds,
            client_info=Implementation(name="oneclaw", version=__version__),
            elicitation_callback=self.elicit,
            message_handler=self._notice,
            cache=None,
        )
        return await stack.enter_async_context(client)

    async def _look(self, client: Client, start_seconds: float | None = None) -> Manifest:
        """List the tools, all pages of them, and keep what is new.

        Args:
            client: of the server.
            start_seconds: how long it took to start; ``None`` if it has been running.
        """
        definitions = await self._listed_tools(client)
        prompts = await self._listed_prompts(client)
        discovered = client.session.discover_result
        known = self.read_known()
        tools, refused = known_tools(self.server, definitions.items, known)
        if definitions.problem:
            refused = (*refused, ("(all others)", definitions.problem))
        if start_seconds is None:
            start_seconds = known.start_seconds if known is not None else 0.0
        info = client.server_info
        found = Manifest(
            era=client.protocol_version,
            discovered=None
            if discovered is None
            else discovered.model_dump(by_alias=True, exclude_none=True, mode="json"),
            title=cleaned(f"{info.title or info.name} {info.version}" if info is not None else "", 100),
            instructions=cleaned(client.instructions),
            tools=tools,
            refused=refused,
            found_at=time.time(),
            start_seconds=start_seconds,
            has_resources=client.server_capabilities.resources is not None,
            address=self.server.address,
            prompts=known_prompts(self.server.name, prompts.items),
        )
        self.tools = {each.wire: each.digest for each in tools}
        return self.learn(found)

    async def _listed_tools(self, client: Client) -> Listed:
        """List the tools; a server that does not declare any may have some nevertheless.

        Raises:
            ServerError: it does not list them.
        """
        from mcp import MCPError

        is_declared = client.server_capabilities.tools is not None
        try:
            async with asyncio.timeout(None if is_declared else _UNDECLARED_SECONDS):
                found = await listed(lambda cursor: self._page(client.list_tools, "tools", cursor), MAX_TOOLS)
        except TimeoutError:
            return Listed()
        except MCPError as error:
            if not is_declared:
                return Listed()
            raise ServerError(f"it does not list its tools: {cleaned_line(str(error), 500)}") from None
        if found.problem and not found.items:
            raise ServerError(found.problem)
        return found

    async def _listed_prompts(self, client: Client) -> Listed:
        """List the prompts, which are for the user alone: tools work without them."""
        from mcp import MCPError

        if client.server_capabilities.prompts is not None:
            with suppress(MCPError):
                return await listed(lambda cursor: self._page(client.list_prompts, "prompts", cursor), MAX_PROMPTS)
        return Listed()

    async def _page(self, read: Any, kind: str, cursor: str | None) -> tuple[list[Any], str | None]:
        """Read a page of a list: its items, those that the SDK does not take included, and the next cursor."""
        page = await read(cursor=cursor)
        items = [each.model_dump(by_alias=True, exclude_none=True, mode="json") for each in getattr(page, kind)]
        odd = self._exchange.odd_items.pop(f"{kind}/list", []) if self._exchange is not None else []
        return [*items, *odd], page.next_cursor

    async def _serve(self, client: Client) -> None:
        """Stay until the server ends, is idle, or is not needed any more."""
        ended = asyncio.ensure_future(self._program.ended() if self._program is not None else asyncio.Event().wait())
        ending = asyncio.ensure_future(self._ending.wait())
        settle, looked_at = _SETTLE_SECONDS, 0.0
        try:
            while not ended.done() and not ending.done():
                changed = asyncio.ensure_future(self._list_changed.wait())
                left = self._last_used + self.server.idle_seconds - time.monotonic()
                await asyncio.wait(
                    {ended, ending, changed}, timeout=max(left, 0.01), return_when=asyncio.FIRST_COMPLETED
                )
                changed.cancel()
                if self._list_changed.is_set():
                    is_restless = time.monotonic() < looked_at + 2 * settle
                    settle = min(2 * settle, _MOST_SETTLE_SECONDS) if is_restless else _SETTLE_SECONDS
                    await asyncio.wait({ended, ending}, timeout=settle, return_when=asyncio.FIRST_COMPLETED)
                    self._list_changed.clear()
                    async with asyncio.timeout(self.server.start_seconds):
                        await self._look(client)
                    looked_at = time.monotonic()
                elif not self.calls and time.monotonic() >= self._last_used + self.server.idle_seconds:
                    self._ending.set()
                    break
        finally:
            for each in (ended, ending):
                each.cancel()

    async def _subscribe(self, client: Client, tried: asyncio.Event) -> None:
        """Listen for changes of the list of tools; a server of the old era sends them without that.

        Args:
            client: of the server.
            tried: set once it listens, or has failed to for the first time.
        """
        try:
            await self._keep_subscribed(client, tried)
        finally:
            tried.set()

    async def _keep_subscribed(self, client: Client, tried: asyncio.Event) -> None:
        from mcp import MCPError
        from mcp.client.subscriptions import SubscriptionLost

        tools = client.server_capabilities.tools
        if client.protocol_version < _LOWEST_NEW_ERA or tools is None or not tools.list_changed:
            return
        seconds = _SUBSCRIBE_SECONDS
        while True:
            try:
                async with client.listen(tools_list_changed=True) as changes:
                    if self._has_looked:  # nothing is replayed
                        self._list_changed.set()
                    tried.set()
                    async for _ in changes:
                        self._list_changed.set()
            except (MCPError, SubscriptionLost, TimeoutError) as error:
                if getattr(error, "code", None) == _UNKNOWN_METHOD:
                    return
            tried.set()
            await asyncio.sleep(seconds)
            seconds = min(2 * seconds, _MOST_SUBSCRIBE_SECONDS)

    async def _notice(self, message: Any) -> None:
        from mcp_types import ToolListChangedNotification

        if isinstance(message, ToolListChangedNotification):
            self._list_changed.set()

    def _start_error(self, error: BaseException) -> ServerError:
        said = self.last_words()
        reason = describe(error)
        if self._program is not None and (self._program.fault or self._program.end):
            reason, _, tail = said.partition("; ")
            said = tail
        text = f"The MCP server {self.server.name} does not start: {reason}"
        kind = "not_available"
        # In the new era a refused probe is followed by an attempt in the old one, which fails otherwise.
        if self.is_refused or UNAUTHORIZED in self._http.statuses:
            kind = "permission_denied"
            text += f"; sign in with: oneclaw mcp login {self.server.name}"
        text = f"{text}; {said}" if said else text
        if self.is_in_sandbox:
            from oneclaw_mcp.sandboxing import sandbox_note

            text = f"{text}\n{sandbox_note(self.server)}"
        return ServerError(text, kind)

    def _refuse_dying(self) -> None:
        now = time.monotonic()
        self._deaths = [each for each in self._deaths if each > now - _DEATH_SECONDS]
        if len(self._deaths) >= _DEATHS:
            wait = self._deaths[-_DEATHS] + _DEATH_SECONDS - now
            said = self.last_words()
            raise ServerError(
                f"The MCP server {self.server.name} ended {len(self._deaths)} times within a minute, and is left alone "
                f"for {wait:.0f} s{'; ' + said if said else ''}"
            )


def describe(error: BaseException) -> str:
    """Describe an error of the SDK, out of the groups that it comes in, on one line."""
    found = first_error(error)
    if isinstance(found, OneClawError):
        return str(found)
    kind = type(found).__name__
    if kind == "ValidationError":  # of pydantic
        first = found.errors()[0]  # type: ignore[attr-defined]  # imported by the SDK alone
        place = "/".join(map(str, first["loc"]))
        return cleaned_line(f"it sent what the protocol does not allow, at {place}: {first['msg']}", 500)
    text = _USERINFO.sub("://", cleaned_line(str(found), 500))
    if isinstance(found, FileNotFoundError) or not text:
        return text or kind
    return text if kind == "MCPError" else f"{kind}: {text}"


def first_error(error: BaseException) -> BaseException:
    """Return the first error that is no group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _import_sdk() -> None:
    """Import what takes most of a second, in a thread while the program starts."""
    with importing:
        import mcp.client.streamable_http  # noqa: F401

        answer_adapter()


@cache
def answer_adapter() -> Any:  # the SDK takes one of its models alone, by its types
    """Return what takes the answer to a call as it is; the SDK has validated it by the version of the protocol."""
    from pydantic import TypeAdapter

    return TypeAdapter(dict[str, Any])
