"""Turns on behalf of web clients: run beside the requests, their events published and logged."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from oneclaw_channels import Conversation

from oneclaw_core import OneClawError, SessionBusyError, TurnStoppedError
from oneclaw_serve.errors import Refusal
from oneclaw_serve.live_turn import LiveTurn, Pulse
from oneclaw_serve.waiting import CHANNEL

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence
    from logging import Logger

    from oneclaw_core import OneClaw
    from oneclaw_core.channels import InboundFile
    from oneclaw_serve.event_log import EventLog, LoggedEvent
    from oneclaw_serve.waiting import Options, WaitingMessages, WaitingText

_LOOK_SECONDS = 1.0
_TAKE_SECONDS = 5.0
_PING_SECONDS = 10.0
_MOST_TURNS = 256
_MOST_WAITING = 20


class Turns:
    """All turns that this process runs for web clients.

    Args:
        claw: the open home.
        log: where events go.
        waiting: messages that are not answered.
        logger: of the plugin.
    """

    def __init__(self, claw: OneClaw, log: EventLog, waiting: WaitingMessages, logger: Logger) -> None:
        self._claw = claw
        self._log = log
        self._waiting = waiting
        self._logger = logger
        self._live: dict[str, LiveTurn] = {}
        self._pulses: WeakValueDictionary[str, Pulse] = WeakValueDictionary()
        self._is_ending = False

    async def send(self, session: str, text: str, files: Sequence[InboundFile], options: Options) -> str:
        """Store a message, and begin its turn or pass it to the one that runs.

        Args:
            session: its id.
            text: the message.
            files: with their data.
            options: of this message alone.

        Returns:
            ``started``, ``steering`` if the turn under way reads it, or ``waiting`` if it is said after that turn.

        Raises:
            Refusal: another process runs a turn of the session, or too many turns run.
        """
        live = self._live.get(session)
        if live is not None and len(live.steering) + len(live.later) >= _MOST_WAITING:
            raise Refusal(409, "session_busy", f"{_MOST_WAITING} messages wait already: wait, or stop the turn")
        message = await self._waiting.put(session, text, files, options)
        try:
            return await self._say(message)
        except Refusal:
            await self._waiting.finish([message])  # the client is told, and sends it again
            raise

    async def resume(self, session: str) -> None:
        """Finish the last turn of a session.

        Raises:
            Refusal: a turn of the session runs.
        """
        if session in self._live:
            raise Refusal(409, "session_busy", "a turn of this session runs")
        await self._begin(session, None, is_said=True)

    async def _begin(self, session: str, message: WaitingText | None, *, is_said: bool) -> None:
        if len(self._live) >= _MOST_TURNS:
            raise Refusal(503, "busy", f"{_MOST_TURNS} turns run already: wait for the end of one")
        live = self._live[session] = LiveTurn(session, self._log, self._pulse_of(session))
        if message is not None:
            live.taken.append(message)
        try:
            if await self._log.running_turn(session) is not None and await self._is_locked(session):
                raise Refusal(409, "session_busy", "another process runs a turn of this session")
            shown = message if message is not None and not is_said else None
            await live.begin(await self._waiting.last_sequence(session), shown)
        except BaseException:
            self._live.pop(session, None)
            raise
        live.task = asyncio.create_task(self._run(live, shown), name=f"turn of {session}")

    async def _is_locked(self, session: str) -> bool:
        """Return True if a living process works on the session; that of a turn in the log may have been killed."""
        try:
            async with self._claw.store.session_lock(session, 0):
                return False
        except SessionBusyError:
            return True

    async def _run(self, live: LiveTurn, message: WaitingText | None) -> None:
        writing = asyncio.create_task(live.keep_writing())
        error: str | None = None
        try:
            await self._talk(live, message)
        except TurnStoppedError:
            pass  # by another process: it is interrupted
        except OneClawError as problem:
            error = str(problem)
        except Exception:
            self._logger.exception("a turn of session %s failed", live.session)
            error = "an unexpected error; oneclaw log shows it"
        finally:
            writing.cancel()
            status = "failed" if error is not None else "finished" if live.is_finished else "interrupted"
            live.publish("turn_ended", {"status": status, "error": error})
            await asyncio.shield(self._finish(live))

    async def _talk(self, live: LiveTurn, message: WaitingText | None) -> None:
        """Have the message answered, or without one the last turn finished."""
        conversation = await self.conversation(live.session, live)
        if message is None:
            await conversation.resume()
            return
        options = message.options
        conversation.agent = options.agent or conversation.agent
        conversation.model = options.model or conversation.model
        conversation.attachments += message.attachments
        await conversation.send(options.arguments if options.command else str(message), command=options.command)

    async def conversation(self, session: str | None, live: LiveTurn) -> Conversation:
        """Return the conversation of a session, as its person has chosen agent and model.

        Args:
            session: its id; ``None`` for one that is not begun.
            live: its turn.
        """
        state = await self._waiting.mailbox.chat(session or "")
        return Conversation(
            self._claw,
            live,
            live.notify,
            session_name=session,
            agent=state.agent,
            model=state.model,
            reasoning=state.reasoning,
            channel=CHANNEL,
            ask=live.questions.ask,
            ask_user=live.questions.ask_user,
            steering=live.steering,
            waiting=live.left,
        )

    async def _finish(self, live: LiveTurn) -> None:
        # What no tool call took is said next.
        next_ones: list[Any] = [*live.left, *live.steering, *live.later]
        try:
            await live.write()
            live.forget()
            await self._log.end_turn(live.session)
            if self._is_ending:
                return  # what was not finished is taken up after the next start
            waits = {id(each) for each in next_ones}
            await self._waiting.finish(each for each in live.taken if id(each) not in waits)
        finally:
            self._live.pop(live.session, None)
        for each in next_ones:
            with suppress(Refusal, OneClawError):  # then it is taken again later
                await self._say(each)

    async def keep_taking(self) -> None:
        """Take up the messages of processes that were killed, until cancelled."""
        while True:
            try:
                for message, is_said in await self._waiting.take():
                    if message.session not in self._live and await self._is_locked(message.session):
                        self._waiting.leave(message)
                    else:
                        await self._say(message, is_said=is_said)
            except (Refusal, OneClawError) as error:
                self._logger.warning("messages that wait were not taken up: %s", error)
            await asyncio.sleep(_TAKE_SECONDS)

    async def _say(self, message: WaitingText, *, is_said: bool = False) -> str:
        """Say a message that is stored: in the turn that runs, else as the next turn.

        Args:
            message: the message.
            is_said: True if it stands in the history, and its turn is to be finished.

        Raises:
            Refusal: not now; it is taken again later.
        """
        live = self._live.get(message.session)
        if live is not None:
            live.taken.append(message)
            if is_said:
                return "steering"
            if live.later or not message.is_plain:
                live.later.append(message)
                return "waiting"
            live.steering.append(message)
            return "steering"
        try:
            await self._begin(message.session, message, is_said=is_said)
        except BaseException:
            self._waiting.leave(message)
            raise
        return "started"

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

    def live(self, session: str) -> LiveTurn | None:
        """Return the turn of the session that this process runs; ``None`` if it runs none."""
        return self._live.get(session)

    def end_streams(self) -> None:
        """Have all streams of events end, before the server stops."""
        self._is_ending = True
        for pulse in list(self._pulses.values()):
            pulse.beat()

    def _pulse_of(self, session: str) -> Pulse:
        pulse = self._pulses.get(session)
        if pulse is None:
            pulse = self._pulses[session] = Pulse()
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
