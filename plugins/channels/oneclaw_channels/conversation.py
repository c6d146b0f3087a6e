"""A conversation in a channel: a session that may have to be begun yet, and how the user wants it.

Messages that arrive while a turn runs wait for its end, steer it, or stop it.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from oneclaw_core import UsageError
from oneclaw_core.channels import GENERAL_ASSISTANT

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine

    from oneclaw_core import Agent, Attachment, OneClaw, SessionInfo, TurnEvent
    from oneclaw_core.channels import Asker, ReasoningLevel, SessionStatus, TurnListener, UserAsker
    from oneclaw_core.providers import ModelRequest

MOST_WAITING = 20


@dataclass
class Conversation:
    """A conversation of one person or group.

    Attributes:
        claw: the open home.
        view: shows the turns.
        notify: shows a line about something that does not stop a message.
        session_name: the session's name or id; ``None`` as long as an unnamed one is not begun.
        agent: the agent chosen for this conversation, ``None`` for the session's.
        model: the model chosen for it as ``PROVIDER/MODEL``, ``None`` for the session's.
        attachments: files that go with the next message.
        reasoning: how much the model is to think in it, ``None`` for what is set.
        channel: the name of the channel.
        confirm: asks the person a question of yes or no; ``None`` where no one can be asked, which is a no.
        ask: asks the person for permissions, instead of what the home was opened with.
        ask_user: asks the person questions of tools; with either of the two, the home's are not used.
        stop: stops the turn under way; False if none is. ``None`` where lines are worked on one by one.
        steering: messages for the turn under way.
        waiting: messages and commands for when it has ended.
        is_running: True while a turn runs.
    """

    claw: OneClaw
    view: TurnListener
    notify: Callable[[str], None]
    session_name: str | None = None
    agent: str | None = None
    model: str | None = None
    attachments: list[Attachment] = field(default_factory=list)
    reasoning: ReasoningLevel | None = None
    channel: str = "terminal"
    confirm: Callable[[str], Awaitable[bool]] | None = None
    ask: Asker | None = None
    ask_user: UserAsker | None = None
    stop: Callable[[], bool] | None = None
    steering: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    is_running: bool = False
    _notices: set[str] = field(default_factory=set)

    async def session(self) -> SessionInfo | None:
        """Return the session, ``None`` if it is not begun."""
        return await self.claw.store.find_session(self.session_name) if self.session_name is not None else None

    async def status(self) -> SessionStatus:
        """Return where the session stands."""
        session = await self.session()
        return await self.claw.session_status(session.id if session else None, agent=self.agent, model=self.model)

    async def chosen_agent(self, name: str | None = None) -> Agent:
        """Return the agent of that name; without one, the chosen agent, else the session's.

        Raises:
            NotFoundError: there is no such agent.
        """
        wanted = name or self.agent
        if wanted is not None:
            return await self.claw.agents.get(wanted)
        session = await self.session()
        found = await self.claw.store.find_agent(session.agent) if session is not None else None
        return found or GENERAL_ASSISTANT

    async def next_request(self, *, model: str | None = None, agent: str | None = None) -> tuple[ModelRequest, str]:
        """Return the next request and the full name of the model.

        Args:
            model: in place of the one that is chosen.
            agent: in place of the one that is chosen.

        Raises:
            NotFoundError: there is no such agent, provider or model.
        """
        session = await self.session()
        return await self.claw.next_request(
            session=session.id if session else None, agent=agent or self.agent, model=model or self.model
        )

    async def send(self, text: str, *, command: str | None = None, files: tuple[str, ...] = ()) -> None:
        """Send a message with what is attached, and show the turn.

        Args:
            text: the message.
            command: a command that a plugin expands into the message.
            files: names of files whose text stands in the message.

        Raises:
            UsageError: the message cannot be sent, such as with an attachment that the model does not take; what is
                attached stays so.
            OneClawError: the turn did not complete; the session is intact.
        """
        if self.session_name is None:
            # Begun before the turn, so that a turn that is cancelled stays in the session.
            title = text if command is None else f"/{command} {text}"
            begun = await self.claw.begin_session(agent=self.agent, model=self.model, title=title)
            self.session_name = begun.id
        for notice in await self.claw.review_project():
            if notice not in self._notices:
                self._notices.add(notice)
                self.notify(notice)
        attachments, self.attachments = self.attachments, []
        turn = self.claw.send_message(
            text,
            session=self.session_name,
            agent=self.agent,
            model=self.model,
            attachments=attachments,
            files=files,
            command=command,
            reasoning=self.reasoning,
            steering=self.steering,
            ask=self.ask,
            ask_user=self.ask_user,
        )
        try:
            await self._show(turn)
        except UsageError:
            self.attachments = attachments
            raise

    async def resume(self) -> None:
        """Finish the last turn, and show it.

        Raises:
            UsageError: there is no turn.
            OneClawError: the turn did not complete; the session is intact.
        """
        if self.session_name is None:
            raise UsageError("nothing was said yet: send a message")
        turn = self.claw.resume(
            self.session_name,
            agent=self.agent,
            model=self.model,
            reasoning=self.reasoning,
            steering=self.steering,
            ask=self.ask,
        )
        await self._show(turn)

    async def _show(self, turn: AsyncGenerator[TurnEvent, None]) -> None:
        self.is_running = True
        try:
            async with aclosing(turn) as events:
                async for event in events:
                    self.view.show(event)
        finally:
            self.is_running = False
            self.view.finish()
            # What no tool call took is said next.
            self.waiting[:0] = self.steering
            self.steering.clear()


class TurnQueue:
    """Works through the lines of one conversation, one at a time; some are done at once.

    Args:
        conversation: whose ``waiting`` are the lines that wait.
        work: does what a line says, and reports what fails.
        is_immediate: True for a line that need not wait, such as ``/stop``.
        changed: called when a line begins to wait or to be worked on, or work ends.

    Attributes:
        line: that is worked on; ``None`` while nothing is.
    """

    def __init__(
        self,
        conversation: Conversation,
        work: Callable[[str], Coroutine[Any, Any, None]],
        is_immediate: Callable[[str], bool],
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self.line: str | None = None
        self._conversation = conversation
        self._work = work
        self._is_immediate = is_immediate
        self._changed = changed
        self._task: asyncio.Task[None] | None = None
        self._at_once: set[asyncio.Task[None]] = set()

    @property
    def is_busy(self) -> bool:
        """True while a line is worked on."""
        return self._task is not None

    def put(self, line: str) -> bool:
        """Take a line; return False if too many wait already."""
        waiting = self._conversation.waiting
        if self.is_busy and self._is_immediate(line):
            task = asyncio.get_running_loop().create_task(self._work(line))
            self._at_once.add(task)
            task.add_done_callback(self._at_once.discard)
            return True
        if len(waiting) >= MOST_WAITING:
            return False
        waiting.append(line)
        self._go_on()
        self._changed()
        return True

    def stop(self) -> bool:
        """Stop the work on a line; those that wait come next. Return False if there was nothing to stop."""
        return self._task is not None and self._task.cancel()

    async def close(self) -> None:
        """Stop all work, drop what waits, and wait for the end of it."""
        self._conversation.waiting.clear()
        tasks = [*self._at_once, *([self._task] if self._task is not None else [])]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _go_on(self) -> None:
        if self._task is None and self._conversation.waiting:
            self.line = self._conversation.waiting.pop(0)
            self._task = asyncio.get_running_loop().create_task(self._work(self.line))
            self._task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._task = self.line = None
        if not task.cancelled() and task.exception() is not None:
            task.get_loop().call_exception_handler({"message": "a line failed", "exception": task.exception()})
        self._go_on()
        self._changed()
