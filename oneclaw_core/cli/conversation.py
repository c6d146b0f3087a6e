"""The conversation that ``oneclaw chat`` is in."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from oneclaw_core.cli.output import printable_name, reserved_stdout
from oneclaw_core.errors import UsageError
from oneclaw_core.types.agents import GENERAL_ASSISTANT

if TYPE_CHECKING:
    from oneclaw_core.app import OneClaw
    from oneclaw_core.cli.event_lines import EventLines
    from oneclaw_core.cli.rendering import TurnView
    from oneclaw_core.providers.base import ModelRequest
    from oneclaw_core.sessions.sessions import Session
    from oneclaw_core.types.agents import Agent
    from oneclaw_core.types.messages import Attachment

_SHORT_ID_CHARACTERS = 8


@dataclass
class Conversation:
    """A session that may have to be begun yet, and how the user wants it.

    Attributes:
        claw: the open home.
        view: shows the turns.
        session_name: the session's name or id; ``None`` as long as an unnamed one is not begun.
        agent: the agent chosen for this chat, ``None`` for the session's.
        model: the model chosen for this chat as ``PROVIDER/MODEL``, ``None`` for the session's.
        attachments: files that go with the next message.
    """

    claw: OneClaw
    view: TurnView | EventLines
    session_name: str | None = None
    agent: str | None = None
    model: str | None = None
    attachments: list[Attachment] = field(default_factory=list)

    async def session(self) -> Session | None:
        """The session, if it is begun."""
        return await self.claw.store.find_session(self.session_name) if self.session_name is not None else None

    async def chosen_agent(self, name: str | None = None) -> Agent:
        """The agent of that name; without one, the agent that is chosen, else the session's.

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
        """What the model would be sent next, and the full name of the model.

        Args:
            model: instead of the one that is chosen.
            agent: likewise.

        Raises:
            NotFoundError: there is no such agent, provider or model.
        """
        session = await self.session()
        return await self.claw.next_request(
            session=session.id if session else None, agent=agent or self.agent, model=model or self.model
        )

    async def send(self, text: str, *, command: str | None = None) -> None:
        """Send a message with what is attached, and show the turn.

        Args:
            text: the message.
            command: a command that a plugin expands into the message.

        Raises:
            UsageError: the message cannot be sent, such as with an attachment that the model does not take; what is
                attached stays so.
            OneClawError: the turn did not come to its end; the session is intact.
        """
        if self.session_name is None:
            # Begun before the turn, so that a turn that is cancelled stays in the session.
            title = text if command is None else f"/{command} {text}"
            begun = await self.claw.begin_session(agent=self.agent, model=self.model, title=title)
            self.session_name = begun.id
        attachments, self.attachments = self.attachments, []
        turn = self.claw.send_message(
            text,
            session=self.session_name,
            agent=self.agent,
            model=self.model,
            attachments=attachments,
            command=command,
        )
        try:
            with reserved_stdout():
                async with aclosing(turn) as events:
                    async for event in events:
                        self.view.show(event)
        except UsageError:
            self.attachments = attachments
            raise
        finally:
            self.view.finish()


def session_label(session: Session) -> str:
    """What to call a session: its name, or enough of its id to find it."""
    return printable_name(session.name) if session.name else session.id[:_SHORT_ID_CHARACTERS]
