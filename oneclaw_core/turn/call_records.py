"""Retry what is done with the store while the database is not available."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from oneclaw_core.errors import SessionBusyError, StoreError, StoreUnavailableError
from oneclaw_core.turn.progress import CUT_OFF
from oneclaw_core.types.events import RetryEvent
from oneclaw_core.types.kept_results import READ_FILE, handle_of_call, shown_of_result
from oneclaw_core.types.messages import OWN_DATA, Message, MessageType, ToolCall, ToolCallStatus

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from oneclaw_core.sessions.settings import UserStates
    from oneclaw_core.sessions.store import Store
    from oneclaw_core.sessions.usage import UsageRecord
    from oneclaw_core.tools.calls.call import ToolOutcome
    from oneclaw_core.turn.state import Answer, TurnState
    from oneclaw_core.turn.stream import Deadline
    from oneclaw_core.types.model_requests import ModelResponse

STORE_RETRY_SECONDS = 30.0
_FIRST_PAUSE_SECONDS = 0.05
_LONGEST_PAUSE_SECONDS = 5.0

_Value = TypeVar("_Value")

_log = logging.getLogger("oneclaw.turn")


async def retried(
    operation: Callable[[], Awaitable[_Value]],
    error: StoreUnavailableError,
    deadline: Deadline | None = None,
    tell: Callable[[StoreUnavailableError, float], Awaitable[None]] | None = None,
) -> _Value:
    """Repeat a failed operation of the store until it succeeds.

    Args:
        operation: can be repeated, also if the first attempt succeeded after all.
        error: of the first attempt.
        deadline: of the turn, if there is one.
        tell: called before each pause, with the error and the pause in seconds.

    Raises:
        StoreError: it failed for ``STORE_RETRY_SECONDS``, or until the deadline.
    """
    left = STORE_RETRY_SECONDS if deadline is None else min(STORE_RETRY_SECONDS, deadline.remaining_seconds())
    end = time.monotonic() + left
    pause_seconds = _FIRST_PAUSE_SECONDS
    while time.monotonic() + pause_seconds < end:
        _log.warning("the store is tried again in %.2f s: %s", pause_seconds, error)
        if tell is not None:
            await tell(error, pause_seconds)
        await asyncio.sleep(pause_seconds)
        pause_seconds = min(pause_seconds * 2, _LONGEST_PAUSE_SECONDS)
        try:
            return await operation()
        except StoreUnavailableError as latest:
            error = latest
    raise error


class _PatientStore:
    def __init__(self, store: Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        operation = getattr(self._store, name)

        async def repeated(*args: Any) -> Any:
            try:
                return await operation(*args)
            except StoreUnavailableError as error:
                return await retried(lambda: operation(*args), error)

        return repeated


def patient(store: Store) -> Store:
    """Return the store with operations that are repeated while the database is away.

    A call that ran, or that is decided on, does not fail because the database is away for a moment.
    """
    return cast("Store", _PatientStore(store))


# The result of a call that was cut off; whose it is, is filled in.
INTERRUPTED = Message(
    type=MessageType.TOOL_RESULT,
    content="This call was interrupted before its outcome was known; it may or may not have had its effect. "
    "Do not repeat it without asking the user.",
    tool_status=ToolCallStatus.ERROR,
    error_type="interrupted",
)

# What the user has set is read with the calls; a listener can learn of them later than this.
_FRESH_SECONDS = 0.05


class CallRecords:
    """Stores the answers, calls and results of one turn.

    Args:
        turn: whose session's lock the caller holds.

    Attributes:
        open: the calls that are stored without an outcome, by their ids.
        results: the stored results of the last answer, by the ids of the calls.
    """

    def __init__(self, turn: TurnState) -> None:
        self.open: dict[str, ToolCall] = {}
        self.results: dict[str, Message] = {}
        self._turn = turn
        self._numbers: dict[str, int] = {}  # of the stored calls, by their ids
        self._storing = asyncio.Lock()
        self._waiting: list[Message] = []  # outcomes that are still to be stored
        self._states: tuple[UserStates | None, float] = None, 0.0

    async def store_answer(self, answer: Answer, *, is_retried: bool = False) -> list[ToolCall]:
        """Store an answer and the calls in it, before any of them runs, and return the calls.

        Args:
            answer: of the model.
            is_retried: True if the model is told to answer once more.
        """
        turn, history = self._turn, self._turn.session.history
        messages = turn.ending.kept(_entries(answer, turn.model.full_name), is_retried=is_retried)
        try:
            stored, states = await turn.store.store_answer(turn.session_id, messages, answer.usage)
        except StoreUnavailableError as error:
            again = partial(self._store_once, messages, answer.usage)
            stored, states = await retried(again, error, turn.deadline, self._show_away)
        self._states = states, time.monotonic()
        self.results = {each.tool_call_id or "": each for each in stored if each.type is MessageType.TOOL_RESULT}
        history += stored[: len(stored) - len(self.results)]
        calls = [each for each in stored if each.type is MessageType.TOOL_CALL]
        self.take_open([each for each in calls if each.tool_call_id not in self.results])
        return [call_of(each) for each in calls]

    def take_open(self, calls: Iterable[Message]) -> None:
        """Take over stored calls that have no outcome yet."""
        self.open = {}
        for each in calls:
            call = call_of(each)
            self.open[call.id] = call
            if each.sequence is not None:
                self._numbers[call.id] = each.sequence

    async def use_states(self) -> None:
        """Obey what the user has set by now, which another process may have changed."""
        states, read_at = self._states
        if states is not None and time.monotonic() - read_at < _FRESH_SECONDS:
            self._turn.parts.choices.use(states)
        else:
            await self._turn.parts.choices.refresh()

    async def keep(self, outcome: ToolOutcome) -> None:
        """Store an outcome, together with those that arrive while others are being stored."""
        turn = self._turn
        number = self._numbers.get(outcome.call.id) if self._can_read_results else None
        result = _result_message(outcome, turn.settings.tool_result_max_characters, number)
        self._waiting += turn.ending.kept([result])
        async with self._storing:
            waiting = list(self._waiting)
            if not waiting:
                return
            try:
                results = await turn.store.finish_calls(turn.session_id, waiting)
            except StoreUnavailableError as error:
                again = partial(turn.store.finish_calls, turn.session_id, waiting)
                results = await retried(again, error, turn.deadline)
            for stored in results:
                call_id = stored.tool_call_id or ""
                self.results[call_id] = stored
                self.open.pop(call_id, None)
            # Only now: what is not stored for sure is stored at the turn's end.
            del self._waiting[: len(waiting)]

    @property
    def _can_read_results(self) -> bool:
        """True if the agent has the tool that reads results."""
        registry, agent = self._turn.parts.registry, self._turn.session.agent
        return registry.is_enabled(READ_FILE) and registry.toolset(agent.selection).allows(READ_FILE)

    async def interrupt(self) -> None:
        """Answer the calls that are still open as interrupted.

        Raises:
            StoreError: the results of calls that ran could not be stored; it names them.
        """
        if not self.open:
            return
        known = {outcome.tool_call_id for outcome in self._waiting}
        cut_off = [
            replace(INTERRUPTED, tool_call_id=call.id, tool_name=call.name)
            for call in self.open.values()
            if call.id not in known
        ]
        try:
            with suppress(SessionBusyError):  # another turn's by now, which has answered them
                store, session_id = self._turn.store, self._turn.session_id
                await store.finish_calls(session_id, [*self._waiting, *await store.cut_off(session_id, cut_off)])
        except StoreError as error:
            if not self._waiting:
                raise
            names = ", ".join(sorted({outcome.tool_name or "" for outcome in self._waiting}))
            kind = StoreUnavailableError if isinstance(error, StoreUnavailableError) else StoreError
            raise kind(f"{error}; not stored: the results of calls that ran ({names})") from error

    async def _show_away(self, error: StoreError, pause_seconds: float) -> None:
        await self._turn.emit(RetryEvent(str(error), pause_seconds))

    async def _store_once(
        self, messages: Sequence[Message], used: UsageRecord | None
    ) -> tuple[list[Message], UserStates | None]:
        """Store an answer, unless that was done by a transaction whose success was not reported."""
        store, session_id = self._turn.store, self._turn.session_id
        latest = max(each.sequence or 0 for each in self._turn.session.history)
        after = await store.messages(session_id, latest)
        if stored := [each for each in after if not each.is_incomplete]:
            return stored, await store.user_states()
        return await store.store_answer(session_id, messages, used)


def call_of(message: Message) -> ToolCall:
    """Return the call of an entry of the history."""
    return ToolCall(message.tool_call_id or "", message.tool_name or "", message.tool_input or "")


def _entries(answer: Answer, model: str) -> list[Message]:
    """Return the entries of the history for an answer."""
    response, messages = answer.response, list[Message]()
    if response.text or response.provider_data or response.tool_calls or response.cut_calls:
        messages.append(
            Message(
                type=MessageType.ASSISTANT,
                content=response.text,
                provider_data=response.provider_data,
                model=None if answer.request is None else model,
            )
        )
    messages += [
        Message(
            type=MessageType.TOOL_CALL,
            tool_call_id=call.id,
            tool_name=call.name,
            tool_input=call.arguments,
            tool_status=ToolCallStatus.PENDING,
        )
        for call in response.tool_calls
    ]
    return messages + cut_calls(response) if response.cut_calls else messages


def cut_calls(response: ModelResponse) -> list[Message]:
    """Return the calls of an answer that the token limit cut, and behind them their results.

    They are stored together, so that no such call ever runs. Services want an object for arguments.
    """
    limit = response.usage.output_tokens
    count = "" if limit is None else f"{limit:,} "
    told = f"The call was cut by the limit of {count}output tokens and did not run; split the work into smaller calls."
    call = Message(type=MessageType.TOOL_CALL, tool_input="{}", tool_status=ToolCallStatus.PENDING)
    failure = Message(
        type=MessageType.TOOL_RESULT, content=told, tool_status=ToolCallStatus.ERROR, error_type=CUT_OFF, duration_ms=0
    )
    # Under ids of our own: an id that is taken would be replaced when the call is stored, and not in its result.
    names = [(f"call_{uuid.uuid4().hex}", each.name) for each in response.cut_calls]
    return [replace(entry, tool_call_id=id_, tool_name=name) for entry in (call, failure) for id_, name in names]


def _result_message(outcome: ToolOutcome, shown_characters: int, call_number: int | None) -> Message:
    """Return the entry for an outcome.

    Args:
        outcome: of the call.
        shown_characters: how much of it a model is shown.
        call_number: the ``sequence`` of the call, by which a long result can be read; ``None`` if it cannot.
    """
    result = outcome.result
    text = result.text()
    is_cut = len(text) > shown_characters
    own: dict[str, Any] = {"files": dict(outcome.views)} if outcome.views else {}
    if is_cut and call_number is not None:
        handle = handle_of_call(call_number)
        own |= {"result": handle, "shown": shown_of_result(result, text, handle, shown_characters)}
    return Message(
        type=MessageType.TOOL_RESULT,
        content=text,
        tool_call_id=outcome.call.id,
        tool_name=outcome.call.name,
        tool_status=ToolCallStatus.SUCCESS if result.is_success else ToolCallStatus.ERROR,
        error_type=result.error_type,
        shown_characters=shown_characters if is_cut else None,
        is_json=result.is_success and not isinstance(result.result, str),
        duration_ms=outcome.duration_ms,
        attachments=result.attachments,
        marks=outcome.marks,
        provider_data={OWN_DATA: own} if own else None,
    )
