"""The shared part of wire formats over HTTP: connecting, retrying, streaming, errors.

A wire format says where it is asked, how a request is written, and how an answer is put together from its chunks.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from oneclaw_core import SettingsError
from oneclaw_core.http import REDACTED, create_client
from oneclaw_core.providers import (
    KEY_HEADERS,
    ContextTooLongError,
    LoadingRefused,
    ProviderAuthenticationError,
    ProviderRequestError,
    ToolLoading,
    UsageSoFar,
    WireRequest,
    compact_json,
)
from oneclaw_http_providers.answer import (
    AnswerCutError,
    AnswerFailedError,
    AnswerGarbledError,
    awaited_chunks,
    usage_of_failed,
)
from oneclaw_http_providers.client_pool import ClientPool
from oneclaw_http_providers.images import ImageFitter
from oneclaw_http_providers.refusals import refused_parts, unexplained_parts
from oneclaw_http_providers.repetition import AnswerWatch
from oneclaw_http_providers.response_reader import ResponseReader
from oneclaw_http_providers.retry import ANSWER_PARTS, AttemptFailed, KeyRotation, RetryPolicy, with_retries
from oneclaw_http_providers.service_errors import ServiceErrors
from oneclaw_http_providers.service_url import ServiceUrl

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    import httpx

    from oneclaw_core import TokenUsage
    from oneclaw_core.providers import ModelEvent, ModelInfo, ModelRequest, ProviderConfig
    from oneclaw_http_providers.answer import Answer
    from oneclaw_http_providers.images import ImageLimits


_log = logging.getLogger("oneclaw.providers")

_ANSWER_TYPES = "text/event-stream, application/json"


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
        # A vendor answers no request without a key; other servers, such as those on this machine, may want none.
        vendor = ServiceUrl.of(replace(config, base_url=None), self.default_base_url)
        self._needs_key = self._url.is_within(vendor.host) and not vendor.is_loopback
        self._errors = ServiceErrors(config, self._url)
        keys = (config.api_key or "", *config.more_api_keys)
        self._rotation = KeyRotation(keys) if len(keys) > 1 else None
        self._policy = RetryPolicy(config.max_retries, first_delay_seconds=first_retry_seconds, sleep=sleep)
        self._images = ImageFitter()
        self._told: set[str] = set()  # of images that are not sent
        self._clients = ClientPool(self._connect, config.concurrency)

    @property
    def config(self) -> ProviderConfig:
        """The configuration that it was made from."""
        return self._config

    @property
    def _reader(self) -> ResponseReader:
        # A wire format may put errors into its own words.
        return ResponseReader(self._errors)

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
            try:
                async with aclosing(self._stream_with_retries(request)) as events:
                    async for event in events:
                        has_answered = has_answered or isinstance(event, ANSWER_PARTS)
                        yield event
                return
            except (ProviderRequestError, ProviderAuthenticationError) as error:
                # Not one of the finer kinds, which have another cause.
                is_plain = type(error) is ProviderRequestError and not has_answered
                if is_plain and self._concede(str(error), request):
                    continue
                instead = (
                    self._loading_instead(error, request)
                    if isinstance(error, ProviderRequestError) and is_plain
                    else None
                )
                if instead is None:
                    if not has_answered and not isinstance(error, ContextTooLongError):
                        error.refused_parts = _parts_refused_by(error, request)
                    raise
                refused = LoadingRefused(str(error), instead)
            yield refused
            request = replace(request, tool_loading=instead)

    def wire_request(self, request: ModelRequest) -> WireRequest:
        """Write a request as :meth:`stream` would send it, without sending it.

        Raises:
            ProviderError: it cannot be written.
        """
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
        attempts = with_retries(lambda key: self._attempt(request, body, key), self._policy, self._rotation)
        async with aclosing(attempts) as events:
            async for event in events:
                yield event

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
                await self._reader.check(response, None)
                return await self._reader.whole_json(response)
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

    def _keyless_headers(self, accept: str) -> dict[str, str]:
        # Compression would hold events back in the server until a block is full.
        return {"Content-Type": "application/json", "Accept": accept, "Accept-Encoding": "identity"}

    def _headers(self, accept: str, key: str | None = None) -> dict[str, str]:
        headers = self._keyless_headers(accept)
        key = (key or self._config.api_key or "").strip()
        if not (key.isascii() and key.isprintable()):
            raise ProviderAuthenticationError(
                f"the API key of {self._config.name} holds characters that no key has: set it again "
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

    async def _attempt(self, request: ModelRequest, body: bytes, key: str | None) -> AsyncGenerator[ModelEvent, None]:
        import httpx

        answer = self._new_answer(request)
        counted: TokenUsage | None = None
        has_output = is_repeating = False
        watch = AnswerWatch()
        headers = self._headers(_ANSWER_TYPES, key) | self._request_headers(request)
        try:
            async with (
                self._clients.acquired() as client,
                self._reader.answering(
                    client.stream("POST", self._url.endpoint(self._endpoint(request)), content=body, headers=headers),
                    request.first_byte_seconds,
                ) as (response, pieces),
                aclosing(self._reader.chunks(response, pieces, request.model)) as read,
                aclosing(awaited_chunks(answer, read)) as chunks,
            ):
                async for chunk in chunks:
                    parts = answer.add(chunk)
                    if answer.usage is not counted and answer.has_begun:
                        counted = answer.usage
                        yield UsageSoFar(replace(counted, is_at_least=True))
                    for event in parts:
                        has_output = True
                        yield event
                        is_repeating = is_repeating or watch.repeats(event)
                    if is_repeating:
                        break
        except httpx.HTTPError as error:
            if not answer.is_complete:
                raise self._errors.of_transport(error, has_begun=answer.has_begun) from error
        except (httpx.InvalidURL, UnicodeError) as error:
            raise self._errors.unusable_url() from error
        except (AnswerFailedError, AttemptFailed) as failed:
            if answer.has_begun:
                yield UsageSoFar(usage_of_failed(answer, has_output=has_output))
            if isinstance(failed, AttemptFailed):
                raise
            raise self._errors.of_error_object(failed.error, request.model) from None
        except AnswerGarbledError:
            raise self._errors.garbled() from None
        if is_repeating:
            yield watch.stopped(answer.usage)
            return
        if not (answer.is_complete or getattr(answer, "may_end", False)):
            raise self._errors.broken_off() if answer.has_begun else self._errors.closed_silently()
        try:
            for event in getattr(answer, "rest", tuple)():
                yield event
            complete = answer.response()
        except (AnswerCutError, AttemptFailed) as failed:
            yield UsageSoFar(usage_of_failed(answer, has_output=True))
            if isinstance(failed, AttemptFailed):
                raise
            raise AttemptFailed(
                ProviderRequestError(
                    f"{self._config.name} cut the answer off in the middle of a tool call, by {failed}: "
                    "try again, or say it differently"
                )
            ) from None
        yield complete


def _parts_refused_by(
    error: ProviderRequestError | ProviderAuthenticationError, request: ModelRequest
) -> tuple[str, ...]:
    if isinstance(error, ProviderAuthenticationError) and not any(each.attachments for each in request.messages):
        return ()
    parts = refused_parts(str(error), request)
    if parts or not isinstance(error, ProviderRequestError) or not error.is_refusal or error.refuses_content:
        return parts
    return unexplained_parts(request)
