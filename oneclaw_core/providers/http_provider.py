"""What all wire formats over HTTP share: connecting, retrying, streaming, and what goes wrong.

A wire format says where it is asked, how a request is written, and how an answer is put together from its chunks.
"""

from __future__ import annotations

import asyncio
import codecs
import json
import logging
from abc import ABC, abstractmethod
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

from oneclaw_core.errors import (
    ContextTooLongError,
    ProviderAuthenticationError,
    ProviderRequestError,
    SettingsError,
)
from oneclaw_core.http.client_pool import ClientPool
from oneclaw_core.http.clients import create_client, expands_boundedly
from oneclaw_core.http.messages import body_pieces
from oneclaw_core.providers.base import (
    KEY_HEADERS,
    LoadingRefused,
    RetryNotice,
    ToolLoading,
    UsageSoFar,
    WireRequest,
)
from oneclaw_core.providers.images import ImageFitter
from oneclaw_core.providers.key_rotation import KeyRotation
from oneclaw_core.providers.refusals import refused_parts
from oneclaw_core.providers.retry import (
    ANSWER_PARTS,
    AttemptFailed,
    RefusedParameters,
    RetryPolicy,
    with_retries,
)
from oneclaw_core.providers.service_errors import ServiceErrors
from oneclaw_core.providers.service_url import ServiceUrl
from oneclaw_core.providers.wire import compact_json
from oneclaw_core.secrets.redaction import REDACTED
from oneclaw_core.types.messages import TokenUsage

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping
    from contextlib import AbstractAsyncContextManager

    import httpx

    from oneclaw_core.providers.base import ModelEvent, ModelInfo, ModelRequest, ModelResponse, ProviderConfig
    from oneclaw_core.providers.images import ImageLimits


_log = logging.getLogger("oneclaw.providers")

MAX_EVENT_BYTES = 16 * 1024 * 1024
MAX_STREAM_BYTES = 256 * 1024 * 1024

# What ``data: [DONE]`` says, as a chunk.
END_OF_STREAM: dict[str, Any] = {"object": "end_of_stream"}
_ANSWER_TYPES = "text/event-stream, application/json"
_MAX_BODY_BYTES = 64 * 1024 * 1024
_MAX_ERROR_BYTES = 64 * 1024
# Once the model is done, how long the token counts may take; and once nothing more is needed, how long the end of the
# stream may, so that the connection can be used again.
_COUNTS_SECONDS = 5
_END_SECONDS = 0.25


class StreamTooLargeError(Exception):
    """The server sends more than any answer takes."""


async def event_data(
    chunks: AsyncIterator[bytes], max_event_bytes: int = MAX_EVENT_BYTES, max_stream_bytes: int = MAX_STREAM_BYTES
) -> AsyncGenerator[str, None]:
    """Yield the data of each event of a stream; events without data and comments are left out.

    The bytes are read as UTF-8 whatever the server calls them, as the format demands; invalid ones are replaced.

    Args:
        chunks: the stream, split anywhere.
        max_event_bytes: the most that may come before an event is complete.
        max_stream_bytes: the most that may come at all.

    Raises:
        StreamTooLargeError: one of the limits is exceeded.
    """
    pending: list[bytes] = []  # of a line that is not complete
    data: list[bytes] = []
    total = since_event = 0
    is_first_line = True
    async for chunk in chunks:
        since_event += len(chunk)
        total += len(chunk)
        if since_event > max_event_bytes or total > max_stream_bytes:
            raise StreamTooLargeError
        pending.append(chunk)
        if b"\n" not in chunk and b"\r" not in chunk:
            continue
        lines = b"".join(pending).splitlines(keepends=True)
        # A carriage return at the end may be the first half of a line's end.
        pending = [] if lines[-1].endswith(b"\n") else [lines.pop()]
        for line in lines:
            if is_first_line:
                line, is_first_line = line.removeprefix(codecs.BOM_UTF8), False
            name, _, value = line.rstrip(b"\r\n").partition(b":")
            if name == b"data":
                data.append(value.removeprefix(b" "))
            elif not name and not line.startswith(b":"):
                since_event = 0
                text = b"\n".join(data).decode(errors="replace")
                data.clear()
                if text:
                    yield text
    if data and b"".join(pending) == b"\r" and (text := b"\n".join(data).decode(errors="replace")):
        yield text


class AnswerCutError(Exception):
    """The answer was cut off in the middle of a tool call, not by the token limit; the message says by what.

    What the token limit cuts is a response with ``cut_calls``.
    """


class AnswerFailedError(Exception):
    """The service gave up in the middle of its answer.

    Attributes:
        error: its error object.
    """

    def __init__(self, error: object) -> None:
        super().__init__("the service gave up")
        self.error = error


class AnswerGarbledError(Exception):
    """A part of the answer cannot follow those before it."""


class Answer(Protocol):
    """Takes the chunks of an answer one by one.

    It may have one more attribute, ``may_end``: True if the answer is complete in case that nothing more comes.
    """

    @property
    def has_begun(self) -> bool:
        """Whether anything of the answer has come."""
        ...

    @property
    def usage(self) -> TokenUsage:
        """Tokens that the service has counted so far; the same object until it counts more."""
        ...

    @property
    def is_complete(self) -> bool:
        """Whether the service has said that the model is done."""
        ...

    @property
    def is_final(self) -> bool:
        """Whether nothing more is expected of a complete answer, not even token counts."""
        ...

    def add(self, chunk: Mapping[str, Any]) -> Iterable[ModelEvent]:
        """Take the JSON object of an event, and give what is to be shown now.

        Raises:
            AnswerFailedError: the event says that the service gave up.
            AnswerGarbledError: the event cannot follow those before it.
        """
        ...

    def response(self) -> ModelResponse:
        """Put the response together.

        Raises:
            AnswerCutError: the service stopped the model in the middle of a call, not for the token limit.
        """
        ...


class HttpProvider(ABC):
    """A model service over HTTP with server-sent events.

    Args:
        config: where it is, and the key.
        first_retry_seconds: the wait before a failed request is sent again the first time.
        sleep: waits.

    Raises:
        SettingsError: the base URL is none.
    """

    default_base_url: ClassVar[str]
    loads_natively = False

    def __init__(
        self,
        config: ProviderConfig,
        *,
        first_retry_seconds: float = 0.5,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._config = config
        self._url = ServiceUrl.of(config, self.default_base_url)
        # There no request is answered without a key; other servers may want none.
        vendor = ServiceUrl.of(replace(config, base_url=None), self.default_base_url)
        self._needs_key = self._url.is_within(vendor.host)
        self._errors = ServiceErrors(config, self._url)
        keys = (config.api_key or "", *config.more_api_keys)
        self._rotation = KeyRotation(keys) if len(keys) > 1 else None
        self._policy = RetryPolicy(config.max_retries, first_delay_seconds=first_retry_seconds, sleep=sleep)
        self._refused_parameters = RefusedParameters()
        self._images = ImageFitter()
        self._told: set[str] = set()  # of images that are not sent
        self._clients = ClientPool(self._connect, config.concurrency)
        self._endpoint_urls: dict[str, httpx.URL] = {}

    @abstractmethod
    def _endpoint(self, request: ModelRequest) -> str:
        """The path below the base URL that answers a request, streaming."""

    @abstractmethod
    def _encode(self, request: ModelRequest) -> bytes:
        """Write a request; the same bytes for the same request."""

    @abstractmethod
    def _new_answer(self, request: ModelRequest) -> Answer:
        """Begin to take an answer."""

    @abstractmethod
    def _key_headers(self, key: str) -> dict[str, str]:
        """The headers that carry the key."""

    @property
    def attachment_media_types(self) -> tuple[str, ...]:
        """Prefixes of the media types of attachments that the wire format can carry."""
        return ("image/",)

    @property
    def image_limits(self) -> ImageLimits | None:
        """Limits of the service for images; ``None`` if unknown. Larger images are resized."""
        return None

    @property
    def most_tools(self) -> int | None:
        """The number of tools that the service takes in a request; ``None`` if it is not known."""
        return None

    @abstractmethod
    async def list_models(self) -> list[ModelInfo]:
        """Ask the service which models it offers; see :class:`oneclaw_core.providers.base.Provider`."""

    def _request_headers(self, request: ModelRequest) -> dict[str, str]:
        """Headers that a request needs beside the usual ones."""
        return {}

    def _concede(self, refusal: str, request: ModelRequest) -> bool:
        """Note what the wire format can do about a refusal; whether the request is to be sent again, and differs."""
        return False

    def _loading_instead(self, error: ProviderRequestError, request: ModelRequest) -> ToolLoading | None:
        """The way of loading to use instead, if an error means that the model does not take the one asked for."""
        return None

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Send a request and yield its answer as it comes; see :class:`oneclaw_core.providers.base.Provider`."""
        while True:
            has_answered = False
            request = self._refused_parameters.without(request)
            try:
                async with aclosing(self._stream_with_retries(request)) as events:
                    async for event in events:
                        has_answered = has_answered or isinstance(event, ANSWER_PARTS)
                        yield event
                return
            except ProviderRequestError as error:
                # Not one of the finer kinds, which have another cause.
                is_plain = type(error) is ProviderRequestError and not has_answered
                if is_plain and (
                    self._concede(str(error), request) or self._refused_parameters.note(str(error), request)
                ):
                    continue
                instead = self._loading_instead(error, request) if is_plain else None
                if instead is None:
                    if not has_answered and not isinstance(error, ContextTooLongError):
                        error.refused_parts = refused_parts(str(error), request)
                    raise
                refused = LoadingRefused(str(error), instead)
            yield refused
            request = replace(request, tool_loading=instead)

    def wire_request(self, request: ModelRequest) -> WireRequest:
        """Write a request as :meth:`stream` would send it, without sending it.

        Raises:
            ProviderError: it cannot be written.
        """
        request = self._refused_parameters.without(request)
        if self.image_limits is not None:
            request, _ = self._images.fit(request, self.image_limits)
        return WireRequest(
            self._url.shown_endpoint(self._endpoint(request)),
            dict.fromkeys(self._config.header_names, REDACTED)
            | self._keyless_headers(_ANSWER_TYPES)
            | self._request_headers(request),
            self._encode(request),
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._clients.aclose()

    async def _stream_with_retries(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        limits = self.image_limits
        if limits is not None and any(message.attachments for message in request.messages):
            request, told = await asyncio.to_thread(self._images.fit, request, limits)
            for reason in told:
                if reason not in self._told:
                    self._told.add(reason)
                    _log.warning("%s", reason)
        body = self._encode(request)
        attempt = self._attempt if self._rotation is None else partial(self._attempt_with_any_key, self._rotation)
        async with aclosing(with_retries(lambda: attempt(request, body), self._policy)) as events:
            async for event in events:
                yield event

    async def _attempt_with_any_key(
        self, rotation: KeyRotation, request: ModelRequest, body: bytes
    ) -> AsyncGenerator[ModelEvent, None]:
        """Make an attempt, again with the next key where the service refuses one."""
        while True:
            key, has_answered = rotation.current(), False
            try:
                async with aclosing(self._attempt(request, body, key)) as events:
                    async for event in events:
                        has_answered = has_answered or isinstance(event, ANSWER_PARTS)
                        yield event
                return
            except AttemptFailed as failure:
                if has_answered or not rotation.set_aside(key, failure):
                    raise
                notice = RetryNotice(f"{failure.error}; using another of its keys", 0)
            yield notice

    async def _get_json(self, path: str) -> Any:
        """Ask for a JSON document below the base URL, without retries.

        Raises:
            ProviderError: in its finer kinds.
        """
        return await self._ask_json(self._url.endpoint(path))

    async def _ask_json(self, url: str, body: object | None = None) -> Any:
        """Ask the same server for a JSON document, without retries.

        Args:
            url: of the document.
            body: what is posted, as JSON; ``None`` to get the document.

        Raises:
            ProviderError: in its finer kinds.
        """
        while True:
            key = None if self._rotation is None else self._rotation.current()
            try:
                return await self._ask_json_with(key, url, body)
            except AttemptFailed as failure:
                if self._rotation is None or key is None or not self._rotation.set_aside(key, failure):
                    raise failure.error from failure.__cause__

    async def _ask_json_with(self, key: str | None, url: str, body: object | None) -> Any:
        import httpx

        headers = self._headers("application/json", key)
        content = None if body is None else compact_json(body).encode("utf-8", "replace")
        try:
            async with (
                self._clients.acquired() as client,
                client.stream("GET" if body is None else "POST", url, content=content, headers=headers) as response,
            ):
                await self._check(response, None)
                return await self._whole_json(response)
        except httpx.HTTPError as error:
            raise self._errors.of_transport(error) from error
        except (httpx.InvalidURL, UnicodeError) as error:
            raise self._errors.unusable_url() from error

    def _connect(self) -> httpx.AsyncClient:
        return create_client(
            connect_timeout_seconds=self._config.connect_timeout_seconds,
            read_timeout_seconds=self._config.read_timeout_seconds,
            is_for_https=self._url.is_https,
        )

    def _endpoint_url(self, path: str) -> httpx.URL:
        """Return the URL of an endpoint, parsed once."""
        import httpx

        if path not in self._endpoint_urls:
            self._endpoint_urls[path] = httpx.URL(self._url.endpoint(path))
        return self._endpoint_urls[path]

    def _keyless_headers(self, accept: str) -> dict[str, str]:
        # Compression would hold events back in the server until a block is full.
        return {"Content-Type": "application/json", "Accept": accept, "Accept-Encoding": "identity"}

    def _headers(self, accept: str, key: str | None = None) -> dict[str, str]:
        headers = self._keyless_headers(accept)
        key = (key or self._config.api_key or "").strip()
        if not (key.isascii() and key.isprintable()):
            raise ProviderAuthenticationError(
                f"the API key of {self._config.name} holds characters that no key has: set it anew "
                f"{self._errors.key_places}"
            )
        given = {name.lower() for name in self._config.headers}
        if not key and self._needs_key and KEY_HEADERS.isdisjoint(given):
            raise self._errors.missing_key()
        if key:
            headers |= self._key_headers(key)
        clash = given & {*(KEY_HEADERS if key else ()), *map(str.lower, headers)}
        if clash:
            raise SettingsError(
                f"the header {min(clash)} of {self._config.name} clashes with what is sent anyway: take it away "
                f"with: oneclaw providers set {self._config.name} --header {min(clash)}="
            )
        return {**self._config.headers, **headers}

    async def _attempt(
        self, request: ModelRequest, body: bytes, key: str | None = None
    ) -> AsyncGenerator[ModelEvent, None]:
        import httpx

        answer = self._new_answer(request)
        counted: TokenUsage | None = None
        has_output = False
        headers = self._headers(_ANSWER_TYPES, key) | self._request_headers(request)
        try:
            async with (
                self._clients.acquired() as client,
                self._answering(
                    request,
                    client.stream("POST", self._endpoint_url(self._endpoint(request)), content=body, headers=headers),
                ) as (response, pieces),
                aclosing(self._chunks(response, pieces, request.model)) as chunks,
            ):
                async for chunk in chunks:
                    parts = answer.add(chunk)
                    if answer.usage is not counted and answer.has_begun:
                        counted = answer.usage
                        yield UsageSoFar(replace(counted, is_at_least=True))
                    for event in parts:
                        has_output = True
                        yield event
                    if answer.is_complete:
                        break
                await _take_rest(answer, chunks)
        except httpx.HTTPError as error:
            if not answer.is_complete:
                raise self._errors.of_transport(error, has_begun=answer.has_begun) from error
        except (httpx.InvalidURL, UnicodeError) as error:
            raise self._errors.unusable_url() from error
        except (AnswerFailedError, AttemptFailed) as failed:
            if answer.has_begun:
                yield UsageSoFar(_usage_of_failed(answer, has_output=has_output))
            if isinstance(failed, AttemptFailed):
                raise
            raise self._errors.of_error_object(failed.error, request.model) from None
        except AnswerGarbledError:
            raise self._errors.garbled() from None
        if not (answer.is_complete or getattr(answer, "may_end", False)):
            raise self._errors.broken_off() if answer.has_begun else self._errors.closed_silently()
        try:
            complete = answer.response()
        except (AnswerCutError, AttemptFailed) as failed:
            yield UsageSoFar(_usage_of_failed(answer, has_output=True))
            if isinstance(failed, AttemptFailed):
                raise
            raise AttemptFailed(
                ProviderRequestError(
                    f"{self._config.name} cut the answer off in the middle of a tool call, by {failed}: "
                    "try again, or say it differently"
                )
            ) from None
        yield complete

    @asynccontextmanager
    async def _answering(
        self, request: ModelRequest, stream: AbstractAsyncContextManager[httpx.Response]
    ) -> AsyncGenerator[tuple[httpx.Response, AsyncGenerator[bytes, None]], None]:
        """Send a request and wait for its answer: the response, and the pieces of its body.

        Raises:
            AttemptFailed: the first byte did not come in time.
        """
        seconds = request.first_byte_seconds
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

    async def _chunks(
        self, response: httpx.Response, pieces: AsyncGenerator[bytes, None], model: str
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Yield the chunks of a stream; of a server that does not stream, its one body, or what that lists."""
        import httpx

        await self._check(response, model)
        content_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if content_type == "application/json" or content_type.endswith("+json"):
            body = await self._whole_json(response)
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
                    async with asyncio.timeout(_END_SECONDS):
                        async for _ in events:
                            pass
            except StreamTooLargeError:
                raise self._errors.no_answer("it sent more than any answer takes") from None

    async def _check(self, response: httpx.Response, model: str | None) -> None:
        """Raise what an answer that is none calls for."""
        if not expands_boundedly(response.headers):
            raise self._errors.no_answer("it is compressed in a way that was not asked for")
        if not response.is_success:
            body = await self._body(response, _MAX_ERROR_BYTES)
            raise self._errors.of_status(response.status_code, response.headers, body, model)
        if response.headers.get("content-type", "").lower().startswith("text/html"):
            raise self._errors.no_answer("it sent a web page")

    async def _whole_json(self, response: httpx.Response) -> object:
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
            raise self._errors.no_answer("it sent something that is no part of an answer")
        if chunk.get("error"):
            raise self._errors.of_error_object(chunk["error"], model)
        return chunk


async def _take_rest(answer: Answer, chunks: AsyncGenerator[dict[str, Any], None]) -> None:
    """Take what comes after the model is done: token counts, and the end of the stream, neither of which must come.

    An answer that is complete, and paid for, is not lost for what a server says behind it.
    """
    with suppress(TimeoutError, AttemptFailed):
        if not answer.is_final:
            async with asyncio.timeout(_COUNTS_SECONDS):
                async for chunk in chunks:
                    answer.add(chunk)
                    if answer.is_final:
                        break
        async with asyncio.timeout(_END_SECONDS):
            async for chunk in chunks:
                answer.add(chunk)


def _usage_of_failed(answer: Answer, *, has_output: bool) -> TokenUsage:
    """Return the usage of an answer that the service gave up, final if it had counted everything."""
    usage = answer.usage
    if not has_output and usage == TokenUsage():
        # The service refuses the request after the HTTP status has said that all is well.
        return TokenUsage(input_tokens=0, output_tokens=0)
    return replace(usage, is_at_least=not answer.is_complete)


def _with_whole_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if any("\ufffd" in key for key, _ in pairs):
        raise ValueError("a key is garbled")
    return dict(pairs)
