"""The streams of messages of any transport, with answers that the SDK takes."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCRequest, JSONRPCResponse
from mcp_types.version import LATEST_HANDSHAKE_VERSION

from oneclaw_mcp.answers import usable_result, with_known_version

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from contextlib import AbstractAsyncContextManager

_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"


@dataclass(slots=True)
class Exchange:
    """The state of a connection that its two streams share.

    Attributes:
        has_ended: True if nothing more comes from the server.
        odd_items: of each method, the items of its last list that the SDK does not take.
        version: of the protocol, as the server has answered.
        offered_version: of the protocol, in the place of the latest one with a handshake; ``None`` for that one.
    """

    has_ended: bool = False
    odd_items: dict[str, list[Any]] = field(default_factory=dict)
    version: str = LATEST_HANDSHAKE_VERSION
    offered_version: str | None = None
    _last_id: int = 0
    _methods: dict[str, tuple[str, str]] = field(default_factory=dict)

    def note(self, message: Any) -> None:
        """Remember a request."""
        if isinstance(message, JSONRPCRequest):
            meta = (message.params or {}).get("_meta") or {}
            self._methods[str(message.id)] = message.method, meta.get(_VERSION_KEY, self.version)
            self._last_id = max(self._last_id, message.id if isinstance(message.id, int) else 0)
            if message.method == "initialize" and self.offered_version is not None:
                message.params = {**(message.params or {}), "protocolVersion": self.offered_version}
        elif getattr(message, "method", "") == "notifications/cancelled":
            self._methods.pop(str((message.params or {}).get("requestId")), None)

    def usable(self, message: Any) -> Any:
        """Return a received message as the SDK takes it."""
        if not isinstance(message, JSONRPCResponse | JSONRPCError):
            return message
        number: Any = message.id
        # An id that no request had can only be that of the one that waits; one of an earlier request comes late.
        if str(number) not in self._methods and len(self._methods) == 1 and not self._is_known(number):
            number = next(iter(self._methods))
            message = message.model_copy(update={"id": number})
        method, version = self._methods.pop(str(number), ("", self.version))
        if not method or isinstance(message, JSONRPCError):
            return message
        result, self.odd_items[method] = usable_result(method, version, message.result)
        if method == "initialize":
            result = with_known_version(result)
            self.version = result["protocolVersion"]
        return message.model_copy(update={"result": result})

    def _is_known(self, number: Any) -> bool:
        """Return True if a request had an id."""
        text = str(number)
        return text.isdecimal() and 0 < int(text) <= self._last_id


class _Received:
    """Received messages; like the stream that it reads, it has the context of each one."""

    def __init__(self, stream: Any, exchange: Exchange) -> None:
        self._stream, self._exchange = stream, exchange

    @property
    def last_context(self) -> Any:
        return getattr(self._stream, "last_context", None)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            item = await anext(self._stream)
        except BaseException:  # it has ended, or is closed
            self._exchange.has_ended = True
            raise
        if isinstance(item, SessionMessage):
            item.message = self._exchange.usable(item.message)
        return item

    async def receive(self) -> Any:
        try:
            return await anext(self)
        except StopAsyncIteration:
            raise anyio.EndOfStream from None

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.aclose()


class _Sent:
    def __init__(self, stream: Any, exchange: Exchange) -> None:
        self._stream, self._exchange = stream, exchange

    async def send(self, item: Any, /) -> None:
        self._exchange.note(item.message)
        await self._stream.send(item)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.aclose()


@asynccontextmanager
async def tolerant(transport: AbstractAsyncContextManager[Any], exchange: Exchange) -> AsyncIterator[tuple[Any, Any]]:
    """Give the streams of a transport to a client of the SDK.

    Args:
        transport: to the server.
        exchange: gets what is learnt of the connection.
    """
    async with transport as (received, sent):
        try:
            yield _Received(received, exchange), _Sent(sent, exchange)
        finally:
            exchange.has_ended = True
