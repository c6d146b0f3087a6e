"""The interface of the full-text index of a database."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from oneclaw_core.search.words import index_terms

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_core.sessions.connection import Connection


class SearchIndex(ABC):
    """The full-text index of a database, in one transaction.

    The statements take and give the following. ``newest`` gives a number that no message in the index exceeds.
    ``nth_newest`` skips ``:skipped`` of the newest messages that fit an ``:expression`` and gives the next one's
    number. ``count`` counts the messages that fit an ``:expression``. ``find_messages`` takes ``:characters`` (of each
    message), an ``:expression``, the numbers ``:first`` and ``:last``, the moments ``:since`` and ``:until``, and a
    ``:limit``; it gives the newest first. ``find_sessions`` takes an ``:expression``, ``:since``, ``:until`` and a
    ``:limit``.

    Attributes:
        connection: the transaction.
        INDEXED_CHARACTERS: the length of the part of a message that is indexed.
        CHARACTERS_READ: the length of all texts that a search reads.
        MESSAGES_PER_BATCH: the number of new messages after which :meth:`index_batch` is called.
    """

    INDEXED_CHARACTERS = 100_000
    CHARACTERS_READ = 600_000
    MESSAGES_PER_BATCH = 256

    newest: str
    nth_newest: str
    count: str
    find_messages: str
    find_sessions: str

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    @abstractmethod
    def create_tables(self) -> None:
        """Create an empty index."""

    @abstractmethod
    def is_current(self) -> bool:
        """Return True if the index has all messages and sessions."""

    @abstractmethod
    def index_new(self) -> None:
        """Index new messages and sessions."""

    @abstractmethod
    def index_batch(self) -> None:
        """Index some new messages without blocking the session that is written to."""

    @abstractmethod
    def forget_session(self, session_id: str) -> None:
        """Remove a session and its child sessions from the index, before they are deleted."""

    @abstractmethod
    def all_of(self, terms: Iterable[str]) -> str:
        """Return the expression for texts that have all terms."""

    @abstractmethod
    def any_of(self, terms: Iterable[str]) -> str:
        """Return the expression for texts that have one of the terms."""

    @abstractmethod
    def prepare_search(self) -> None:
        """Configure the transaction for searching."""

    @staticmethod
    def terms(text: str) -> set[str]:
        """Return the terms by which a text is found."""
        return index_terms(text)

    @staticmethod
    def heading(name: str | None, title: str | None) -> str:
        """Return the indexed text of a session: its name and its title."""
        return ": ".join(each for each in (name, title) if each)
