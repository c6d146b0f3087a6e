"""The context of a long-running task of a plugin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from oneclaw_core.capabilities.declaration import HOME_SERVICE
from oneclaw_core.contract.context import PluginContext

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping

    from oneclaw_core.permissions.requests import PermissionAnswer, PermissionRequest
    from oneclaw_core.sessions.conversations import Sessions
    from oneclaw_core.types.messages import Attachment
    from oneclaw_core.types.user_question import UserAsker

    Asker = Callable[[PermissionRequest], Awaitable[PermissionAnswer]]


@dataclass(frozen=True, slots=True)
class ServiceHost:
    """Duties of the program that runs a service.

    Attributes:
        app: the open home.
        show: shows a text of a service to the user, where there is one.
        ready: notes that a service is ready, with a text for the user.
    """

    app: Any
    show: Callable[[str, str], None]
    ready: Callable[[str, str], None]


class ServiceContext(PluginContext):
    """The plugin's context, with services for a long-running task.

    Attributes:
        service: the name of the service.
        runs_in: ``serve`` or ``chat``.
        options: the values of the options that the plugin has registered for ``oneclaw serve``, by parameter name,
            such as ``telegram_port`` for ``--telegram-port``; empty in a chat.
        stopping: set when the service is about to be stopped. Right after that the service is cancelled, or later if
            it was registered with ``grace_seconds``.
    """

    # Its own attributes lie here. All others are shared with the context that the plugin's hooks get.
    __slots__ = ("_ask", "_ask_user", "_host", "options", "runs_in", "service", "stopping")

    def __init__(
        self,
        plugin: PluginContext,
        host: ServiceHost,
        service: str,
        runs_in: Literal["serve", "chat"],
        options: Mapping[str, Any],
        stopping: asyncio.Event,
    ) -> None:
        self.__dict__ = plugin.__dict__
        self.service = service
        self.runs_in = runs_in
        self.options = options
        self.stopping = stopping
        self._host = host
        self._ask: Asker | None = None
        self._ask_user: UserAsker | None = None

    @property
    def app(self) -> Any:
        """The open home, a :class:`oneclaw_core.OneClaw`, such as for ``ChatRouter.open``."""
        self._require("app")
        return self._host.app

    @property
    def sessions(self) -> Sessions:
        """The conversations of the home."""
        self._require("sessions")
        sessions: Sessions = self._host.app.services.sessions
        return sessions

    def _require(self, service: str) -> None:
        if self.declaration is not None:
            self.declaration.require(HOME_SERVICE, service)

    def show(self, text: str) -> None:
        """Show a text to the user as soon as that disturbs nothing: in the chat, or on the terminal of ``serve``."""
        self._host.show(self.service, str(text))

    def ready(self, detail: str = "") -> None:
        """Say that the service does its work now.

        Args:
            detail: for the user, such as an address.
        """
        self._host.ready(self.service, detail)

    def answer_permissions(self, handler: Asker | None) -> None:
        """Have permissions asked of a person that this service reaches.

        Args:
            handler: async function of a ``PermissionRequest`` that returns a ``PermissionAnswer``, for the turns of
                messages that this service sends from now on; ``None`` to ask as the home does, which
                denies under ``oneclaw serve``.
        """
        self._ask = handler

    def answer_questions(self, handler: UserAsker | None) -> None:
        """Have questions of tools asked of a person that this service reaches.

        Args:
            handler: async function of a ``UserQuestion`` that returns the answer, ``None`` for none; otherwise as for
                :meth:`answer_permissions`.
        """
        self._ask_user = handler

    def send_message(
        self, session: str | None, text: str, attachments: Iterable[Attachment] = (), *, agent: str | None = None
    ) -> AsyncGenerator[Any, None]:
        """Send a message and yield the turn's events, ``TurnFinishedEvent`` last.

        Args:
            session: the session's name or id; a new name begins a session, ``None`` one without a name.
            text: the message.
            attachments: files for the model to look at.
            agent: the agent's name; by default the session's.

        Raises:
            OneClawError: as for ``OneClaw.send_message``.
        """
        self._require("send_message")
        events: AsyncGenerator[Any, None] = self._host.app.send_message(
            text, session=session, agent=agent, attachments=attachments, ask=self._ask, ask_user=self._ask_user
        )
        return events
