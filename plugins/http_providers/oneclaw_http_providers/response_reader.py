"""Read the responses of a model service: whole documents, and streams of chunks, within limits."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, cast

from oneclaw_core.http import body_pieces, expands_boundedly, unpacked
from oneclaw_http_providers.answer import END_OF_STREAM, END_SECONDS
from oneclaw_http_providers.body_documents import BodyDocuments, BodyTooLargeError, BrokenDocumentError
from oneclaw_http_providers.error_objects import error_in

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from contextlib import AbstractAsyncContextManager

    import httpx

    from oneclaw_http_providers.body_documents import Document
    from oneclaw_http_providers.retry import AttemptFailed
    from oneclaw_http_providers.service_errors import ServiceErrors

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
        """Yield the chunks of an answer, be it a stream or one body; its bytes say which, and not its label."""
        import httpx

        await self.check(response, model)
        documents = BodyDocuments()
        async with aclosing(pieces) as content, aclosing(_documents_of(content, documents)) as found:
            has_begun = False
            try:
                async for document in found:
                    if document.is_end:
                        yield END_OF_STREAM
                        break
                    if (error := error_in(document)) is not None:
                        raise self._errors.of_error_object(error, model)
                    has_begun = True
                    yield document.value
                else:
                    if not has_begun:
                        raise self._without_answer(documents.other_text)
                with suppress(TimeoutError, httpx.HTTPError, BrokenDocumentError):
                    async with asyncio.timeout(END_SECONDS):
                        async for _ in found:
                            pass
            except BodyTooLargeError:
                raise self._errors.no_answer("it sent more than any answer takes") from None
            except BrokenDocumentError:
                raise (
                    self._errors.garbled()
                    if has_begun
                    else self._errors.no_answer("it sent something that is not JSON")
                ) from None

    def _without_answer(self, text: str) -> AttemptFailed:
        text = text.strip()
        if not text:
            return self._errors.closed_silently()
        if text.startswith("<"):
            return self._errors.no_answer("it sent a web page")
        return self._errors.no_answer(f"it sent something that is not part of an answer ({self._errors.clean(text)})")

    async def check(self, response: httpx.Response, model: str | None) -> None:
        """Raise what an answer that is none calls for."""
        if not expands_boundedly(response.headers):
            raise self._errors.no_answer("it is compressed in a way that was not asked for")
        if not response.is_success:
            body = await self._body(response, _MAX_ERROR_BYTES)
            raise self._errors.of_status(response.status_code, response.headers, body, model)

    async def whole_json(self, response: httpx.Response) -> object:
        """Read a document to its end.

        Raises:
            AttemptFailed: it is not JSON.
        """
        body = await self._body(response, _MAX_BODY_BYTES)
        text = body.decode("utf-8", "replace").removeprefix("\ufeff").lstrip()
        if text.startswith("<"):
            raise self._errors.no_answer("it sent a web page")
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise self._errors.no_answer("it sent something that is not JSON") from None

    async def _body(self, response: httpx.Response, limit: int) -> bytes:
        body = bytearray()
        async with (
            aclosing(cast("AsyncGenerator[bytes, None]", body_pieces(response))) as content,
            aclosing(unpacked(content)) as plain,
        ):
            async for piece in plain:
                body += piece
                if len(body) > limit:
                    break
        return bytes(body[:limit])


async def _documents_of(
    pieces: AsyncGenerator[bytes, None], documents: BodyDocuments
) -> AsyncGenerator[Document, None]:
    """Yield the documents of a body as they come."""
    async with aclosing(unpacked(pieces)) as plain:
        async for piece in plain:
            for document in documents.feed(piece):
                yield document
    for document in documents.end():
        yield document
