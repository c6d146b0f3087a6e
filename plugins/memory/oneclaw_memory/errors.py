"""Errors of the memory."""

from oneclaw_core import OneClawError


class MemoryChangeError(OneClawError):
    """Something cannot be remembered, changed or forgotten; the memory is as it was.

    Attributes:
        error_type: ``validation_error``, ``duplicate_detected``, ``not_found``, ``ambiguous_match`` or
            ``save_failed``.
    """

    def __init__(self, error_type: str, message: str) -> None:
        super().__init__(message)
        self.error_type = error_type
