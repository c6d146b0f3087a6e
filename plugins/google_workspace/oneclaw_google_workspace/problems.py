"""The errors between a tool and Google, as a model sees them."""

from __future__ import annotations

from oneclaw_core import OneClawError


class GoogleError(OneClawError):
    """A tool cannot do what it was asked; becomes the tool's result.

    Attributes:
        error_type: ``not_available`` (no one is signed in, or not for this), ``permission_denied``, ``not_found``,
            ``validation_error``, ``conflict``, ``rate_limited``, ``quota_exceeded``, ``service_unavailable``,
            ``unknown_outcome`` (it may have been done or not) or ``execution_error``.
        status: of the HTTP response behind it, ``None`` if there was none.
        reasons: Google's own words for it, such as ``notFound``.
        was_unclear: whether a try before the last one may have been carried out.
    """

    was_unclear = False

    def __init__(
        self, error_type: str, message: str, *, status: int | None = None, reasons: frozenset[str] = frozenset()
    ) -> None:
        super().__init__(message)
        self.error_type = error_type
        self.status = status
        self.reasons = reasons


def invalid(message: str) -> GoogleError:
    """Make the error for arguments that do not go together.

    Args:
        message: a sentence that says what to give instead.
    """
    return GoogleError("validation_error", message)
