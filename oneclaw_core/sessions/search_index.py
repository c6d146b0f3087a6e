"""What the full-text index of each kind of database can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_core.sessions.connection import Connection

# Of a message that is longer, the beginning is found.
INDEXED_CHARACTERS = 100_000
# Of what is found, no more is read; a statement of PostgreSQL's repeats it.
CHARACTERS_READ = 600_000
MESSAGES_PER_BATCH = 256


class SearchIndex(ABC):
    """The full-text index of a database, within one transaction.

    The statements take and give the following. ``newest`` gives a number that no message in the index exceeds.
    ``nth_newest`` skips ``:skipped`` of the newest messages that fit an ``:expression`` and gives the next one's
    number. ``count`` counts the messages that fit an ``:expression``. ``find_messages`` takes ``:characters`` (of each
    message), an ``:expression``, the numbers ``:first`` and ``:last``, the moments ``:since`` and ``:until``, and a
    ``:limit``; it gives the newest first. ``find_sessions`` takes an ``:expression``, ``:since``, ``:until`` and a
    ``:limit``.
    """

    newest: str
    nth_newest: str
    count: str
    find_messages: str
    find_sessions: str

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    @abstractmethod
    def create_tables(self) -> None:
        """Make an empty index."""

    @abstractmethod
    def is_current(self) -> bool:
        """Return True if the index has all messages and sessions."""

    @abstractmethod
    def index_new(self) -> None:
        """Take what is new into the index."""

    @abstractmethod
    def index_batch(self) -> None:
        """Take some of what is new into the index, without keeping the session that is written to waiting."""

    @abstractmethod
    def forget_session(self, session_id: str) -> None:
        """Take a session, and those begun in it, out of the index; they are still there."""

    @abstractmethod
    def forget_title(self, session_id: str) -> None:
        """Take a session's title out of the index, before it changes; the next search takes the new one in."""

    @abstractmethod
    def all_of(self, terms: Iterable[str]) -> str:
        """Write the expression for what has all of some terms."""

    @abstractmethod
    def any_of(self, terms: Iterable[str]) -> str:
        """Write the expression for what has one of some terms."""

    @abstractmethod
    def prepare_search(self) -> None:
        """Set how the statements that find something are run."""


def heading(name: str | None, title: str | None) -> str:
    """Write what is indexed of a session: its name and its title."""
    return ": ".join(each for each in (name, title) if each)
