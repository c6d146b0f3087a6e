"""Ways between plugins and people or programs: channels, triggers, web routes and pages, answers in chats.

Pages of ``oneclaw serve`` are data, which the server shows in its own look.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeAlias
from urllib.parse import parse_qsl

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Awaitable, Callable, Mapping

    from oneclaw_core.types.messages import Attachment


@dataclass(frozen=True, slots=True, kw_only=True)
class OutMessage:
    """A message to a person.

    Attributes:
        to: who or where, as the channel writes it, such as a chat or an address; empty for the channel's own owner.
        text: Markdown.
        attachments: files.
        reply_to: the channel's id of the message that it answers.
        title: a line for channels that have one, such as a subject; empty if the text says it all.
        data: the content as JSON data for channels that programs read, such as a webhook; ``None`` for the text.
        key: identifies the message, so that its receiver can recognize one that is sent again.
    """

    to: str = ""
    text: str
    attachments: tuple[Attachment, ...] = ()
    reply_to: str | None = None
    title: str = ""
    data: Mapping[str, Any] | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Receipt:
    """A message that a channel has sent.

    Attributes:
        id: the channel's id of it, ``None`` if it has none.
    """

    id: str | None = None


class Channel(ABC):
    """Sends messages to people. The registered target makes it from a ``PluginContext``.

    A channel that receives messages too is a :class:`oneclaw_core.channels.ChatChannel`.

    Attributes:
        max_characters: how long a text may be, ``None`` for any length.
    """

    max_characters: ClassVar[int | None] = None

    @abstractmethod
    async def send(self, message: OutMessage) -> Receipt | None:
        """Send a message.

        Args:
            message: what to send, and to whom.

        Raises:
            Exception: it was not sent.
        """


class Fire(Protocol):
    """Starts the task that a trigger works for."""

    async def __call__(self, text: str, *, key: str | None = None) -> bool:
        """Start the task.

        Args:
            text: what happened, for the agent; it counts as text from outside.
            key: names the event. Several events of one key start the task once, also when several processes see them
                or one sees them again; ``None`` for an event that nothing else can report.

        Returns:
            False if the task is not started, such as for an event that is known.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerSetup:
    """The answer of a trigger to being given to a task.

    Attributes:
        parameters: as they are stored with the task; one whose name ends in ``_sha256`` is never shown.
        note: lines that the user is shown once, such as with a token of which only a digest is stored.
        values: what the note tells, by name, for programs.
    """

    parameters: Mapping[str, str]
    note: str = ""
    values: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """A trigger that a plugin has registered.

    Attributes:
        name: such as ``file_changed``.
        plugin: the name of its plugin.
        help: one line for users.
        parameters: one line for users about each parameter, by name.
        required: the parameters that must be given.
        run: works until it is cancelled, given the parameters and a :class:`Fire`.
        set_up: completes the parameters when a task is given the trigger; ``None`` if they stay as they are.
        take_request: answers a request to the task's own address at ``oneclaw serve``, given the parameters, the
            request and a :class:`Fire`; ``None`` for a trigger that takes none.
    """

    name: str
    plugin: str
    help: str
    parameters: Mapping[str, str]
    required: tuple[str, ...]
    run: Callable[[Mapping[str, str], Fire], Awaitable[None]]
    set_up: Callable[[Mapping[str, str]], Awaitable[TriggerSetup]] | None = None
    take_request: Callable[[Mapping[str, str], WebRequest, Fire], Awaitable[WebResponse]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WebRequest:
    """A request to a route.

    Attributes:
        method: such as ``GET``.
        path: below ``/PLUGIN/``.
        path_parameters: the parts of the path that the route names in braces.
        query: the values of each parameter of the query, in order.
        headers: by name in lower case.
        body: all of it.
        client: address of the peer, ``None`` if unknown.
    """

    method: str = "GET"
    path: str = ""
    path_parameters: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    client: str | None = None

    def text(self) -> str:
        """Decode the body as UTF-8.

        Raises:
            UnicodeDecodeError: it is something else.
        """
        return self.body.decode()

    def json(self) -> Any:
        """Parse the body as JSON.

        Raises:
            ValueError: it is something else.
        """
        return json.loads(self.body)

    def form(self) -> dict[str, str]:
        """Return the fields of a form that was sent; of several values of one name, the last.

        Raises:
            UnicodeDecodeError: the body is something else.
        """
        return dict(parse_qsl(self.text(), keep_blank_values=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class WebResponse:
    """The response of a route.

    Attributes:
        status: HTTP status.
        body: bytes, a text in UTF-8, or parts of a stream.
        media_type: of the body, such as ``text/html``.
        headers: others, by name.
    """

    status: int = 200
    body: bytes | str | AsyncIterable[bytes] = b""
    media_type: str = "text/plain; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def json(cls, value: Any, *, status: int = 200) -> WebResponse:
        """Make a response of JSON.

        Args:
            value: JSON data.
            status: HTTP status.
        """
        return cls(status=status, body=json.dumps(value, ensure_ascii=False), media_type="application/json")


@dataclass(frozen=True, slots=True)
class WebLink:
    """A link to another page of the same plugin, or to a session.

    Attributes:
        text: to show.
        path: below ``/PLUGIN/``, with its query.
        session: the id of a session to open instead.
    """

    text: str
    path: str = ""
    session: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebForm:
    """A form, or with no fields a button. It is sent to the page that it is on, as a ``POST``.

    Attributes:
        submit: the text of its button.
        about: what the button is for, where its row shows that already; said to screen readers.
        title: above it.
        fields: JSON Schema of an object; each property is a field. The formats ``paragraph`` and ``multiline`` make
            larger ones.
        values: what the fields hold now.
        hidden: further values to send, such as what the button is for.
        is_destructive: True if the button is shown only after another click.
    """

    submit: str
    about: str = ""
    title: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    hidden: Mapping[str, str] = field(default_factory=dict)
    is_destructive: bool = False


WebCell: TypeAlias = "str | WebLink | WebForm | tuple[str | WebLink | WebForm, ...]"
"""The content of a cell of a table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebTable:
    """A table.

    Attributes:
        columns: the heads.
        rows: each with as many cells; the first one names the row.
        title: above it.
        empty: shown instead of a table without rows.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[WebCell, ...], ...]
    title: str = ""
    empty: str = "There are none."


@dataclass(frozen=True, slots=True, kw_only=True)
class WebText:
    """A text.

    Attributes:
        text: as others wrote it; it brings no HTML.
        kind: ``plain`` for a paragraph, ``markdown``, or ``verbatim`` for one that keeps its lines.
        title: above it.
    """

    text: str
    kind: Literal["plain", "markdown", "verbatim"] = "plain"
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebPage:
    """A page.

    Attributes:
        title: of the page.
        parts: what is on it, from top to bottom.
        notice: what was done, for the answer to a form.
    """

    title: str
    parts: tuple[WebTable | WebText | WebForm | WebLink, ...]
    notice: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatAnswer:
    """The answer of a chat command; the channel does what it says, in this order.

    Attributes:
        text: to show, such as what the command did.
        session: the id of the session that the chat goes on with; ``""`` begins a new one with the next message, and
            ``None`` stays where the chat is.
        copy: a text for the user's clipboard.
        resume: True to finish the last turn of the session.
        send: a message to send in the session, as if the user had typed it; ``None`` for none.
        attachments: files to send with it.
        leave: True to leave the chat, where it can be left.
    """

    text: str = ""
    session: str | None = None
    copy: str | None = None
    resume: bool = False
    send: str | None = None
    attachments: tuple[Attachment, ...] = ()
    leave: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatNotice:
    """A line to show to a person who begins to chat, with the place where there is more.

    Attributes:
        text: the line.
        command: the chat command that shows more, such as ``/inbox``; ``""`` for none.
        page: the page that shows more, as a path below ``/PLUGIN/``; ``None`` for none.
    """

    text: str
    command: str = ""
    page: str | None = None
