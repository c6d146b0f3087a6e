"""A provider that is asked over real HTTP, with what comes of it."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
from history_entries import user
from model_server import ModelServer

from oneclaw_core.errors import ProviderError
from oneclaw_core.providers.base import ProviderConfig
from oneclaw_core.types.model_requests import ArgumentsDelta, ModelRequest, UsageSoFar
from oneclaw_core.types.tool_groups import ActiveTools

# No answer of these tests takes that long; one that hangs fails.
LIMIT_SECONDS = 20
_COUNTS = (ArgumentsDelta, UsageSoFar)


class Exchange(NamedTuple):
    """What came of some requests.

    Attributes:
        answers: the events of each answer, without those that count its usage only.
        waits: the seconds between attempts; no one waits for them.
    """

    answers: list[list[Any]]
    waits: list[float]


def hello(model, **fields):
    """A request in which the user says hi."""
    others = {"system_prompt": "", "messages": (user("hi"),), "tools": ActiveTools(()), "session_id": "s"}
    return ModelRequest(**{"model": model, **others, **fields})


@dataclass(frozen=True)
class Service:
    """A model service under test.

    Attributes:
        provider: the class of its wire format.
        type: its provider type.
        request: what it is asked where a test does not say.
        name: what the user calls it; its key is read from the environment variable of that name.
    """

    provider: Any
    type: str
    request: ModelRequest
    name: str = "acme"

    def config(self, url, name=None, **settings):
        variable = f"{self.name.upper()}_API_KEY"
        return ProviderConfig(name or self.name, self.type, url, key_variable=variable, **settings)

    @asynccontextmanager
    async def opened(self, settings, **options):
        """A provider, closed at the end."""
        provider = self.provider(settings, **options)
        try:
            async with asyncio.timeout(LIMIT_SECONDS):
                yield provider
        finally:
            await provider.aclose()

    def ask(self, settings, *requests):
        """Ask one provider, once where the test does not say what."""
        waits = []

        async def note(seconds):
            waits.append(seconds)

        async def main():
            async with self.opened(settings, sleep=note) as provider:
                return [[event async for event in provider.stream(each)] for each in requests or (self.request,)]

        answers = asyncio.run(main())
        return Exchange([[each for each in events if not isinstance(each, _COUNTS)] for events in answers], waits)

    def answer(self, *script, **settings):
        """The events that a script leads to, and the waits."""
        with ModelServer(list(script)) as server:
            [events], waits = self.ask(self.config(server.url, **settings))
        return events, waits

    def refusal(self, *script, kind=ProviderError, request=None, **settings):
        """The error that a script leads to, with how often the service was asked."""
        with ModelServer(list(script)) as server, pytest.raises(kind) as caught:
            self.ask(self.config(server.url, **settings), request or self.request)
        message = str(caught.value)
        assert kind is ProviderError or type(caught.value) is kind
        assert message.isprintable()
        assert "api_key" not in settings or settings["api_key"] not in message
        return message, len(server.bodies)

    def models(self, url, **settings):
        """The models that the service lists."""

        async def main():
            async with self.opened(self.config(url, **settings)) as provider:
                return await provider.list_models()

        return asyncio.run(main())
