"""A turn under way: its events are published to streams as they are stored."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from oneclaw_core import TextEvent, TurnFinishedEvent
from oneclaw_serve.event_log import HEARTBEAT_SECONDS, LoggedEvent
from oneclaw_serve.markdown import GrowingText
from oneclaw_serve.questions import Questions
from oneclaw_serve.waiting import WaitingText

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_core import TurnEvent
    from oneclaw_serve.event_log import EventLog

MERGE_SECONDS = 0.05
"""The first piece of text is sent at once; later ones within this time are merged."""
_MOST_RECENT = 200


class LiveTurn:
    """A turn of a session that this process works on, and messages that wait for its end; shows its events.

    Attributes:
        task: runs it.
        after_message: the ``sequence`` of the last message before it.
        steering: messages for it.
        left: those of them that no tool call took.
        later: messages for the next turn.
        taken: all messages that it is about: what it began with, and those for it.
        is_finished: True once the model has given its final answer.
    """

    def __init__(self, session: str, log: EventLog, pulse: Pulse) -> None:
        self.session = session
        self.task: asyncio.Task[None] | None = None
        self.after_message = 0
        self.steering: list[str] = []
        self.left: list[str] = []
        self.later: list[WaitingText] = []
        self.taken: list[WaitingText] = []
        self.is_finished = False
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

    async def begin(self, after_message: int, message: WaitingText | None) -> None:
        """Note that a turn begins, with a message or without one."""
        self.after_message = after_message
        self._number = await self._log.begin_turn(self.session, after_message)
        self._growing = GrowingText()
        document: dict[str, Any] = {"text": message or ""}
        if message is not None and message.attachments:
            document["files"] = [
                {"name": each.name, "media_type": each.media_type, "size": each.size} for each in message.attachments
            ]
        self._append("turn_started", document)
        await self.write()

    def show(self, event: TurnEvent) -> None:
        """See ``TurnListener``."""
        if isinstance(event, TextEvent):
            self.add_text(event.text)
            return
        document = event.to_dict()
        self.publish(document.pop("event"), document)
        self.is_finished |= isinstance(event, TurnFinishedEvent)

    def finish(self) -> None:
        """See ``TurnListener``; :class:`~oneclaw_serve.turns.Turns` publishes how the turn ended."""

    def requeue(self, steering: Iterable[str], waiting: Iterable[str]) -> list[str]:
        """Take over what a command made of the messages that wait; return those that are new.

        Args:
            steering: what was :attr:`steering`, maybe with others.
            waiting: what was :attr:`later`.
        """
        known = {id(each): each for each in [*self.steering, *self.later]}
        kept = {id(each) for each in waiting}
        wanted = list(steering)
        new = [each for each in wanted if not isinstance(each, WaitingText)]
        moved = [each for each in wanted if id(each) in known and getattr(each, "is_plain", False)]
        stays = {id(each) for each in wanted} - {id(each) for each in moved}
        self.steering[:] = moved
        self.later[:] = [each for each in self.later if id(each) in kept | stays]
        return new

    def notify(self, text: str) -> None:
        """Show a line about something that does not stop the message."""
        self.publish("notice", {"text": text})

    def publish(self, kind: str, data: dict[str, Any]) -> None:
        """Add an event behind the text so far."""
        self._flush_text(is_last=True)
        self._append(kind, data)
        if kind in ("tool_call", "text_withdrawn"):
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


class Pulse:
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
