"""Ask the models behind one model in their order, from one that fails to the next (see ``providers.route``).

A model that failed is set aside for a while: stored, so that the next process need not find out again, and for all
sessions. A session stays with the model that answered, so that its prompt cache lasts, until that one fails or the one
before it has cooled down; within a turn it never goes back.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self

from oneclaw_core.config.providers import SET_ASIDE_SETTING
from oneclaw_core.errors import NotFoundError, OneClawError, ProviderError, StoreError, UnreadableCallError
from oneclaw_core.models.attachments import attachment_media_types
from oneclaw_core.providers.route import MAX_COOL_DOWN_SECONDS, FailureKind, Route, failure_kind
from oneclaw_core.types.events import ModelSwitchedEvent
from oneclaw_core.types.model_requests import ModelEvent, RetryNotice

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from oneclaw_core.providers.pool import ProviderPool
    from oneclaw_core.sessions.store import Store
    from oneclaw_core.turn.model import ChosenModel
    from oneclaw_core.turn.state import Answer, Ask
    from oneclaw_core.types.messages import Attachment
    from oneclaw_core.types.steps import Handler


# A service that asks for a longer pause before a retry is left for the next model at once.
_LONGEST_PAUSE_SECONDS = 10

_log = logging.getLogger("oneclaw.turn")


@dataclass(frozen=True, slots=True)
class SetAside:
    """A model that failed.

    Attributes:
        until: when it has cooled down, in seconds since 1970.
        failure: what it failed with.
    """

    until: float
    failure: str

    @classmethod
    def read(cls, stored: Any, now: float) -> Self | None:
        """Read what is stored about a model; ``None`` if it has cooled down."""
        until = stored.get("until") if isinstance(stored, dict) else None
        # A time from further away than any cool-down was written by a clock that was wrong.
        if not isinstance(until, int | float) or not now < until < now + 366 * 24 * 3_600:
            return None
        return cls(float(until), str(stored.get("failure", "")))

    def __str__(self) -> str:
        """Say until when and why, for people."""
        return f"is asked last until {datetime.fromtimestamp(self.until, UTC):%Y-%m-%d %H:%M} UTC ({self.failure})"


def set_aside_now(models: Iterable[str], stored: Mapping[str, Any], now: float) -> dict[str, SetAside]:
    """Read which models are set aside."""
    found = {each: SetAside.read(stored.get(SET_ASIDE_SETTING + each), now) for each in models}
    return {each: aside for each, aside in found.items() if aside is not None}


class Fallback:
    """The models behind one model, during one turn.

    Args:
        name: of the model that they stand behind.
        route: the models.
        open_model: makes one of them ready to be asked; raises ``OneClawError`` if it cannot be.
        providers: keeps those that were asked open until :meth:`release`.
        stored: settings from the store.
        now: the time in seconds since 1970.
    """

    def __init__(
        self,
        name: str,
        route: Route,
        open_model: Callable[[str], Awaitable[ChosenModel]],
        providers: ProviderPool,
        stored: Mapping[str, Any],
        now: Callable[[], float] = time.time,
    ) -> None:
        self.name = name
        self._route = route
        self._open = open_model
        self._providers = providers
        self._now = now
        self._set_aside = set_aside_now(route.models, stored, now())
        self._tried: set[str] = set()  # since the last answer
        self._faults: dict[str, str] = {}
        self._unusable: dict[str, str] = {}
        self._retries = 0
        self._media_types: frozenset[str] = frozenset()
        self._held: list[ChosenModel] = []

    async def release(self) -> None:
        """Let go of the providers that were asked, at the end of the turn."""
        held, self._held = self._held, []
        for each in held:
            await self._providers.release(each.provider)

    async def first(self, attachments: Iterable[Attachment] = ()) -> ChosenModel:
        """Return the model to ask first.

        Args:
            attachments: files of the user's message; a model that cannot look at them is passed over in this turn, if
                another one can.

        Raises:
            NotFoundError: none of the models can be asked; with the reason of each.
        """
        self._media_types = frozenset(each.media_type.lower() for each in attachments)
        self._tried.clear()
        found = await self._next()
        if found is None and self._media_types:
            self._tried.clear()
            self._media_types = frozenset()
            found = await self._next()
        if found is None:
            raise NotFoundError(f"no model of {self.name} can be asked: {_listed(self._unusable)}")
        return found

    async def after(self, error: ProviderError, failed: ChosenModel, store: Store, *, is_final: bool) -> ChosenModel:
        """Set a model that failed aside, and return the one to ask instead.

        Args:
            error: how it failed.
            failed: which.
            store: where that is noted for later turns.
            is_final: True if a part of its answer was shown, so that nothing is asked in its place now.

        Raises:
            ProviderError: there is none to ask instead, or the failure is no reason to.
        """
        kind = failure_kind(error)
        if kind not in self._route.after:
            raise error
        await self._note(failed.full_name, kind, error, store)
        if is_final:
            raise error
        found = await self._next()
        if found is None:
            raise self._final(error)
        self._providers.acquire(found.provider)
        self._held.append(found)
        return found

    def answered(self, model: str) -> None:
        """Note that a model answered: any other may be asked again if it fails at the next request."""
        self._tried = {model}
        self._faults.clear()
        self._retries = 0

    def gives_up(self, notice: RetryNotice) -> bool:
        """Return True if the next model is to be asked instead of the same one again."""
        if notice.error is None or failure_kind(notice.error) not in self._route.after or not self._waiting():
            return False
        self._retries += 1
        return self._retries > self._route.retries or notice.delay_seconds > _LONGEST_PAUSE_SECONDS

    @property
    def silence_seconds(self) -> float | None:
        """Longest silence of the model that is asked, in seconds; ``None`` for the last model of the chain."""
        return self._route.silence_seconds if FailureKind.SILENCE in self._route.after and self._waiting() else None

    async def _next(self) -> ChosenModel | None:
        self._retries = 0
        for name in self._waiting():
            self._tried.add(name)
            try:
                found = await (await self._open(name)).measured()
            except OneClawError as error:
                if name not in self._unusable:
                    _log.warning("%s is left out of %s: %s", name, self.name, error)
                self._unusable[name] = self._faults[name] = str(error)
                continue
            if all(each.startswith(tuple(attachment_media_types(found))) for each in self._media_types):
                return replace(found, fallback=self)
            self._faults[name] = "it cannot look at the attached files"
        return None

    def _waiting(self) -> Sequence[str]:
        """Return the models not asked since the last answer, those set aside behind the others."""
        names = [each for each in self._route.models if each not in self._tried]
        now = self._now()
        ready = {name: found.until for name, found in self._set_aside.items() if found.until > now}
        return sorted(names, key=lambda name: ready.get(name, 0.0))

    async def _note(self, name: str, kind: FailureKind, error: ProviderError, store: Store) -> None:
        self._faults[name] = str(error)
        seconds = min(max(self._route.cool_down_seconds, error.retry_after_seconds or 0), MAX_COOL_DOWN_SECONDS)
        if seconds <= 0:
            return
        self._set_aside[name] = SetAside(self._now() + seconds, str(kind))
        document = {"until": round(self._now() + seconds), "failure": str(kind)}
        try:
            await store.set_setting(SET_ASIDE_SETTING + name, document)
        except StoreError:
            _log.exception("that %s failed is not noted for later turns", name)

    def _final(self, error: ProviderError) -> ProviderError:
        if len(self._faults) == 1:
            return error
        final = type(error)(f"no model of {self.name} answered: {_listed(self._faults)}")
        final.retry_after_seconds = error.retry_after_seconds
        return final


def _listed(faults: Mapping[str, str]) -> str:
    return "; ".join(f"{name}: {fault}" for name, fault in faults.items())


async def falls_back(ask: Ask, run: Handler[Ask, Answer]) -> Answer:
    """Ask the next model behind the one that was asked for, if one fails; the turn stays with it.

    Raises:
        ProviderError: no other model is to be asked, or a part of the answer was shown.
    """
    turn = ask.turn
    fallback = turn.model.fallback
    if not isinstance(fallback, Fallback):
        return await run(ask)

    def show(event: ModelEvent) -> Awaitable[None] | None:
        if isinstance(event, RetryNotice) and event.error is not None and fallback.gives_up(event):
            raise event.error
        return ask.show(event)

    while True:
        try:
            answer = await run(replace(ask, show=show))
        except ProviderError as error:
            if ask.purpose == "answer" and isinstance(error, UnreadableCallError):
                raise
            failed = turn.model
            try:
                turn.model = await fallback.after(error, failed, turn.store, is_final=error.is_final)
            except ProviderError as final:
                final.is_final = True  # also for the request that this one, such as for a summary, is made for
                raise
            await turn.emit(ModelSwitchedEvent(turn.model.full_name, failed.full_name, str(error)))
            continue
        fallback.answered(turn.model.full_name)
        return answer
