"""Read the responses of a model service: whole documents, and streams of chunks, within limits."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, cast

from oneclaw_core.http.clients import expands_boundedly
from oneclaw_core.http.messages import body_pieces
from oneclaw_core.providers.answer import END_OF_STREAM, END_SECONDS
from oneclaw_core.providers.event_stream import StreamTooLargeError, event_data

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from contextlib import AbstractAsyncContextManager

    import httpx

    from oneclaw_core.providers.service_errors import ServiceErrors

_MAX_BODY_BYTES = 64 * 1024 * 1024
_MAX_ERROR_BYTES = 64 * 1024


class ResponseReader:
    """Reads the responses of one service."""

    def __init__(self, errors: ServiceErrors) -> None:
        self._errors = errors

    @asynccontextmanager
    async def answering(
        self, stream: AbstractAsyncContextManager[httpx.Response], seconds: float | None
    ) -> AsyncGenerator[tuple[httpx.Response, AsyncGenerator[bytes, None]], None]:
        """Send a request and wait for its answer: the response, and the pieces of its body.

        Args:
            stream: sends it when it is entered.
            seconds: how long the first byte may take; ``None`` for the client's own limit.

        Raises:
            AttemptFailed: the first byte did not come in time.
        """
        until = None if seconds is None else asyncio.get_running_loop().time() + seconds
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout_at(until):
                    response = await stack.enter_async_context(stream)
            except TimeoutError:
                raise self._errors.silent(seconds or 0) from None
            pieces = cast("AsyncGenerator[bytes, None]", body_pieces(response))
            yield response, pieces if until is None else self._begun_by(pieces, until, seconds or 0)

    async def _begun_by(
        self, pieces: AsyncGenerator[bytes, None], until: float, seconds: float
    ) -> AsyncGenerator[bytes, None]:
        """Yield the pieces of a body, the first of which has to come in time."""
        async with aclosing(pieces):
            try:
                async with asyncio.timeout_at(until):
                    first = await anext(pieces, b"")
            except TimeoutError:
                raise self._errors.silent(seconds) from None
            yield first
            async for piece in pieces:
                yield piece

    async def chunks(
        self, response: httpx.Response, pieces: AsyncGenerator[bytes, None], model: str
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Yield the chunks of a stream; of a server that does not stream, its one body, or what that lists."""
        import httpx

        await self.check(response, model)
        content_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if content_type == "application/json" or content_type.endswith("+json"):
            body = await self.whole_json(response)
            for chunk in body if isinstance(body, list) and body else [body]:
                yield self._checked(chunk, model)
            return
        async with (
            aclosing(pieces) as content,
            aclosing(event_data(content)) as events,
        ):
            try:
                async for data in events:
                    if data.strip() == "[DONE]":
                        yield END_OF_STREAM
                        break
                    yield self._checked(self._parsed(data), model)
                with suppress(TimeoutError, httpx.HTTPError):
                    async with asyncio.timeout(END_SECONDS):
                        async for _ in events:
                            pass
            except StreamTooLargeError:
                raise self._errors.no_answer("it sent more than any answer takes") from None

    async def check(self, response: httpx.Response, model: str | None) -> None:
        """Raise what an answer that is none calls for."""
        if not expands_boundedly(response.headers):
            raise self._errors.no_answer("it is compressed in a way that was not asked for")
        if not response.is_success:
            body = await self._body(response, _MAX_ERROR_BYTES)
            raise self._errors.of_status(response.status_code, response.headers, body, model)
        if response.headers.get("content-type", "").lower().startswith("text/html"):
            raise self._errors.no_answer("it sent a web page")

    async def whole_json(self, response: httpx.Response) -> object:
        """Read a document to its end.

        Raises:
            AttemptFailed: it is not JSON.
        """
        body = await self._body(response, _MAX_BODY_BYTES)
        return self._parsed(body.decode("utf-8", "replace"))

    async def _body(self, response: httpx.Response, limit: int) -> bytes:
        body = bytearray()
        async with aclosing(cast("AsyncGenerator[bytes, None]", body_pieces(response))) as content:
            async for piece in content:
                body += piece
                if len(body) > limit:
                    break
        return bytes(body[:limit])

    def _parsed(self, text: str) -> object:
        try:
            # Bytes that were no UTF-8 have become this character; in a key they would hide a part of the answer.
            return json.loads(text, object_pairs_hook=_with_whole_keys if "\ufffd" in text else None)
        except (ValueError, RecursionError):
            raise self._errors.no_answer("it sent something that is not JSON") from None

    def _checked(self, chunk: object, model: str) -> dict[str, Any]:
        if not isinstance(chunk, dict):
            raise self._errors.no_answer("it sent something that is not part of an answer")
        if chunk.get("error"):
            raise self._errors.of_error_object(chunk["error"], model)
        return chunk


def _with_whole_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if any("\ufffd" in key for key, _ in pairs):
        raise ValueError("a key is garbled")
    return dict(pairs)
