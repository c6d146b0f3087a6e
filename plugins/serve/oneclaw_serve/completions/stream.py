"""A streamed answer: its pieces as they come, and a sign of life while there are none."""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from oneclaw_core import OneClawError
from oneclaw_serve.errors import Refusal, refusal_of, unexpected

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable

    from starlette.requests import Request

_log = logging.getLogger("oneclaw.serve")
# Proxies and clients give up on a stream that is silent for 15 to 60 seconds.
SIGN_OF_LIFE_SECONDS = 10.0
_DISCONNECT_SECONDS = 1.0
_SIGN_OF_LIFE = ": keep-alive\n\n"


class Pieces:
    """The pieces of an answer, made by a task; what it raises is raised where they are read.

    Args:
        events: makes the pieces.
    """

    def __init__(self, events: AsyncIterator[str]) -> None:
        self._queue: asyncio.Queue[str | None] = asyncio.Queue()
        self._task = asyncio.create_task(self._fill(events))
        self._first: list[str | None] = []

    async def _fill(self, events: AsyncIterator[str]) -> None:
        try:
            async for piece in events:
                self._queue.put_nowait(piece)
        finally:
            self._queue.put_nowait(None)

    async def begin(self, request: Request, seconds: float | None) -> None:
        """Wait for the first piece, so that an early error becomes the status of the response.

        Args:
            request: whose client waits.
            seconds: how long to wait at most; ``None`` for all pieces.

        Raises:
            OneClawError: the answer failed.
            Refusal: the client is gone.
        """
        deadline = None if seconds is None else asyncio.get_running_loop().time() + seconds
        while deadline is None or asyncio.get_running_loop().time() < deadline:
            piece = await self._next(_DISCONNECT_SECONDS)
            if piece == "":
                if await request.is_disconnected():
                    raise Refusal(499, "client_closed", "the client is gone")
                continue
            self._first.append(piece)
            if piece is None or deadline is not None:
                break
        if self._first and self._first[-1] is None:
            await self._task

    async def _next(self, seconds: float) -> str | None:
        """Return the next piece, ``None`` at the end, an empty one if there is none in time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                return await self._queue.get()
        return ""

    async def read(self) -> AsyncGenerator[str, None]:
        """Yield the pieces, and an empty one whenever there is none for a while."""
        while (piece := self._first.pop(0) if self._first else await self._next(SIGN_OF_LIFE_SECONDS)) is not None:
            yield piece
        await self._task

    async def aclose(self) -> None:
        """End the task, with what it works on."""
        self._task.cancel()
        await asyncio.wait({self._task})
        if not self._task.cancelled():
            self._task.exception()  # it was raised where the pieces were read


async def stream_chunks(
    pieces: Pieces, head: dict[str, Any], finish_reason: Callable[[], str], usage: Callable[[], dict[str, int]] | None
) -> AsyncGenerator[str, None]:
    """Write an answer as server-sent events.

    Args:
        pieces: of its text.
        head: the members that all chunks have.
        finish_reason: why it ended, asked at the end.
        usage: what it used, asked at the end; ``None`` to leave it out.
    """

    def chunk(choices: list[dict[str, Any]], **more: Any) -> str:
        return f"data: {json.dumps({**head, 'choices': choices, **more}, ensure_ascii=False)}\n\n"

    def delta(content: dict[str, Any], reason: str | None = None) -> list[dict[str, Any]]:
        return [{"index": 0, "delta": content, "finish_reason": reason}]

    try:
        yield chunk(delta({"role": "assistant", "content": ""}))
        async for piece in pieces.read():
            yield chunk(delta({"content": piece})) if piece else _SIGN_OF_LIFE
        yield chunk(delta({}, finish_reason()))
        if usage is not None:
            yield chunk([], usage=usage())
        yield "data: [DONE]\n\n"
    except Exception as error:  # noqa: BLE001  # the status is sent already: only an event can tell it
        if not isinstance(error, OneClawError):
            _log.error("a streamed answer broke", exc_info=error)
        refusal = refusal_of(error) if isinstance(error, OneClawError) else unexpected(error)
        yield f"data: {json.dumps({'error': refusal.document()})}\n\n"
    finally:
        await pieces.aclose()
