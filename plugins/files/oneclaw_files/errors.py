"""Errors that a tool of the group answers with."""

from __future__ import annotations


class FilesError(Exception):
    """A tool cannot do what it was asked; the message says why, as a sentence.

    Attributes:
        error_type: of the tool result.
    """

    def __init__(self, message: str, error_type: str = "execution_error") -> None:
        super().__init__(message)
        self.error_type = error_type
