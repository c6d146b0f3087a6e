"""Turns on behalf of web clients: run beside the requests, their events published and logged."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from oneclaw_core import OneClawError, SessionBusyError, TextEvent, TurnFinishedEvent, TurnStoppedError
from oneclaw_serve.errors import Refusal
from oneclaw_serve.event_log import HEARTBEAT_SECONDS, LoggedEvent
from oneclaw_serve.markdown import GrowingText
from oneclaw_serve.questions import Questions

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable
    from logging import Logger

    from oneclaw_core import Attachment, OneClaw, TurnEvent
    from oneclaw_serve.event_log import EventLog
    from oneclaw_serve.waiting import WaitingMessages

MERGE_SECONDS = 0.05
"""The first piece of text is sent at once; later ones within this time are merged."""
_LOOK_SECONDS = 1.0
_TAKE_SECONDS = 5.0
_PING_SECONDS = 10.0
_MOST_TURNS = 256
_MOST_WAITING = 20
_MOST_RECENT = 200


class LiveTurn:
    """A turn of a session that this process works on, and messages that wait for its end.

    Attributes:
        task: runs it.
        after_message: the ``sequence`` of the last message before it.
        steering: messages for it.
        taken: all of them, and the one that it began with if that had waited.
    """

    def __init__(self, session: str, log: EventLog, pulse: _Pulse) -> None:
        self.session = session
        self.task: asyncio.Task[None] | None = None
        self.after_message = 0
        self.steering: list[str] = []
        self.taken: list[str] = []
        self.questions = Questions(session, log, self.publish)
        self.changed = asyncio.Event()
        self._log = log
        self._pulse = pulse
        self._number = 0
        self._unwritten: list[LoggedEvent] = []
        self._writing = asyncio.Lock()
        self._text = ""
        self._growing = GrowingText()
        self._timer: asyncio.TimerHandle | None = None

    async def begin(self, after_message: int, text: str) -> None:
        """Note that a turn begins."""
        self.after_message = after_message
        self._number = await self._log.begin_turn(self.session, after_message)
        self._growing = GrowingText()
        self._append("turn_started", {"text": text})
        await self.write()

    def publish(self, kind: str, data: dict[str, Any]) -> None:
        """Add an event behind the text so far."""
        self._flush_text(is_last=True)
        self._append(kind, data)
        if kind == "tool_call":
            self._growing = GrowingText()

    def add_text(self, text: str) -> None:
        """Add a piece of the answer."""
        self._text += text
        if self._timer is None:
            self._flush_text()
            self._timer = asyncio.get_running_loop().call_later(MERGE_SECONDS, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        if self._text or self._growing.is_behind:
            self._flush_text()
            self._timer = asyncio.get_running_loop().call_later(MERGE_SECONDS, self._on_timer)

    def _flush_text(self, *, is_last: bool = False) -> None:
        if not self._text and not self._growing.is_behind:
            return
        done, rest = self._growing.add(self._text, is_last=is_last)
        if self._text or rest is not None:
            self._append("text", {"text": self._text, "html_done": done, "html_rest": rest})
        self._text = ""

    def _append(self, kind: str, data: dict[str, Any]) -> None:
        self._unwritten.append(LoggedEvent(self._number, kind, data))
        self._number += 1
        self.changed.set()

    async def keep_writing(self) -> None:
        """Write events as they come, those that come meanwhile together; show the turn alive."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(HEARTBEAT_SECONDS):
                    await self.changed.wait()
            self.changed.clear()
            await self.write()

    def forget(self) -> None:
        """Have streams read from the database again, which other processes write too."""
        self._pulse.forget()

    async def write(self) -> None:
        """Write what is not written yet."""
        async with self._writing:
            events, self._unwritten = self._unwritten, []
            await self._log.add(self.session, events)
        if events:
            self._pulse.beat(events)


class _Pulse:
    """Wakes the streams of a session when its events are stored, and has the newest ones for them."""

    def __init__(self) -> None:
        self.next = asyncio.Event()
        self._recent: deque[LoggedEvent] = deque(maxlen=_MOST_RECENT)

    def beat(self, stored: Iterable[LoggedEvent] = ()) -> None:
        """Wake those that wait."""
        self._recent += stored
        self.next.set()
        self.next = asyncio.Event()

    def forget(self) -> None:
        """Forget the newest events: from now on another process may store some."""
        self._recent.clear()

    def after(self, number: int) -> list[LoggedEvent] | None:
        """Return the events behind a number; ``None`` if only the database knows them."""
        if not self._recent or number < self._recent[0].number - 1:
            return None
        newest = []
        for each in reversed(self._recent):
            if each.number <= number:
                break
            newest.append(each)
        return newest[::-1]


class Turns:
    """All turns that this process runs for web clients.

    Args:
        claw: the open home.
        log: where events go.
        waiting: messages that came during a turn.
        logger: of the plugin.
    """

    def __init__(self, claw: OneClaw, log: EventLog, waiting: WaitingMessages, logger: Logger) -> None:
        self._claw = claw
        self._log = log
        self._waiting = waiting
        self._logger = logger
        self._live: dict[str, LiveTurn] = {}
        self._pulses: WeakValueDictionary[str, _Pulse] = WeakValueDictionary()
        self._is_ending = False

    async def send(
        self, session: str, text: str, *, attachments: Iterable[Attachment] = (), options: dict[str, Any] | None = None
    ) -> str:
        """Begin a turn, or pass a message to the one that runs.

        Returns:
            ``started`` or ``steering``.

        Raises:
            Refusal: another process runs a turn of the session, or too many turns run.
        """
        live = self._live.get(session)
        if live is not None:
            if attachments or len(live.steering) >= _MOST_WAITING:
                raise Refusal(409, "session_busy", "a turn of this session runs: wait for its end, or stop it")
            waiting = await self._waiting.put(session, text, live.after_message)
            try:
                return await self._say(waiting)
            except Refusal:
                await self._waiting.finish([waiting])  # the client is told, and sends it again
                raise
        await self._begin(session, text, attachments, options or {})
        return "started"

    async def resume(self, session: str) -> None:
        """Finish the last turn of a session.

        Raises:
            Refusal: a turn of the session runs.
        """
        if session in self._live:
            raise Refusal(409, "session_busy", "a turn of this session runs")
        await self._begin(session, "", (), {"resume": True})

    async def _begin(self, session: str, text: str, attachments: Iterable[Attachment], options: dict[str, Any]) -> None:
        if len(self._live) >= _MOST_TURNS:
            raise Refusal(503, "busy", f"{_MOST_TURNS} turns run already: wait for the end of one")
        live = self._live[session] = LiveTurn(session, self._log, self._pulse_of(session))
        live.taken.append(options.get("waited", ""))
        try:
            if await self._log.running_turn(session) is not None and await self._is_locked(session):
                raise Refusal(409, "session_busy", "another process runs a turn of this session")
            messages = await self._claw.services.sessions.messages(session)
            last = messages[-1].sequence if messages else 0
            await live.begin(last or 0, text)
        except BaseException:
            self._live.pop(session, None)
            raise
        live.task = asyncio.create_task(self._run(live, text, tuple(attachments), options), name=f"turn of {session}")

    async def _is_locked(self, session: str) -> bool:
        """Return True if a living process works on the session; that of a turn in the log may have been killed."""
        try:
            async with self._claw.store.session_lock(session, 0):
                return False
        except SessionBusyError:
            return True

    async def _run(
        self, live: LiveTurn, text: str, attachments: tuple[Attachment, ...], options: dict[str, Any]
    ) -> None:
        writing = asyncio.create_task(live.keep_writing())
        ended: dict[str, Any] = {"status": "interrupted", "error": None}
        try:
            async with aclosing(self._events(live, text, attachments, options)) as events:
                async for event in events:
                    if isinstance(event, TextEvent):
                        live.add_text(event.text)
                        continue
                    document = event.to_dict()
                    live.publish(document.pop("event"), document)
                    if isinstance(event, TurnFinishedEvent):
                        ended = {"status": "finished", "error": None}
        except TurnStoppedError:
            pass  # by another process: it is interrupted
        except OneClawError as error:
            ended = {"status": "failed", "error": str(error)}
        except Exception:
            self._logger.exception("a turn of session %s failed", live.session)
            ended = {"status": "failed", "error": "an unexpected error; oneclaw log shows it"}
        finally:
            writing.cancel()
            live.publish("turn_ended", ended)
            await asyncio.shield(self._finish(live))

    async def _finish(self, live: LiveTurn) -> None:
        try:
            await live.write()
            live.forget()
            await self._log.end_turn(live.session)
            if self._is_ending:
                return  # what was not finished is taken up after the next start
            left = {id(each) for each in live.steering}
            await self._waiting.finish(each for each in live.taken if id(each) not in left)
        finally:
            self._live.pop(live.session, None)
        # What no tool call took is said next.
        for each in live.steering:
            with suppress(Refusal, OneClawError):  # then it is taken again later
                await self._say(each)

    async def keep_taking(self) -> None:
        """Take up the messages of processes that were killed, until cancelled."""
        while True:
            try:
                for text, is_said in await self._waiting.take():
                    if text.session not in self._live and await self._is_locked(text.session):
                        self._waiting.leave(text)
                    else:
                        await self._say(text, is_said=is_said)
            except (Refusal, OneClawError) as error:
                self._logger.warning("messages that wait were not taken up: %s", error)
            await asyncio.sleep(_TAKE_SECONDS)

    async def _say(self, text: Any, *, is_said: bool = False) -> str:
        """Say a message that is stored: in the turn that runs, else as the next turn.

        Args:
            text: the message.
            is_said: True if it stands in the history, and its turn is to be finished.

        Raises:
            Refusal: not now; it is taken again later.
        """
        live = self._live.get(text.session)
        if live is not None:
            live.taken.append(text)
            if not is_said:
                live.steering.append(text)
            return "steering"
        try:
            await self._begin(text.session, "" if is_said else text, (), {"resume": is_said, "waited": text})
        except BaseException:
            self._waiting.leave(text)
            raise
        return "started"

    def _events(
        self, live: LiveTurn, text: str, attachments: tuple[Attachment, ...], options: dict[str, Any]
    ) -> AsyncGenerator[TurnEvent, None]:
        if options.get("resume"):
            return self._claw.resume(live.session, ask=live.questions.ask, steering=live.steering)
        return self._claw.send_message(
            text,
            session=live.session,
            attachments=attachments,
            agent=options.get("agent"),
            model=options.get("model"),
            ask=live.questions.ask,
            ask_user=live.questions.ask_user,
            steering=live.steering,
        )

    async def stop(self, session: str) -> bool:
        """Stop the turn of a session, in whatever process it runs; return False if none does."""
        live = self._live.get(session)
        if live is not None and live.task is not None:
            live.task.cancel()
            return True
        if await self._log.running_turn(session) is None:
            return False
        await self._claw.store.request_stop(session)
        return True

    def answered(self, approval: str, session: str, answer: str) -> None:
        """Pass an answer to the turn, if this process runs it; another process finds it in the database."""
        live = self._live.get(session)
        if live is not None:
            live.questions.answered(approval, answer)

    def is_live(self, session: str) -> bool:
        """Return True if this process runs a turn of the session."""
        return session in self._live

    def end_streams(self) -> None:
        """Have all streams of events end, before the server stops."""
        self._is_ending = True
        for pulse in list(self._pulses.values()):
            pulse.beat()

    def _pulse_of(self, session: str) -> _Pulse:
        pulse = self._pulses.get(session)
        if pulse is None:
            pulse = self._pulses[session] = _Pulse()
        return pulse

    async def aclose(self) -> None:
        """Stop all turns; what they have not finished is answered as interrupted."""
        self._is_ending = True
        tasks = [each.task for each in self._live.values() if each.task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def follow(
        self, session: str, after: int, is_allowed: Callable[[], Any]
    ) -> AsyncGenerator[LoggedEvent | None, None]:
        """Yield the events of a session behind a number, as they come; ``None`` now and then to show life.

        Only what the database has is sent, so a client gets the same from all processes.

        Args:
            session: its id.
            after: the number of the last event that the client has.
            is_allowed: async function; when it returns False the stream ends.
        """
        pulse = self._pulse_of(session)
        looked_at = time.monotonic()
        while not self._is_ending:
            next_beat = pulse.next
            events = pulse.after(after)
            if events is None:
                events = await self._log.after(session, after)
            for event in events:
                after = event.number
                yield event
            if not events:
                # What other processes store is looked for now and then.
                with suppress(TimeoutError):
                    async with asyncio.timeout(_LOOK_SECONDS):
                        await next_beat.wait()
            if time.monotonic() - looked_at >= _PING_SECONDS:
                looked_at = time.monotonic()
                if not await is_allowed():
                    return
                yield None
