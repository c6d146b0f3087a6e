"""A service with its key and model: listing, testing and storing it."""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from oneclaw_core import OneClaw, OneClawError, ProviderError, TurnFinishedEvent

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from oneclaw_setup.services import Service

TEST_MESSAGE = "Say hello in one short sentence."
TEST_SECONDS = 180
# A trial is held in a separate home, whatever the environment says.
_HOME_VARIABLES = ("ONECLAW_HOME", "ONECLAW_PROFILE", "ONECLAW_DATABASE_URL", "ONECLAW_MODEL")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A service that may be stored.

    Attributes:
        service: which.
        key: to be stored; ``None`` to use the environment's, the stored one, or none.
        model: the service's name for the model.
    """

    service: Service
    key: str | None = field(default=None, repr=False)
    model: str = ""

    @property
    def full_model(self) -> str:
        """``PROVIDER/MODEL``."""
        return f"{self.service.name}/{self.model}"

    def with_model(self, model: str) -> Candidate:
        """Return the same with another model."""
        return replace(self, model=model)


async def check(service: Service) -> None:
    """Refuse a service that could not be stored.

    Raises:
        UsageError: its name or address does not fit.
    """
    async with OneClaw.open() as claw:
        await claw.configuration.providers.check_new(
            service.name, service.type_name, service.base_url, may_replace=True
        )


async def list_models(candidate: Candidate) -> tuple[list[str], str | None]:
    """Ask the service for its models.

    Returns:
        Their names, and why they are not known.
    """
    async with _trial(candidate) as claw:
        states, answers = await claw.configuration.models.list(candidate.service.name, is_refreshed=True)
    return [each.info.name for each in states], answers[0].problem


async def ask_model(candidate: Candidate) -> str:
    """Send the model one message with the core tools, as every conversation does, and return its answer.

    Raises:
        OneClawError: it does not answer; the message says why.
    """
    answer = ""
    async with _trial(candidate) as claw:
        session = await claw.begin_session()
        try:
            async with (
                asyncio.timeout(TEST_SECONDS),
                aclosing(
                    claw.send_message(TEST_MESSAGE, session=session.id, model=candidate.full_model, tool_groups=())
                ) as events,
            ):
                async for event in events:
                    if isinstance(event, TurnFinishedEvent):
                        answer = event.text
        except TimeoutError:
            raise ProviderError(f"{candidate.full_model} did not answer within {TEST_SECONDS} s") from None
        finally:
            await claw.delete_session(session.id)
    return answer


async def store(candidate: Candidate) -> str | None:
    """Store the provider, its key and the default model, all or nothing.

    Returns:
        Where the key is stored, if it is.

    Raises:
        OneClawError: something cannot be stored.
    """
    service, place = candidate.service, None
    async with OneClaw.open() as claw:
        providers, models = claw.configuration.providers, claw.configuration.models
        is_enabled = {each.name: each.is_enabled for each in await providers.list()}
        is_new = service.name not in is_enabled
        before, source = await models.default()
        if not is_enabled.get(service.name, True):
            await providers.change(service.name, is_enabled=True)
        if not is_new:
            await models.check_model(candidate.full_model)
        if not service.is_configured:
            await providers.add(service.name, service.type_name, service.base_url, service.title, may_replace=True)
        try:
            await models.set_default(candidate.full_model)
            # Last, for a key that was stored cannot be taken back.
            if candidate.key is not None:
                place = str(await providers.set_key(service.name, candidate.key))
        except OneClawError:
            if source == "stored":
                await models.set_default(before)
            else:
                await claw.configuration.settings.unset("model")
            if is_new:
                await providers.remove(service.name)
            raise
    return place


@contextmanager
def undisturbed() -> Iterator[None]:
    """Let Ctrl-C wait for the end of the block, so that all is stored or nothing."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@asynccontextmanager
async def _trial(candidate: Candidate) -> AsyncGenerator[OneClaw, None]:
    """Open a home in which the candidate is configured: a temporary one, but for a key that is stored already."""
    service = candidate.service
    if service.has_stored_key and candidate.key is None:
        async with OneClaw.open() as claw:
            yield claw
        return
    environ = {name: value for name, value in os.environ.items() if name not in _HOME_VARIABLES}
    if candidate.key is not None:
        environ[service.key_variable] = candidate.key
    with tempfile.TemporaryDirectory(prefix="oneclaw-setup-") as directory:
        async with OneClaw.open(directory, environ=environ, start_directory=directory) as claw:
            states = {each.name: each for each in await claw.configuration.providers.list()}
            is_there = service.name in states and states[service.name].base_url == service.base_url
            if not is_there:
                await claw.configuration.providers.add(service.name, service.type_name, service.base_url)
            yield claw
