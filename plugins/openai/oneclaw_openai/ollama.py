"""The provider type ``ollama``: Chat Completions of an Ollama server, and what its native API says of its models.

Ollama cuts a prompt that is longer than the context it has loaded a model with, without a word, and takes no such
length with a request of this format. So the context in use is asked for, and what is longer is refused here.

Source: https://docs.ollama.com/api/ps, https://docs.ollama.com/api/show, https://docs.ollama.com/context-length.
"""

from __future__ import annotations

import re
import time
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from oneclaw_http_providers import count_member, member, objects_in, text_member

from oneclaw_core import ProviderError
from oneclaw_core.providers import ContextTooLongError, ModelResponse
from oneclaw_openai.chat import OpenAIChatProvider

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from oneclaw_core.providers import ModelEvent, ModelInfo, ModelRequest, ProviderConfig

DEFAULT_PORT = 11434
# A model is unloaded after some minutes, and may come back with another context.
_KNOWN_SECONDS = 60.0
_NUM_CTX = re.compile(r"^\s*num_ctx\s+(\d{1,9})\s*$", re.MULTILINE)
# Before the server has counted anything: JSON and code have shorter tokens than prose.
_BYTES_PER_TOKEN = 3.5
_FEWEST_BYTES, _SURE_BYTES, _MOST_BYTES = 2.0, 3.0, 5.0
_TOKENS_PER_FILE = 1_000
_LEAST_ADVISED = 16_384


@dataclass(frozen=True, slots=True)
class ContextInUse:
    """The context that an Ollama server uses for a model.

    Attributes:
        tokens: prompt and answer together.
        most: what the model was made for, ``None`` if the server does not say.
        asked_at: when, on the monotonic clock.
    """

    tokens: int
    most: int | None
    asked_at: float


class OllamaProvider(OpenAIChatProvider):
    """An Ollama server."""

    default_base_url = f"http://localhost:{DEFAULT_PORT}/v1"

    def __init__(self, config: ProviderConfig, **options: Any) -> None:
        super().__init__(config, **options)
        self._contexts: dict[str, ContextInUse] = {}  # by model
        self._bytes_per_token: dict[str, float] = {}  # by model
        self._absent_until = 0.0  # the native API, on the monotonic clock

    def takes_output(self, request: ModelRequest, is_said: bool | None) -> bool:
        """Return True if the server keeps an answer to a schema: with it, it takes no tools."""
        return is_said is True and not request.tools.names

    async def list_models(self) -> list[ModelInfo]:
        """Ask the server for its models, and for the contexts of those that are loaded."""
        models = await super().list_models()
        loaded = {_full(name): tokens for name, tokens in _loaded(await self._native("ps"))}
        return [replace(each, context_window=loaded.get(_full(each.name), each.context_window)) for each in models]

    async def find_context_window(self, model: str) -> int | None:
        """Find out how much the server really reads with a model; it loads the model if that cannot be known before.

        Args:
            model: its name.

        Returns:
            The tokens of prompt and answer together; ``None`` if the server does not say.
        """
        found = await self._context(model)
        return None if found is None else found.tokens

    async def find_context_limit(self, model: str) -> int | None:
        """Return ``None``: the errors of :meth:`stream` say what the server reads."""
        return None

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Send a request that the server does not cut; see :class:`oneclaw_core.providers.Provider`.

        Raises:
            ContextTooLongError: the server would cut the request; nothing was sent.
        """
        context = await self._context(request.model)
        size = _text_bytes(self._encode(request), request)
        if context is not None:
            self._check_fits(request, context, size)
        try:
            async with aclosing(super().stream(request)) as events:
                async for event in events:
                    if isinstance(event, ModelResponse) and context is not None:
                        self._learn(request.model, context, size, event.usage.input_tokens)
                    yield event
        except ContextTooLongError as error:
            raise ContextTooLongError(f"{error}. {self._advice(request.model, context, 0)}") from error

    def _check_fits(self, request: ModelRequest, context: ContextInUse, size: int) -> None:
        files = sum(len(each.attachments) for each in request.messages)
        tokens = round(size / self._bytes_per_token.get(request.model, _BYTES_PER_TOKEN)) + files * _TOKENS_PER_FILE
        if tokens > context.tokens:
            raise ContextTooLongError(
                f"the request takes about {tokens:,} tokens, and {self._config.name} reads {context.tokens:,} with "
                f"{request.model}: it would cut the request without a word, so nothing was sent. "
                f"{self._advice(request.model, context, tokens)}"
            )

    def _learn(self, model: str, context: ContextInUse, size: int, counted: int | None) -> None:
        # The count of a request that was cut, or that the server had partly cached, is too small to learn from.
        if counted and size <= context.tokens * _SURE_BYTES and _FEWEST_BYTES <= size / counted <= _MOST_BYTES:
            self._bytes_per_token[model] = size / counted

    def _advice(self, model: str, context: ContextInUse | None, tokens: int) -> str:
        wanted = max(_LEAST_ADVISED, 1 << (2 * tokens).bit_length())
        most = context.most if context is not None else None
        wanted = wanted if most is None else min(wanted, most)
        less = "load fewer tool groups, give the agent fewer tools, or start a new session"
        if context is not None and wanted <= context.tokens:
            return f"That is all that {model} can read: {less}"
        return (
            f"Have Ollama read more: start it with OLLAMA_CONTEXT_LENGTH={wanted}, or make a model with "
            f"'PARAMETER num_ctx {wanted}' in its Modelfile; or {less}"
        )

    async def _context(self, model: str) -> ContextInUse | None:
        known = self._contexts.get(model)
        if known is not None and time.monotonic() - known.asked_at < _KNOWN_SECONDS:
            return known
        if time.monotonic() < self._absent_until:
            return None
        loaded = await self._native("ps")
        if loaded is None:
            self._absent_until = time.monotonic() + _KNOWN_SECONDS
            return None
        tokens = _tokens_of(model, loaded)
        shown = await self._native("show", {"model": model})
        most = next((tokens for tokens in _trained(shown)), None)
        if tokens is None:
            given = _NUM_CTX.search(text_member(shown, "parameters") or "")
            if given is not None:
                tokens = min(int(given[1]), most or int(given[1]))
            elif text_member(shown, "remote_host") is not None:  # runs elsewhere, with all that it can read
                tokens = most
            elif shown is not None:
                # What the server chooses by its settings and its memory is known once the model is loaded.
                await self._native("generate", {"model": model, "stream": False})
                tokens = _tokens_of(model, await self._native("ps"))
        if not tokens:
            return None
        found = self._contexts[model] = ContextInUse(tokens, most, time.monotonic())
        return found

    async def _native(self, name: str, body: dict[str, Any] | None = None) -> Any:
        """Ask the native API; ``None`` if it is not there, as behind a proxy, or the server is away."""
        try:
            return await self._ask_json(f"{self._root()}/api/{name}", body)
        except ProviderError:
            return None  # the request itself says what is wrong, if anything is

    def _root(self) -> str:
        return self._url.endpoint("").partition("?")[0].rstrip("/").removesuffix("/v1")


def chat_provider(config: ProviderConfig, **options: Any) -> OpenAIChatProvider:
    """Make a provider of the type ``openai_compatible``; at Ollama's own port it is one of Ollama's."""
    try:
        port = urlsplit(config.base_url or "").port
    except ValueError:
        port = None  # the provider says what is wrong with it
    return (OllamaProvider if port == DEFAULT_PORT else OpenAIChatProvider)(config, **options)


def _full(name: str) -> str:
    return name.lower() if ":" in name.rpartition("/")[2] else f"{name.lower()}:latest"


def _tokens_of(model: str, loaded: object) -> int | None:
    return next((tokens for name, tokens in _loaded(loaded) if _full(name) == _full(model)), None)


def _loaded(answer: object) -> Iterator[tuple[str, int]]:
    for entry in objects_in(member(answer, "models")):
        name = text_member(entry, "model") or text_member(entry, "name")
        tokens = count_member(entry, "context_length")
        if name is not None and tokens:
            yield name, tokens


def _trained(shown: object) -> Iterator[int]:
    info = member(shown, "model_info")
    for key in info if isinstance(info, dict) else ():
        tokens = count_member(info, key) if key.endswith(".context_length") else None
        if tokens:
            yield tokens


def _text_bytes(body: bytes, request: ModelRequest) -> int:
    """Count the bytes of a request without its files, which are read as something else than text."""
    files = (each.data for message in request.messages for each in message.attachments)
    return max(0, len(body) - sum(-(-len(data) // 3) * 4 for data in files))
