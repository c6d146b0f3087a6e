"""Showing the events of a turn to programs: one JSON object a line on stdout."""

from __future__ import annotations

from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, TextIO

from oneclaw_core.cli.output import print_json
from oneclaw_core.secrets.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oneclaw_core.types.events import TurnEvent


class EventLines:
    """Prints events; stands where :class:`~oneclaw_core.cli.rendering.TurnView` shows turns to people.

    Args:
        stdout: where they go.
    """

    def __init__(self, stdout: TextIO) -> None:
        self._stdout = stdout

    def show(self, event: TurnEvent) -> None:
        """Print an event."""
        print_json(event.to_dict(), indent=None, stream=self._stdout)

    def fail(self, error: Exception) -> None:
        """Print that a turn failed: whoever reads the events learns from them alone why the last one is missing."""
        document = {"event": "error", "error_type": type(error).__name__, "message": redact(str(error))}
        print_json(document, indent=None, stream=self._stdout)

    def giving_way(self) -> AbstractContextManager[None]:
        """Do nothing: a question to the user goes to stderr."""
        return nullcontext()

    def finish(self) -> None:
        """Do nothing: every line is whole."""


@contextmanager
def failures_as_events(stdout: TextIO | None) -> Iterator[None]:
    """Print as an event why the block fails, and let it fail.

    Args:
        stdout: where events go; ``None`` if nobody reads any.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except Exception as error:
        if stdout is not None:
            EventLines(stdout).fail(error)
        raise
